"""The commands of a plugin, as the command line runs them."""

from collections.abc import Sequence
from pathlib import Path

from click.testing import CliRunner, Result

from innkeeper.app.plugin_command import plugin_command
from innkeeper.testing.installed import find_record
from innkeeper.testing.setup import Setup


def run_command(setup: Setup, folder: Path, plugin: str, arguments: Sequence[str]) -> Result:
    """Run ``innkeeper PLUGIN ARGUMENTS`` on the data in the folder, in a thread without an event loop.

    Raises:
        LookupError: no such plugin is installed.
        StartFault: the plugin has no commands, or they cannot be made.
    """
    record = find_record(plugin)
    if record is None:
        raise LookupError(f"no plugin {plugin!r} is installed")
    with plugin_command(record, setup.load(folder), setup.variables) as group:
        return CliRunner().invoke(group, arguments, prog_name=f"innkeeper {plugin}")
