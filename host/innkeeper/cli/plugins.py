"""``innkeeper plugins``: what is installed, what becomes of it, and what it keeps.

Without ``--load`` metadata alone is read: a plugin that cannot even be imported is listed like any other.
"""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from innkeeper.cli.columns import aligned
from innkeeper.cli.config import config_option, settings_from
from innkeeper.registry.discovery import Discovery, discover

if TYPE_CHECKING:
    from innkeeper.settings import Settings

__all__ = ["plugins"]

F = TypeVar("F", bound=Callable[..., Any])

HEAD: Final = ("NAME", "DISTRIBUTION", "STATE", "IMPORT", "HOOKS", "SCHEMA", "FAULTS")


def _listing_options(command: F) -> F:
    """Add what ``innkeeper plugins`` and ``innkeeper plugins list`` both take."""
    for option in (
        config_option,
        click.option("--load", is_flag=True, help="Import the plugins and show what a host would make of them."),
        click.option("--json", "as_json", is_flag=True, help="Print JSON instead of lines."),
    ):
        command = option(command)
    return command


@click.group(invoke_without_command=True)
@_listing_options
@click.pass_context
def plugins(ctx: click.Context, config: Path | None, *, as_json: bool, load: bool) -> None:
    """List the installed plugins, without importing them."""
    if ctx.invoked_subcommand is None:
        _list(config, as_json=as_json, load=load)


@plugins.command(name="list")
@_listing_options
def list_(config: Path | None, *, as_json: bool, load: bool) -> None:
    """List the installed plugins: the same as no command."""
    _list(config, as_json=as_json, load=load)


@plugins.command()
@click.argument("name")
@click.option("--tenant", required=True, metavar="ID", help="The tenant at which the data is.")
@click.option("--purge", is_flag=True, help="Remove the data for good; no host may be using it.")
@config_option
def data(name: str, config: Path | None, *, tenant: str, purge: bool) -> None:
    """Show where plugin NAME keeps its data, how much it is, and the version of its tables.

    Exits with 1 when there is none, or when it cannot be removed.
    """
    from innkeeper.app.plugin_data import look_at_data
    from innkeeper.contract.errors import StartFault

    try:
        found = asyncio.run(look_at_data(settings_from(config), name, tenant, purge=purge))
    except StartFault as error:
        click.echo("\n".join(error.faults), err=True)
        sys.exit(1)
    removed = ", removed" if purge else ""
    click.echo(f"{found.path}: {found.size_bytes} bytes, schema version {found.version}{removed}")


def _list(config: Path | None, *, as_json: bool, load: bool) -> None:
    if load:
        from innkeeper.registry.process import run_process

        settings = settings_from(config, {"INNKEEPER_HOST__ON_BROKEN_PLUGIN": "quarantine"})
        sys.exit(run_process(_list_loaded(settings, as_json=as_json)))
    found = discover()
    rows = list(_rows(found))
    if as_json:
        click.echo(json.dumps(rows, indent=2))
    elif not rows:
        click.echo("No plugins are installed.")
    for row in () if as_json else rows:
        line = f"{row['name']}  {row['distribution']} {row['version']}  {row['entry_point']}"
        click.echo(line if row["refused"] is None else f"{line}  refused: {row['refused']}")
    for stranger in found.strangers:
        click.echo(stranger, err=as_json)


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


async def _list_loaded(settings: "Settings", *, as_json: bool) -> int:
    """Load everything and print what came of it; what is broken is in the answer, not in the exit code."""
    from innkeeper.app.inspection import inspect
    from innkeeper.registry.listing import listing

    with contextlib.redirect_stdout(sys.stderr):  # what plugins print is not our answer
        found: dict[str, Any] = listing(await inspect(settings, os.environ, settle=False), settings)
    if as_json:
        click.echo(json.dumps(found, indent=2))
    else:
        click.echo("\n".join(_told(found)))
    return 0


def _told(found: dict[str, Any]) -> Iterator[str]:
    """Put a listing into lines for people."""
    if found["plugins"]:
        yield from aligned([HEAD, *map(_cells, found["plugins"])])
    else:
        yield "No plugins are installed."
    yield from (line for plugin in found["plugins"] for line in _configured(plugin))
    for plugin in found["plugins"]:
        yield from (f"\nPlugin {plugin['name']}: {note}" for note in plugin["notes"])
    yield from (f"\n{note}" for note in found["notes"])
    for tenant in found["tenants"]:
        yield f"\nTenant {tenant['tenant']}: agent {tenant['agent']} of plugin {tenant['plugin']}"
        yield from (f"  {hook}: {', '.join(names)}" for hook, names in tenant["call_order"].items())
    for tenant in found["left_out"]:
        yield f"\nLeft out: tenant {tenant['tenant']}: {tenant['reason']}"
    yield from found["faults"]


def _configured(plugin: dict[str, Any]) -> Iterator[str]:
    """Tell the configuration of a plugin as it is written, at host scope and at each tenant with one of its own."""
    at_tenants = (plugin["tenant_config"] or {}).items()
    scopes = {"": plugin["config"], **{f" at tenant {tenant}": config for tenant, config in at_tenants}}
    for scope, config in scopes.items():
        if config:
            yield f"\nConfiguration of plugin {plugin['name']}{scope}"
            yield from (f"  {key} = {json.dumps(value, ensure_ascii=False)}" for key, value in config.items())


def _cells(plugin: dict[str, Any]) -> tuple[str, ...]:
    faults = (f"at tenant {each['tenant']}: {each['reason']}" if each["tenant"] else each["reason"]
              for each in plugin["reasons"])  # fmt: skip
    return (
        plugin["name"],
        f"{plugin['distribution']} {plugin['version']}",
        plugin["state"],
        "" if plugin["import_ms"] is None else f"{plugin['import_ms']} ms",
        ", ".join(plugin["hooks"] or ()),
        str(plugin["schema_version"] or ""),
        "; ".join(faults),
    )
