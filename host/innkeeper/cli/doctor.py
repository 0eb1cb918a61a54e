"""``innkeeper doctor``: what is wrong with installed plugins."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from innkeeper.cli.config import config_option, settings_from

if TYPE_CHECKING:
    from innkeeper.testing import Findings


@click.group(invoke_without_command=True)
@click.pass_context
def doctor(ctx: click.Context) -> None:
    """Look at the installed plugins without importing them. Exits with 1 if there are errors."""
    if ctx.invoked_subcommand is not None:
        return
    from innkeeper.testing.installed import every_installed, every_stranger

    looked_at = every_installed()
    for findings in looked_at:
        click.echo(findings if findings.found else f"plugin {findings.plugin!r}: ok")
    for stranger in every_stranger():
        click.echo(f"warning: {stranger}")
    if not looked_at:
        click.echo("No plugins are installed.")
    sys.exit(any(findings.errors for findings in looked_at))


@doctor.command()
@click.argument("name")
@config_option
def plugin(name: str, config: Path | None) -> None:
    """Try plugin NAME on a host of its own, and say what is wrong with it.

    It is configured as the settings say; its data is kept in a folder that is removed at the end. Exits with 1 if there
    are errors; warnings are no errors.
    """
    from innkeeper.registry.process import run_process

    settings = settings_from(config)
    table = settings.plugins.get(name)
    sys.exit(run_process(_checked(name, {"plugins": {name: table}} if table else {}, settings.folder)))


async def _checked(name: str, settings: dict[str, object], folder: Path) -> int:
    from anyio import to_thread

    from innkeeper.testing import check_plugin

    findings: Findings = await to_thread.run_sync(lambda: check_plugin(name, settings=settings, folder=folder))
    click.echo(findings)
    return 1 if findings.errors else 0
