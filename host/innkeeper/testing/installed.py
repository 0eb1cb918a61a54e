"""What the metadata of an installed plugin says of it, without importing anything."""

import difflib
from collections.abc import Iterator
from importlib import metadata

from innkeeper.registry.discovery import HOST, Discovery, PluginRecord, discover
from innkeeper.registry.requirements import names_in, unmet
from innkeeper.registry.strangers import Stranger
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
        hint = " ".join((f"{hint} pip install --editable . installs a folder.", *_elsewhere(name, found)))
        return (error(f"no plugin {name!r} is installed", hint),)
    return tuple(_findings(name, found))


def _elsewhere(name: str, found: Discovery) -> Iterator[str]:
    return (str(stranger) for stranger in found.strangers if name in stranger.names)


def every_stranger() -> tuple[Stranger, ...]:
    """Return the entry points where no host looks, and where one may be meant."""
    return discover().strangers


def _names(found: Discovery) -> list[str]:
    return sorted({record.name for record in (*found.plugins, *(each.record for each in found.refused))})


def _findings(name: str, found: Discovery) -> Iterator[Finding]:
    for refused in found.refused:
        if refused.record.name == name:
            yield error(f"{refused.record} is refused: {refused.reason}")
    records = {record for record in (*found.plugins, *(each.record for each in found.refused)) if record.name == name}
    for distribution, requires in sorted({(record.distribution, found.requires[record]) for record in records}):
        yield from _requirements(distribution, requires)


def _requirements(distribution: str, requires: tuple[str, ...]) -> Iterator[Finding]:
    """Compare what a distribution requires with what is there."""
    if HOST not in names_in(requires):
        yield warning(
            f"{distribution} does not require {HOST}",
            f'Add "{HOST}>={_minor()}" to the dependencies, so that a host that is too old is told apart.',
        )
    yield from (error(f"{distribution} {reason}") for reason in unmet(requires, HOST))


def _minor() -> str:
    return ".".join(metadata.version(HOST).split(".")[:2])
