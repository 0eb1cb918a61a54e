"""The operations of A2A (v1.0 §3.1) for one verified caller at one tenant, whatever binding they came by."""

from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Final, Self

from a2a.types import a2a_pb2 as pb
from anyio import to_thread

from innkeeper.contract.caller import Caller
from innkeeper.contract.errors import InvalidParams, PushNotSupported, TaskNotFound, UnsupportedOperation
from innkeeper.edge import pages
from innkeeper.edge.cards import Cards
from innkeeper.edge.event_ids import find_seq
from innkeeper.edge.extensions import require_extensions
from innkeeper.edge.input_modes import require_input_modes
from innkeeper.edge.push import Push
from innkeeper.edge.wire import Incoming, fold_artifacts, incoming_from_request, list_json, task_json
from innkeeper.ports.events import TERMINAL, Committed, State
from innkeeper.ports.push import PushConfig
from innkeeper.ports.store import OwnTasks, TaskView
from innkeeper.registry.tenants import Tenant
from innkeeper.turns.bus import Watch
from innkeeper.turns.engine import Engine
from innkeeper.turns.submission import Submission

FEW_PIECES: Final = 256
"""Of so many pieces an artifact is folded on the event loop; more of them are folded in a thread."""


@dataclass(frozen=True, slots=True)
class Call:
    """Who calls whom. ``by_path``: the path named the tenant, so that the answer may leave it out.

    ``extensions`` are those that the request asks for, ``activated`` those that it turns out to have got.
    ``last_event_id`` names the event that a reader who comes back has seen last.
    """

    tenant: Tenant
    caller: Caller
    by_path: bool
    extensions: tuple[str, ...] = ()
    activated: dict[str, None] = field(default_factory=dict)
    last_event_id: str = ""


class Stream:
    """The events of a task for one reader: a snapshot unless all are there, then what follows it, without gap.

    One that is ``resumed`` has neither snapshot nor beginning: it follows what the reader has seen.
    Use it as a context manager, from the moment it is made: that is what ends the watch.
    """

    def __init__(self, task_id: str, watch: Watch, snapshot: Committed | None = None, *, resumed: bool = False) -> None:
        self.task_id = task_id
        self.resumed = resumed
        self._watch = watch
        self._snapshot = snapshot
        self._seen = 0 if snapshot is None else snapshot.seq

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._watch.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Committed:
        if self._snapshot is not None:
            snapshot, self._snapshot = self._snapshot, None
            return snapshot
        while True:
            committed = await anext(self._watch)
            if committed.seq > self._seen:
                return committed


