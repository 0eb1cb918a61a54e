"""The workspaces of a tenant's sessions: one backing per session."""

from collections import OrderedDict
from typing import Final, final

from innkeeper.contract.session import Scope
from innkeeper.contract.workspace import WorkspaceBacking
from innkeeper.registry.facade import Hooks
from innkeeper.registry.fanout import HookFailed
from innkeeper.registry.foreign_backing import ForeignBacking, Tell
from innkeeper.registry.memory_workspace import MemoryWorkspace

KEPT: Final = 1000
"""How many backings a tenant keeps: those of the sessions that have used theirs last.

Files in memory are gone with their backing; a plugin that keeps files elsewhere is asked again.
"""


@final
class Workspaces:
    """Asks the tenant's provider once per session, and keeps files in memory where there is none."""

    def __init__(self, hooks: Hooks, *, kept: int = KEPT) -> None:
        self._hooks = hooks
        self._kept = kept
        self._backings: OrderedDict[str, ForeignBacking | MemoryWorkspace] = OrderedDict()

    async def backing(self, scope: Scope, tell: Tell = lambda _: None) -> WorkspaceBacking:
        """Return the backing of a session, asked for at its first use; ``tell`` hears of what is wrong with it.

        Raises:
            HookFailed: the provider is at fault; this backing raises it as well.
        """
        session = scope.session_id
        if session not in self._backings:
            try:
                backing = await self._hooks.workspace_backing(scope)
            except HookFailed as failed:
                tell(failed.faults)
                raise
            self._backings.setdefault(session, backing or MemoryWorkspace())
        self._backings.move_to_end(session)
        while len(self._backings) > self._kept:
            self._backings.popitem(last=False)
        kept = self._backings[session]
        return kept.telling(tell) if isinstance(kept, ForeignBacking) else kept
