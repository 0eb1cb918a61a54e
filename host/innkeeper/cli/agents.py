"""``innkeeper agents``: what is served, and where."""

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from innkeeper.cli.columns import aligned
from innkeeper.cli.config import base_url_of, config_option, faulty, settings_from

if TYPE_CHECKING:
    from innkeeper.settings import Settings


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
@config_option
def agents(config: Path | None, *, as_json: bool) -> None:
    """List the agents that a host with these settings serves. Imports the plugins."""
    from innkeeper.registry.process import run_process

    sys.exit(run_process(_list(settings_from(config), as_json=as_json)))


async def _list(settings: "Settings", *, as_json: bool) -> int:
    from innkeeper.app.inspection import inspect
    from innkeeper.contract.errors import StartFault

    try:
        registry = await inspect(settings, os.environ)
    except StartFault as error:
        return faulty(error)
    base_url = base_url_of(settings)
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
        return 0
    rows = [("TENANT", "NAME", "PLUGIN", "CARD"), *(tuple(row.values()) for row in served)]
    click.echo("\n".join(aligned(rows)))
    return 0
