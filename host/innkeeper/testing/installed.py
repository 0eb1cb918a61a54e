"""What the metadata of an installed plugin says of it, without importing anything."""

import difflib
from collections.abc import Iterator
from importlib import metadata

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from innkeeper.registry.discovery import HOST, Discovery, PluginRecord, discover
from innkeeper.testing.findings import Finding, Findings, error, warning


def find_record(name: str) -> PluginRecord | None:
    """Return the record of an installed plugin, refused or not."""
    found = discover()
    records = (*found.plugins, *(each.record for each in found.refused))
    return next((record for record in sorted(records) if record.name == name), None)


def every_installed() -> tuple[Findings, ...]:
    """Look at all installed plugins, in the order of their names."""
    found = discover()
    return tuple(Findings(name, tuple(_findings(name, found))) for name in _names(found))


def of_metadata(name: str) -> tuple[Finding, ...]:
    """Look at one plugin: that it is installed, would be loaded, and gets along with what else is installed."""
    found, names = discover(), _names(discover())
    if name not in names:
        close = difflib.get_close_matches(name, names, n=1)
        hint = f"Did you mean {close[0]!r}?" if close else f"Installed are: {', '.join(names) or 'none'}."
        return (error(f"no plugin {name!r} is installed", f"{hint} pip install --editable . installs a folder."),)
    return tuple(_findings(name, found))


def _names(found: Discovery) -> list[str]:
    return sorted({record.name for record in (*found.plugins, *(each.record for each in found.refused))})


def _findings(name: str, found: Discovery) -> Iterator[Finding]:
    for refused in found.refused:
        if refused.record.name == name:
            yield error(f"{refused.record} is refused: {refused.reason}")
    records = {record for record in (*found.plugins, *(each.record for each in found.refused)) if record.name == name}
    for distribution in sorted({record.distribution for record in records}):
        yield from _requirements(distribution)


def _requirements(distribution: str) -> Iterator[Finding]:
    """Compare what a distribution requires with what is there."""
    requirements = []
    for line in metadata.distribution(distribution).requires or ():
        try:
            requirements.append(Requirement(line))
        except InvalidRequirement:
            yield error(f"{distribution} requires {line!r}, which is no requirement")
    needed = [each for each in requirements if each.marker is None or each.marker.evaluate({"extra": ""})]
    if HOST not in {canonicalize_name(each.name) for each in needed}:
        yield warning(
            f"{distribution} does not require {HOST}",
            f'Add "{HOST}>={_minor()}" to the dependencies, so that a host that is too old is told apart.',
        )
    for each in needed:
        if canonicalize_name(each.name) == HOST:
            continue  # the host compares that itself
        try:
            version = metadata.version(each.name)
        except metadata.PackageNotFoundError:
            yield error(f"{distribution} requires {each}, which is not installed")
            continue
        if not each.specifier.contains(version, prereleases=True):
            yield error(f"{distribution} requires {each}, and {each.name} {version} is installed")


def _minor() -> str:
    return ".".join(metadata.version(HOST).split(".")[:2])
