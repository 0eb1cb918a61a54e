"""What the distribution of a plugin requires, compared with what is installed."""

from collections.abc import Iterable, Iterator
from importlib import metadata

from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion


def unmet(requires: Iterable[str], host: str) -> Iterator[str]:
    """Say which requirements are not met; those of the ``host`` itself it compares before it loads a plugin."""
    for line in requires:
        try:
            requirement = Requirement(line)
            applies = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        except (InvalidRequirement, UndefinedComparison, UndefinedEnvironmentName):
            yield f"requires {line!r}, which is no requirement"
            continue
        if applies and canonicalize_name(requirement.name) != host and (reason := _against(requirement)):
            yield f"requires {requirement}, {reason}"


def _against(requirement: Requirement) -> str | None:
    try:
        version = metadata.version(requirement.name)
    except metadata.PackageNotFoundError:
        return "which is not installed"
    except Exception:  # noqa: BLE001 - of a distribution that is half removed
        version = "unknown"
    try:
        if requirement.specifier.contains(version, prereleases=True):
            return None
    except (InvalidVersion, TypeError):
        pass
    return f"and {requirement.name} {version} is installed"


def names_in(requires: Iterable[str]) -> set[str]:
    """Return the names of what is required, extras and what is no requirement left out."""
    found: set[str] = set()
    for line in requires:
        try:
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                found.add(canonicalize_name(requirement.name))
        except (InvalidRequirement, UndefinedComparison, UndefinedEnvironmentName):
            continue
    return found
