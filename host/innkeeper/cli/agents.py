"""``innkeeper agents``: what is served, and where."""

import asyncio
import json
from pathlib import Path

import click

from innkeeper.cli.config import config_option, exit_on_faults, settings_from


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
@config_option
def agents(config: Path | None, *, as_json: bool) -> None:
    """List the agents that a host with these settings serves. Imports the plugins."""
    from innkeeper.cli import VERBS
    from innkeeper.registry.assembly import load_registry

    settings = settings_from(config)
    with exit_on_faults():
        registry = asyncio.run(load_registry(settings, reserved=frozenset(VERBS)))
    base_url = settings.host.public_url or f"http://{settings.host.bind[0]}"
    served = [
        {
            "tenant": tenant.id,
            "name": tenant.agent.name,
            "plugin": tenant.plugin.name,
            "card": f"{base_url}/agents/{tenant.id}/.well-known/agent-card.json",
        }
        for tenant in registry.tenants.values()
    ]
    if as_json:
        click.echo(json.dumps(served, indent=2))
        return
    rows = [("TENANT", "NAME", "PLUGIN", "CARD"), *(tuple(row.values()) for row in served)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
