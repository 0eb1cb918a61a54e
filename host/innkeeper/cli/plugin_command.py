"""``innkeeper PLUGIN …``: the commands that a plugin brings."""

import difflib
import os
import sys
from collections.abc import Iterable

import click

from innkeeper.cli.config import faulty, settings_from


def find_plugin_command(ctx: click.Context, name: str) -> click.Command | None:
    """Import the plugin of this name, and no other, and ask it for its commands; None if there is no such plugin.

    What it holds is closed with ``ctx``. Exits with 2, after a line on stderr, if the plugin is broken or has none.
    """
    from innkeeper.registry.discovery import discover

    found = discover()
    if reason := next((refused for refused in found.refused if refused.record.name == name), None):
        click.echo(reason, err=True)
        sys.exit(2)
    record = next((record for record in found.plugins if record.name == name), None)
    if record is None:
        return None
    from innkeeper.app.logs import configure_logs
    from innkeeper.app.plugin_command import plugin_command
    from innkeeper.app.uncaught import log_uncaught, print_without
    from innkeeper.contract.errors import StartFault
    from innkeeper.registry.process import parting

    settings = settings_from(None)
    secrets = configure_logs(settings.host.log_level, settings.host.log_format)
    print_without(secrets)
    log_uncaught(secrets)
    try:
        return ctx.with_resource(plugin_command(record, settings, os.environ, secrets=secrets))
    except StartFault as error:
        sys.exit(parting(faulty(error)))  # an import that hangs is in a thread that does not end


def hint(name: str, verbs: Iterable[str]) -> str:
    """Say which command may be meant."""
    from innkeeper.registry.discovery import discover

    found = discover()
    known = sorted({*verbs, *(record.name for record in found.plugins)})
    close = difflib.get_close_matches(name, known)
    return f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
