"""What belongs to the event loop of the host, made usable from that of a test."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from innkeeper.contract.message import JSON
from innkeeper.contract.session import Scope
from innkeeper.contract.tool import Tool, ToolAnswer
from innkeeper.contract.turn import Turn
from innkeeper.contract.workspace import WorkspaceBacking, WorkspaceEntry, WorkspaceInfo
from innkeeper.registry.workspaces import Workspaces
from innkeeper.testing.pending import Pending

T = TypeVar("T")


class Run(Protocol):
    """Calls an async function on the event loop of the host."""

    def __call__(self, function: Callable[..., Awaitable[T]], *arguments: Any) -> Pending[T]:
        """Begin it."""
        ...


def rerouted_tool(tool: Tool, run: Run) -> Tool:
    """Return a tool that does its work on the event loop of the host, whoever calls it."""

    async def use(arguments: Mapping[str, JSON], turn: Turn) -> ToolAnswer:
        return await run(tool.run, arguments, turn)

    return replace(tool, run=use)


async def rerouted_workspace(workspaces: Workspaces, scope: Scope, run: Run) -> WorkspaceBacking:
    """Return the backing of a session, to be used from any event loop."""
    return _Rerouted(await run(workspaces.backing, scope), run)


@dataclass(frozen=True, slots=True)
class _Rerouted:
    backing: WorkspaceBacking
    run: Run

    async def read_file(self, path: str) -> str | None:
        return await self.run(self.backing.read_file, path)

    async def write_file(self, path: str, text: str) -> None:
        await self.run(self.backing.write_file, path, text)

    async def exists(self, path: str) -> bool:
        return await self.run(self.backing.exists, path)

    async def delete_file(self, path: str) -> bool:
        return await self.run(self.backing.delete_file, path)

    async def read_dir(self, path: str) -> tuple[WorkspaceEntry, ...]:
        return await self.run(self.backing.read_dir, path)

    async def info(self) -> WorkspaceInfo:
        return await self.run(self.backing.info)
