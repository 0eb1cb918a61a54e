"""The plugins of a tenant as one turn meets them: their faults go into the turn's event log."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import final

import anyio

from innkeeper.contract.json_values import frozen
from innkeeper.contract.message import Message
from innkeeper.contract.session import Scope
from innkeeper.contract.turn import Turn
from innkeeper.contract.turn_event import TurnEvent
from innkeeper.contract.workspace import Workspace, WorkspaceBacking
from innkeeper.ports.clock import World
from innkeeper.ports.events import Committed, Event, Source
from innkeeper.ports.store import TurnRecord
from innkeeper.registry.fanout import Fault, HookFailed, Verdict
from innkeeper.registry.tenants import Tenant
from innkeeper.turns.means import Means


@final
class TurnPlugins:
    """Asks the plugins of a tenant on behalf of one attempt at a turn."""

    def __init__(self, means: Means, tenant: Tenant, record: TurnRecord, *, attempt: int) -> None:
        self._means = means
        self._tenant = tenant
        self._record = record
        self._attempt = attempt

    @property
    def have_gates(self) -> bool:
        """Whether there is any gate; without one nobody needs to read the history."""
        return self._tenant.hooks.has("should_handle_turn")

    async def judge(self, turn: Turn, history: Sequence[Message]) -> Verdict:
        """Ask the gates."""
        verdict = await self._tenant.hooks.should_handle_turn(turn, history)
        self._tell(verdict.faults)
        return verdict

    async def equipped(self, turn: Turn) -> Turn:
        """Return the turn with the tools of plugins.

        Raises:
            HookFailed: a plugin is at fault.
        """
        try:
            tools = await self._tenant.hooks.agent_tools(turn.session)
        except HookFailed as failed:
            self._tell(failed.faults)
            raise
        return replace(turn, tools=tools) if tools else turn

    async def stopping(self, turn: Turn) -> None:
        """Let plugins object to the end of the turn.

        Raises:
            HookFailed: a plugin is at fault.
        """
        try:
            await self._tenant.hooks.on_turn_stopping(turn)
        except HookFailed as failed:
            self._tell(failed.faults)
            raise

    async def capabilities(self) -> str:
        """Join what plugins add to a prompt by blank lines."""
        asked = await self._tenant.hooks.capability()
        self._tell(asked.faults)
        return "\n\n".join(text for _, text in asked.answers if text)

    def workspace(self) -> Workspace:
        """Return the files of the turn's session.

        Their use raises ``HookFailed`` where the plugin that keeps them is at fault.
        """
        return Workspace(self._backing, anyio.Lock())

    async def _backing(self) -> WorkspaceBacking:
        record = self._record
        scope = Scope(record.tenant, record.caller, record.session_id)
        return await self._tenant.workspaces.backing(scope, self._tell)

    def _tell(self, faults: Iterable[Fault]) -> None:
        """Write faults into the event log; they have been logged already, should the store not take them."""
        for fault in faults:
            event = Event(
                "fault",
                self._means.world.now_us(),
                data={"plugin": fault.plugin, "hook": fault.hook, "reason": fault.reason},
            )
            written = asyncio.ensure_future(self._means.store.append(self._record, self._attempt, event))
            written.add_done_callback(lambda done: done.cancelled() or done.exception())


def turn_event(committed: Committed, source: Source) -> TurnEvent:
    """Make of a committed event what plugins are told: all of them the same, which none can change."""
    event = source.event
    known = {"state": event.state and event.state.value, "message_id": event.message_id}
    told = {**{key: value for key, value in known.items() if value}, **event.data}
    return TurnEvent(
        seq=committed.seq,
        task_id=committed.task_id,
        session_id=source.session_id,
        kind=event.kind,
        at=World.datetime_from_us(event.at_us),
        data=MappingProxyType({key: frozen(value) for key, value in told.items()}),
    )
