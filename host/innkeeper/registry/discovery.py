"""What is installed: plugins found by entry point, from metadata alone. No plugin code is imported here."""

import logging
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from itertools import chain
from typing import Final

from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from innkeeper.contract.names import ID_GRAMMAR, ID_PATTERN
from innkeeper.registry.printable import printable
from innkeeper.registry.strangers import Stranger, may_be_ours, strangers_from

log = logging.getLogger(__name__)

CONTRACT: Final = 1
GROUP: Final = f"innkeeper.v{CONTRACT}"
"""The entry-point group of this host; its number is the version of the plugin contract."""

_ANY_CONTRACT: Final = re.compile(r"innkeeper\.v([0-9]+)")
_ENTRY_POINT: Final = re.compile(r"(?!\d)\w+(\.\w+)*(\s*:\s*\w+(\.\w+)*)?(\s*\[.*\])?")
HOST: Final = "innkeeper"

RESERVED: Final = frozenset({"agents", "call", "doctor", "keys", "new", "plugins", "serve", "token"})
"""The commands of innkeeper: a plugin's name is a command of its own, so it may be none of these."""


@dataclass(frozen=True, slots=True, order=True)
class PluginRecord:
    """An installed plugin: the name and value of its entry point, and the distribution that brings it."""

    name: str
    distribution: str
    version: str
    entry_point: str
    group: str = GROUP

    @property
    def brought_by(self) -> str:
        """Name and version of the distribution."""
        return f"{self.distribution} {self.version}"

    def __str__(self) -> str:
        return f"plugin {self.name!r} of {self.brought_by}"


@dataclass(frozen=True, slots=True)
class Refused:
    """A plugin that is not loaded, and why."""

    record: PluginRecord
    reason: str

    def __str__(self) -> str:
        return f"{self.record}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Discovery:
    """What is installed, in the order of the names: what can be loaded, and what is refused before any import.

    ``requires`` is what the distribution of each requires, ``strangers`` are entry points where no host looks.
    """

    plugins: tuple[PluginRecord, ...]
    refused: tuple[Refused, ...]
    requires: Mapping[PluginRecord, tuple[str, ...]] = field(default_factory=dict)
    strangers: tuple[Stranger, ...] = ()


@dataclass(frozen=True, slots=True)
class _Found:
    record: PluginRecord
    requires: tuple[str, ...]
    taken_by: tuple[PluginRecord, ...]


def discover(
    entry_points: Iterable[metadata.EntryPoint] | None = None,
    *,
    reserved: frozenset[str] = RESERVED,
    host_version: Version | None = None,
) -> Discovery:
    """Find the installed plugins.

    ``entry_points`` are those of the path by default; each must know its distribution. ``reserved`` are names that no
    plugin may have. ``host_version`` is the running one by default.
    """
    version = host_version or Version(metadata.version(HOST))
    plugins: list[PluginRecord] = []
    refused: list[Refused] = []
    installed, strangers = _found(_on_the_path() if entry_points is None else entry_points)
    for found in installed:
        reason = _reason_against(found, reserved, version)
        if reason is None:
            plugins.append(found.record)
        else:
            refused.append(Refused(found.record, reason))
    return Discovery(tuple(plugins), tuple(refused), {found.record: found.requires for found in installed}, strangers)


def _on_the_path() -> Iterator[metadata.EntryPoint]:
    return chain.from_iterable(map(_entry_points, metadata.distributions()))


def _found(entry_points: Iterable[metadata.EntryPoint]) -> tuple[list[_Found], tuple[Stranger, ...]]:
    """Pair each plugin with what its distribution requires; of one that is on the path twice, the first counts."""
    others: list[tuple[str, str, str, str]] = []
    first: dict[str, metadata.Distribution] = {}
    requires: dict[PluginRecord, tuple[str, ...]] = {}
    for entry_point in entry_points:
        distribution = entry_point.dist
        if distribution is None:
            continue
        if not _ANY_CONTRACT.fullmatch(entry_point.group):
            if may_be_ours(entry_point.group):
                name, version, _ = _metadata(distribution)
                others.append((canonicalize_name(name), version, entry_point.group, entry_point.name))
            continue
        name, version, needed = _metadata(distribution)
        known_as = _folder_name(distribution) if name == UNKNOWN else canonicalize_name(name)
        if first.setdefault(known_as, distribution) is distribution:
            record = PluginRecord(
                entry_point.name or NAMELESS, canonicalize_name(name), version, entry_point.value, entry_point.group
            )
            requires[record] = needed
    served = {record.distribution for record in requires if record.group == GROUP}
    claims: defaultdict[tuple[str, str], list[PluginRecord]] = defaultdict(list)
    for record in sorted(requires):
        if record.group == GROUP or record.distribution not in served:
            claims[record.group, record.name].append(record)
    found = [
        _Found(record, requires[record], tuple(other for other in claimants if other is not record))
        for claimants in claims.values()
        for record in claimants
    ]
    ours = {record.distribution for record in requires}
    return found, strangers_from((each for each in others if each[0] not in ours), GROUP)


