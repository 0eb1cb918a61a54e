"""What the SDK's server hands to an ``AgentExecutor``; imported only when one is served, for it imports that server."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import final

from a2a.auth.user import User
from a2a.server.agent_execution.context import RequestContext
from a2a.server.context import ServerCallContext
from a2a.server.events.event_queue import Event, EventQueue
from a2a.types import a2a_pb2
from google.protobuf import json_format

from innkeeper.contract.caller import ANONYMOUS, Caller
from innkeeper.contract.turn import Turn
from innkeeper.edge.wire import proto_from_message, task_json
from innkeeper.ports.store import TaskView

__all__ = ["Event", "TurnQueue", "request_context"]


@final
class TurnQueue(EventQueue):
    """An event queue that keeps nothing: each event is heard before ``enqueue_event`` returns."""

    def __init__(self, hear: Callable[[Event], Awaitable[None]]) -> None:
        self._hear = hear

    async def enqueue_event(self, event: Event) -> None:
        """Hand the event on."""
        await self._hear(event)


@final
@dataclass(frozen=True, slots=True)
class TurnUser(User):
    """The caller as the SDK knows users."""

    caller: Caller

    @property
    def is_authenticated(self) -> bool:
        """Whether somebody verified who this is."""
        return self.caller != ANONYMOUS

    @property
    def user_name(self) -> str:
        """The identity that owns sessions and tasks."""
        return self.caller.key


def request_context(turn: Turn, earlier: TaskView | None) -> RequestContext:
    """Build the context of a turn; ``earlier`` is its task, where an earlier message has opened that."""
    request = a2a_pb2.SendMessageRequest(
        tenant=turn.tenant, message=proto_from_message(turn.message, turn.task_id, turn.context_id)
    )
    request.metadata.update(turn.metadata)
    return RequestContext(
        ServerCallContext(user=TurnUser(turn.caller), tenant=turn.tenant),
        request=request,
        task_id=turn.task_id,
        context_id=turn.context_id,
        task=None if earlier is None else json_format.Parse(task_json(earlier), a2a_pb2.Task()),
    )
