"""List what is installed, from metadata alone: a plugin that cannot even be imported is listed like any other."""

import json
from collections.abc import Iterator
from typing import Any

import click

from innkeeper.registry.discovery import Discovery, discover

__all__ = ["plugins"]


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array instead of lines.")
def plugins(*, as_json: bool) -> None:
    """List the installed plugins without importing them."""
    rows = list(_rows(discover()))
    if as_json:
        click.echo(json.dumps(rows, indent=2))
    elif not rows:
        click.echo("No plugins are installed.")
    for row in () if as_json else rows:
        line = f"{row['name']}  {row['distribution']} {row['version']}  {row['entry_point']}"
        click.echo(line if row["refused"] is None else f"{line}  refused: {row['refused']}")


def _rows(found: Discovery) -> Iterator[dict[str, Any]]:
    """Give each plugin with the reason why it is refused, or None, in the order of the names."""
    reasons = {refused.record: refused.reason for refused in found.refused}
    for record in sorted((*found.plugins, *reasons)):
        yield {
            "name": record.name,
            "distribution": record.distribution,
            "version": record.version,
            "entry_point": record.entry_point,
            "refused": reasons.get(record),
        }