NAMELESS: Final = "(no name)"
"""Stands for the name of a plugin that has none."""

UNKNOWN: Final = "unknown"
"""Stands for the name or version of a distribution that has lost it."""

UNREADABLE: Final = ("its metadata cannot be read",)
"""Stands for what a distribution requires whose METADATA is none."""


def _metadata(distribution: metadata.Distribution) -> tuple[str, str, tuple[str, ...]]:
    """Read name, version and requirements; half-removed distributions lack some, and broken ones can be anything."""
    try:
        headers = distribution.metadata
        name, version = (headers[key] if headers and key in headers else UNKNOWN for key in ("Name", "Version"))
        return printable(name), printable(version), tuple(distribution.requires or ())
    except Exception:  # noqa: BLE001 - whoever wrote it, it must not be in the way of the others
        return _folder_name(distribution), UNKNOWN, UNREADABLE


def _folder_name(distribution: metadata.Distribution) -> str:
    """Return the name in the name of the folder of a distribution's metadata."""
    folder = getattr(distribution, "_path", None)
    return str(getattr(folder, "name", UNKNOWN)).partition("-")[0] or UNKNOWN


def _entry_points(distribution: metadata.Distribution) -> Iterable[metadata.EntryPoint]:
    """Read the entry points; a file of them that cannot be read names no plugin that could be refused."""
    try:
        return distribution.entry_points
    except Exception:  # noqa: BLE001 - see above
        log.warning("%s: its entry points cannot be read; passed over", _folder_name(distribution))
        return ()


def _reason_against(found: _Found, reserved: frozenset[str], host_version: Version) -> str | None:
    return next((reason for check in _CHECKS if (reason := check(found, reserved, host_version))), None)


def _speaks_another_contract(found: _Found, *_: object) -> str | None:
    if found.record.group == GROUP:
        return None
    return f"it speaks plugin contract {found.record.group.rpartition('v')[2]}, this host speaks {CONTRACT}"


def _excludes_this_host(found: _Found, _: frozenset[str], host_version: Version) -> str | None:
    """Compare with the base version, so that a development or candidate version counts as the release it leads to."""
    if found.requires is UNREADABLE:
        return UNREADABLE[0]
    for line in found.requires:
        try:
            requirement = Requirement(line)
            applies = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        except (InvalidRequirement, UndefinedComparison, UndefinedEnvironmentName):
            return f"its metadata holds {line!r}, which is no requirement"
        if (
            applies
            and canonicalize_name(requirement.name) == HOST
            and not requirement.specifier.contains(host_version.base_version, prereleases=True)
        ):
            return f"it requires {requirement}, this host is {host_version}"
    return None


def _names_no_module(found: _Found, *_: object) -> str | None:
    if _ENTRY_POINT.fullmatch(found.record.entry_point):
        return None
    return f"its entry point {found.record.entry_point!r} is neither a module nor module:object"


def _has_a_bad_name(found: _Found, *_: object) -> str | None:
    if ID_PATTERN.fullmatch(found.record.name):
        return None
    return f"a plugin name is {ID_GRAMMAR}"


def _has_a_reserved_name(found: _Found, reserved: frozenset[str], _: Version) -> str | None:
    return "the name is a command of innkeeper" if found.record.name in reserved else None


def _shares_its_name(found: _Found, *_: object) -> str | None:
    others = [f"{other.distribution} {other.version} ({other.entry_point})" for other in found.taken_by]
    return f"the name is also claimed by {' and '.join(others)}" if others else None


_CHECKS: Final[tuple[Callable[[_Found, frozenset[str], Version], str | None], ...]] = (
    _speaks_another_contract,
    _excludes_this_host,
    _names_no_module,
    _has_a_bad_name,
    _has_a_reserved_name,
    _shares_its_name,
)
