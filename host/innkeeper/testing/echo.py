"""A plugin that every host under test has beside the tested ones: gates and memories need an agent to be tried on."""

from importlib.metadata import Distribution, EntryPoint
from pathlib import Path
from typing import Final, final

from innkeeper.contract.agent import Agent
from innkeeper.contract.markers import hookimpl
from innkeeper.contract.turn import Turn

ECHO: Final = "test-echo"
"""The name of the plugin, of its agent and, unless the settings have tenants, of a tenant."""


async def echo(turn: Turn) -> str:
    """Say the same."""
    return turn.text


@hookimpl
def register_agents() -> Agent:
    """Bring the agent."""
    return Agent(ECHO, echo)


@final
class _Echo(Distribution):
    """Metadata as if the plugin had been installed."""

    def read_text(self, filename: str) -> str | None:
        return {
            "METADATA": f"Metadata-Version: 2.1\nName: {ECHO}\nVersion: 1\n",
            "entry_points.txt": f"[innkeeper.v1]\n{ECHO} = {__name__}\n",
        }.get(filename)

    def locate_file(self, path: object) -> Path:
        raise FileNotFoundError(str(path))


def echo_entry_points() -> tuple[EntryPoint, ...]:
    """Return the entry point of this plugin, with its distribution."""
    return tuple(_Echo().entry_points)