class Service:
    """One method per operation. Each answers the bytes of its response message, or a stream of such bytes.

    What they raise is ``Answerable``; ``Unavailable`` among it means that nothing was done and a later try may do.
    ``push`` is None where push is not offered.
    """

    def __init__(self, engine: Engine, cards: Cards, push: Push | None = None) -> None:
        self._engine = engine
        self._cards = cards
        self._push = push

    def find_tenant(self, tenant_id: str) -> Tenant | None:
        """Return the served tenant of that id."""
        return self._engine.find_tenant(tenant_id)

    async def send(self, call: Call, request: pb.SendMessageRequest) -> bytes:
        """Take a message; answer when its task has settled, or at once if the caller asked for that (§3.1.1)."""
        require_extensions(call.tenant.agent, call.extensions)
        incoming = incoming_from_request(request)
        require_input_modes(call.tenant.agent, request.message.parts)
        submission = _submission(call, incoming, await self._inline_push(call, request, may_lack=False))
        admitted = await self._engine.submit(call.tenant, call.caller, submission)
        task_id = admitted.task.id
        settled = None if incoming.return_immediately else await self._engine.until_settled(task_id)
        if settled is None:
            view = await self._view(call, task_id, incoming.history_length)
        else:
            view = _with_history(settled, incoming.history_length)
        return b'{"task":%b}' % task_json(view)

    async def stream(self, call: Call, request: pb.SendMessageRequest) -> Stream:
        """Take a message and follow its task until that settles (§3.1.2).

        A message that was taken before, and one to a task that has events already, starts with a snapshot, or after
        the event that the reader has seen last.
        """
        _require_streaming(call)
        require_extensions(call.tenant.agent, call.extensions)
        incoming = incoming_from_request(request)
        require_input_modes(call.tenant.agent, request.message.parts)
        submission = _submission(call, incoming, await self._inline_push(call, request, may_lack=True))
        admitted, watch = await self._engine.submit_and_watch(call.tenant, call.caller, submission)
        if watch.from_start:
            return Stream(admitted.task.id, watch)
        return await self._snapshot_and_rest(call, admitted.task.id, watch, incoming.history_length)

    async def get(self, call: Call, request: pb.GetTaskRequest) -> bytes:
        """Read a task (§3.1.3)."""
        return task_json(await self._view(call, _required_id(request.id), _history_length(request)))

    async def list(self, call: Call, request: pb.ListTasksRequest) -> bytes:
        """Read a page of the caller's tasks at this tenant (§3.1.4)."""
        scope = pages.Scope(call.tenant.id, call.caller.key)
        query = pages.query_from_request(request, scope, _history_length(request))
        page = await self._own(call).list(query)
        return list_json(page, pages.next_token(page, query, scope), query.limit)

    async def cancel(self, call: Call, request: pb.CancelTaskRequest) -> bytes:
        """Cancel a task and read it (§3.1.5)."""
        task_id = _required_id(request.id)
        await self._engine.cancel(call.tenant.id, call.caller, task_id)
        return task_json(await self._view(call, task_id, None))

    async def subscribe(self, call: Call, request: pb.SubscribeToTaskRequest) -> Stream:
        """Follow a task from now on until it ends, beginning with a snapshot (§3.1.6).

        Who says which event it has seen last gets those after it instead, also of a task that has ended meanwhile.
        """
        _require_streaming(call)
        task_id = _required_id(request.id)
        watch = self._engine.watch(task_id)  # before the snapshot, so that nothing falls between the two
        return await self._snapshot_and_rest(call, task_id, watch, refused=TERMINAL)

    async def card(self, call: Call, request: pb.GetExtendedAgentCardRequest) -> bytes:
        """Read the tenant's card (§3.1.11)."""
        card = self._cards.find_tenant_card(call.tenant.id, by_path=call.by_path)
        if card is None:
            raise UnsupportedOperation
        return card.body

    async def create_push_config(self, call: Call, request: pb.TaskPushNotificationConfig) -> bytes:
        """Keep a push configuration with a task (§3.1.7)."""
        return await self._offered_push.create(self._own(call), request)

    async def get_push_config(self, call: Call, request: pb.GetTaskPushNotificationConfigRequest) -> bytes:
        """Read a push configuration of a task (§3.1.8)."""
        return await self._offered_push.get(self._own(call), request)

    async def list_push_configs(self, call: Call, request: pb.ListTaskPushNotificationConfigsRequest) -> bytes:
        """Read a page of a task's push configurations (§3.1.9)."""
        return await self._offered_push.list(self._own(call), request)

    async def delete_push_config(self, call: Call, request: pb.DeleteTaskPushNotificationConfigRequest) -> bytes:
        """Forget a push configuration of a task (§3.1.10)."""
        return await self._offered_push.delete(self._own(call), request)

    @property
    def _offered_push(self) -> Push:
        if self._push is None:
            raise PushNotSupported
        return self._push

    async def _inline_push(self, call: Call, request: pb.SendMessageRequest, *, may_lack: bool) -> PushConfig | None:
        asked = request.configuration.HasField("task_push_notification_config")
        if not asked and self._push is None:
            return None
        return await self._offered_push.inline(request, call.tenant.id, may_lack=may_lack)

    def _own(self, call: Call) -> OwnTasks:
        return self._engine.own_tasks(call.tenant.id, call.caller.key)

    async def _view(self, call: Call, task_id: str, history_length: int | None) -> TaskView:
        view = await self._own(call).find(task_id, history_length=history_length)
        if view is None:
            raise TaskNotFound
        if len(view.pieces) <= FEW_PIECES:
            return view
        folded = await to_thread.run_sync(fold_artifacts, view.artifacts, view.pieces)
        return replace(view, artifacts=folded, pieces=())

    async def _snapshot_and_rest(
        self,
        call: Call,
        task_id: str,
        watch: Watch,
        history_length: int | None = None,
        refused: frozenset[State] = frozenset(),
    ) -> Stream:
        try:
            if await self._resume(call, task_id, watch):
                return Stream(task_id, watch, resumed=True)
            snapshot = await self._snapshot(call, task_id, history_length, refused)
        except BaseException:
            await watch.aclose()
            raise
        return Stream(task_id, watch, snapshot)

    async def _resume(self, call: Call, task_id: str, watch: Watch) -> bool:
        """Set the watch to what comes after the reader's last event; False unless that is one of the task."""
        seen = find_seq(call.last_event_id, task_id)
        view = None if seen is None else await self._own(call).find(task_id, history_length=0, artifacts=False)
        if seen is None or view is None or seen > view.task.seq:
            return False
        watch.resume(seen, known=view.task.seq)
        if view.task.state in TERMINAL:
            watch.finish()
        return True

    async def _snapshot(
        self, call: Call, task_id: str, history_length: int | None, refused: frozenset[State]
    ) -> Committed:
        view = await self._view(call, task_id, history_length)
        if view.task.state in refused:
            raise UnsupportedOperation("The task has ended")
        return Committed(task_id, view.task.seq, b'{"task":%b}' % task_json(view), view.task.state)


def _submission(call: Call, incoming: Incoming, push: PushConfig | None) -> Submission:
    return Submission(
        message_id=incoming.message_id,
        digest=incoming.digest,
        body=incoming.body,
        task_id=incoming.task_id,
        context_id=incoming.context_id,
        metadata=incoming.metadata,
        push=push,
        extensions=call.extensions,
        activated=lambda uri: call.activated.update({uri: None}),
    )


def _with_history(view: TaskView, length: int | None) -> TaskView:
    """Return the task with the last messages of its history, so many of them, or all."""
    if length is None or len(view.history) <= length:
        return view
    return replace(view, history=view.history[-length:] if length else ())


def _require_streaming(call: Call) -> None:
    if not call.tenant.agent.streaming:
        raise UnsupportedOperation("This agent does not stream")


def _required_id(task_id: str) -> str:
    if not task_id:
        raise InvalidParams("id is required")
    return task_id


def _history_length(request: pb.GetTaskRequest | pb.ListTasksRequest) -> int | None:
    """None means unsaid, which is not 0: all of the history against none of it (§3.2.4)."""
    if not request.HasField("history_length"):
        return None
    if request.history_length < 0:
        raise InvalidParams("historyLength must not be negative")
    return request.history_length
