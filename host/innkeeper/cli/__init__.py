"""The command line: one module per verb, imported when the verb is asked for."""

import importlib
from typing import Final

import click

__all__ = ["main"]

VERBS: Final = ("agents", "call", "keys", "plugins", "serve")
"""Every verb: a command of that name in a module of that name."""


class Verbs(click.Group):
    """A group that finds its commands in ``VERBS``."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order of the help page."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a verb, or return None if there is no such."""
        if cmd_name not in VERBS:
            return None
        command: click.Command = getattr(importlib.import_module(f"innkeeper.cli.{cmd_name}"), cmd_name)
        return command


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="innkeeper")
def main() -> None:
    """Serve pip-installed agents over A2A."""
