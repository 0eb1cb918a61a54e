"""The command line: one module per verb, imported when the verb is asked for."""

import importlib
from typing import Any, Final

import click

__all__ = ["main"]

VERBS: Final = ("agents", "call", "doctor", "keys", "new", "plugins", "serve", "token")
"""Every verb: a command of that name in a module of that name."""


class Verbs(click.Group):
    """A group that finds its commands in ``VERBS``, and then among the installed plugins."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order of the help page."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a verb, or a plugin to ask it for its commands; None if there is neither."""
        if cmd_name not in VERBS:
            from innkeeper.cli.plugin_command import find_plugin_command

            return find_plugin_command(ctx, cmd_name)
        command: click.Command = getattr(importlib.import_module(f"innkeeper.cli.{cmd_name}"), cmd_name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; what Innkeeper raises on purpose is a line on stderr, in commands of plugins too."""
        from innkeeper.contract.errors import InnkeeperError

        try:
            return super().invoke(ctx)
        except InnkeeperError as error:
            raise click.ClickException(str(error)) from error

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is asked for; where there is none, say which may be meant."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            if args[0].startswith("-"):
                raise
            from innkeeper.cli.plugin_command import hint

            raise click.UsageError(f"No such command {args[0]!r}.{hint(args[0], VERBS)}", ctx) from error


EPILOG: Final = "Installed plugins may add commands of their own: innkeeper PLUGIN --help."


@click.group(cls=Verbs, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="innkeeper")
def main() -> None:
    """Serve pip-installed agents over A2A."""
