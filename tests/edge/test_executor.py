"""Agents written against the SDK run as they are: what they enqueue is put out, their final status is the outcome."""

import asyncio
import logging
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from a2a.helpers import new_task_from_user_message, new_text_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types import a2a_pb2 as pb

from innkeeper.contract.agent import Agent
from innkeeper.contract.caller import ANONYMOUS, Caller
from innkeeper.contract.message import Message, Part
from innkeeper.contract.plugin import PluginContext
from innkeeper.contract.turn import Turn
from innkeeper.edge.executor import UNSETTLED, runner_from_executor
from innkeeper.ports.events import ArtifactPiece, State
from innkeeper.ports.running import Outcome

pytestmark = pytest.mark.anyio

Work = Callable[[RequestContext, EventQueue, TaskUpdater], Awaitable[None]]


class Executor(AgentExecutor):
    """An executor that does ``work``, and notes how it was canceled."""

    def __init__(self, work: Work, cancel: Work | None = None) -> None:
        self._work = work
        self._cancel = cancel
        self.canceled = 0

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        await self._work(context, event_queue, updater(context, event_queue))

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        self.canceled += 1
        await (self._cancel or cancel_as_the_sdk_says)(context, event_queue, updater(context, event_queue))


def updater(context: RequestContext, queue: EventQueue) -> TaskUpdater:
    assert context.task_id
    assert context.context_id
    return TaskUpdater(queue, context.task_id, context.context_id)


async def cancel_as_the_sdk_says(_: RequestContext, __: EventQueue, task: TaskUpdater) -> None:
    await task.cancel()


@dataclass
class Heard:
    """An outlet that keeps what it is given."""

    said: list[tuple[tuple[Part, ...], str | None]] = field(default_factory=list)
    pieces: list[ArtifactPiece] = field(default_factory=list)
    settled: list[Outcome] = field(default_factory=list, compare=False)

    async def progress(self, text: str, key: str | None) -> None:
        raise AssertionError("an executor speaks through put_progress")

    async def artifact(self, name: str, parts: Sequence[Part], *, append: bool, last: bool) -> None:
        raise AssertionError("an executor speaks through put_artifact")

    async def put_progress(self, parts: tuple[Part, ...], message_id: str | None) -> None:
        self.said.append((parts, message_id))

    async def put_artifact(self, piece: ArtifactPiece) -> None:
        self.pieces.append(piece)

    async def earlier(self) -> None:
        return None

    def settle(self, outcome: Outcome) -> None:
        self.settled.append(outcome)

    @property
    def texts(self) -> list[str]:
        return ["".join(part.text or "" for part in parts) for parts, _ in self.said]


def turn(*parts: Part, caller: Caller = ANONYMOUS) -> Turn:
    unused: Any = None
    log = logging.LoggerAdapter(logging.getLogger("test.plugin"))
    return Turn(
        message=Message("m1", "user", parts or (Part(text="hi"),), datetime(2026, 3, 4, tzinfo=UTC), {"a": 1}),
        task_id="t1",
        context_id="c1",
        tenant="shop",
        caller=caller,
        metadata={"a": 1, "deep": {"b": [1.5, None]}},
        attempt=1,
        session=unused,
        plugin=PluginContext("plugin", "shop", log, http=None),
        workspace=None,
        capabilities=None,
        outlet=unused,
    )


async def run(work: Work, of: Turn | None = None) -> tuple[Outcome, Heard]:
    heard = Heard()
    outcome = await runner_from_executor(Agent("shop", Executor(work)))(of or turn(), heard)
    return outcome, heard


def message(text: str, message_id: str = "own-id") -> pb.Message:
    return pb.Message(message_id=message_id, role=pb.ROLE_AGENT, parts=[pb.Part(text=text)])


def status(state: pb.TaskState, text: str = "", task_id: str = "t1") -> pb.TaskStatusUpdateEvent:
    said = message(text) if text else None
    return pb.TaskStatusUpdateEvent(task_id=task_id, context_id="c1", status=pb.TaskStatus(state=state, message=said))


def enqueue(*events: Any) -> Work:
    async def work(_: RequestContext, queue: EventQueue, __: TaskUpdater) -> None:
        for event in events:
            await queue.enqueue_event(event)

    return work


def text(state: State, said: str) -> Outcome:
    return Outcome(state, (Part(text=said),))


async def test_an_executor_written_as_the_sdk_teaches_runs_unchanged() -> None:
    async def work(context: RequestContext, queue: EventQueue, task: TaskUpdater) -> None:
        assert context.message is not None
        await queue.enqueue_event(context.current_task or new_task_from_user_message(context.message))
        await task.start_work()
        await task.start_work(task.new_agent_message([pb.Part(text="looking")]))
        await task.add_artifact([pb.Part(text="one")], artifact_id="a", name="list", last_chunk=False)
        await task.add_artifact([pb.Part(text="two")], artifact_id="a", append=True, last_chunk=True)
        await task.complete(task.new_agent_message([pb.Part(text=f"said {context.get_user_input()}")]))

    outcome, heard = await run(work)
    assert outcome == text(State.COMPLETED, "said hi")
    assert heard.texts == ["looking"]
    assert heard.pieces == [
        ArtifactPiece("a", (Part(text="one"),), "list", last=False),
        ArtifactPiece("a", (Part(text="two"),), append=True, last=True),
    ]


async def test_the_executor_finds_the_turn_in_its_context() -> None:
    seen: list[RequestContext] = []

    async def work(context: RequestContext, _: EventQueue, task: TaskUpdater) -> None:
        seen.append(context)
        await task.complete()

    parts = (
        Part(text="é"),
        Part(data={"k": [1, None]}),
        Part(raw=b"\x00\xff", filename="f"),
        Part(url="https://x.test"),
    )
    await run(work, turn(*parts, caller=Caller("key-1", "Ada")))
    (context,) = seen
    assert (context.task_id, context.context_id, context.tenant, context.current_task) == ("t1", "c1", "shop", None)
    assert context.metadata == {"a": 1, "deep": {"b": [1.5, None]}}
    assert (context.call_context.user.is_authenticated, context.call_context.user.user_name) == (True, "key-1")
    assert context.message is not None
    assert (context.message.message_id, context.message.role) == ("m1", pb.ROLE_USER)
    assert (context.message.task_id, context.message.context_id) == ("t1", "c1")
    assert [part.WhichOneof("content") for part in context.message.parts] == ["text", "data", "raw", "url"]
    assert context.message.parts[2].raw == b"\x00\xff"


async def test_nobody_is_no_authenticated_user() -> None:
    async def work(context: RequestContext, _: EventQueue, task: TaskUpdater) -> None:
        assert not context.call_context.user.is_authenticated
        await task.complete()

    assert await run(work) == (Outcome(State.COMPLETED), Heard())


@pytest.mark.parametrize(
    ("wire", "state"),
    [
        (pb.TASK_STATE_COMPLETED, State.COMPLETED),
        (pb.TASK_STATE_FAILED, State.FAILED),
        (pb.TASK_STATE_REJECTED, State.REJECTED),
        (pb.TASK_STATE_CANCELED, State.CANCELED),
        (pb.TASK_STATE_INPUT_REQUIRED, State.INPUT_REQUIRED),
    ],
)
async def test_a_settled_status_is_the_outcome_with_or_without_a_message(wire: pb.TaskState, state: State) -> None:
    assert await run(enqueue(status(wire, "so"))) == (text(state, "so"), Heard())
    assert await run(enqueue(status(wire))) == (Outcome(state), Heard())
    snapshot = pb.Task(id="t1", status=pb.TaskStatus(state=wire, message=message("so")))
    assert await run(enqueue(snapshot)) == (text(state, "so"), Heard())


async def test_a_message_alone_completes_the_turn() -> None:
    assert await run(enqueue(new_text_message("hello"))) == (text(State.COMPLETED, "hello"), Heard())


async def test_a_settled_snapshot_brings_the_artifacts_that_were_not_put_out_before() -> None:
    event = pb.TaskArtifactUpdateEvent(task_id="t1", artifact=pb.Artifact(artifact_id="a", parts=[pb.Part(text="1")]))
    snapshot = pb.Task(
        id="t1",
        status=pb.TaskStatus(state=pb.TASK_STATE_COMPLETED),
        artifacts=[event.artifact, pb.Artifact(artifact_id="b", description="d", parts=[pb.Part(text="2")])],
    )
    _, heard = await run(enqueue(event, snapshot))
    assert [(piece.artifact_id, piece.description) for piece in heard.pieces] == [("a", ""), ("b", "d")]


@pytest.mark.parametrize(
    "work",
    [
        pytest.param(enqueue(), id="nothing"),
        pytest.param(enqueue(status(pb.TASK_STATE_WORKING, "still at it")), id="working"),
        pytest.param(enqueue(pb.Task(id="t1", status=pb.TaskStatus(state=pb.TASK_STATE_SUBMITTED))), id="submitted"),
        pytest.param(enqueue(status(pb.TASK_STATE_UNSPECIFIED)), id="unspecified"),
    ],
)
async def test_an_executor_that_ends_without_a_final_status_has_failed(work: Work) -> None:
    assert (await run(work))[0] == UNSETTLED
    assert UNSETTLED.state is State.FAILED


async def test_progress_keeps_the_agents_own_message_id_and_a_bare_working_says_nothing() -> None:
    _, heard = await run(enqueue(status(pb.TASK_STATE_WORKING), status(pb.TASK_STATE_WORKING, "on it")))
    assert heard.said == [((Part(text="on it"),), "own-id")]


async def test_the_first_final_status_wins_and_what_follows_is_dropped_and_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    late = [
        status(pb.TASK_STATE_FAILED, "no"),
        status(pb.TASK_STATE_WORKING, "more"),
        pb.TaskArtifactUpdateEvent(task_id="t1", artifact=pb.Artifact(artifact_id="a")),
        message("again"),
    ]
    outcome, heard = await run(enqueue(status(pb.TASK_STATE_COMPLETED, "yes"), *late))
    assert outcome == text(State.COMPLETED, "yes")
    assert heard == Heard()
    assert [record.name for record in caplog.records] == ["test.plugin"]


async def test_a_question_ends_the_turn_and_what_follows_is_dropped() -> None:
    events = status(pb.TASK_STATE_INPUT_REQUIRED, "which?"), status(pb.TASK_STATE_COMPLETED, "thanks")
    outcome, heard = await run(enqueue(*events))
    assert outcome == text(State.INPUT_REQUIRED, "which?")
    assert (heard, heard.settled) == (Heard(), [outcome])


async def test_a_login_is_asked_for_at_once_and_the_executor_may_go_on() -> None:
    asks = status(pb.TASK_STATE_AUTH_REQUIRED, "log in")
    outcome, heard = await run(enqueue(asks, status(pb.TASK_STATE_COMPLETED, "thanks")))
    assert outcome == text(State.COMPLETED, "thanks")
    assert heard.said == [((Part(text="log in"),), "own-id")]
    outcome, heard = await run(enqueue(asks))
    assert (outcome, heard.settled) == (text(State.AUTH_REQUIRED, "log in"), [])


@pytest.mark.parametrize(
    "event", [status(pb.TASK_STATE_COMPLETED, "so"), status(pb.TASK_STATE_INPUT_REQUIRED, "so"), message("so")]
)
async def test_the_turn_is_settled_while_execute_goes_on(event: Any) -> None:
    async def work(_: RequestContext, queue: EventQueue, __: TaskUpdater) -> None:
        await queue.enqueue_event(event)
        assert len(heard.settled) == 1
        reached.set()
        await asyncio.Event().wait()

    reached, heard, executor = asyncio.Event(), Heard(), Executor(work)
    assert (await canceled(executor, reached, heard)).result() == heard.settled[0]
    assert executor.canceled == 0


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(status(pb.TASK_STATE_WORKING), id="bare working"),
        pytest.param(status(pb.TASK_STATE_UNSPECIFIED), id="no state"),
        pytest.param(pb.Task(id="t1"), id="snapshot"),
        pytest.param(status(pb.TASK_STATE_WORKING, task_id="t2"), id="of another task"),
    ],
)
async def test_an_executor_that_says_nothing_for_ever_lets_others_run(event: Any) -> None:
    async def work(_: RequestContext, queue: EventQueue, __: TaskUpdater) -> None:
        while True:
            await queue.enqueue_event(event)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await run(work)


async def test_an_executor_that_speaks_for_ever_after_the_final_status_keeps_no_core_busy() -> None:
    spoken = 0

    async def work(_: RequestContext, queue: EventQueue, task: TaskUpdater) -> None:
        nonlocal spoken
        await task.complete()
        while True:
            await queue.enqueue_event(status(pb.TASK_STATE_WORKING, "more"))
            spoken += 1

    async with asyncio.timeout(5):
        running = asyncio.ensure_future(run(work))
        await asyncio.wait((running,), timeout=0.35)
        running.cancel()
        assert (await running)[0] == Outcome(State.COMPLETED)
    assert 1 <= spoken <= 5


async def test_events_of_another_task_are_dropped(caplog: pytest.LogCaptureFixture) -> None:
    other = [
        status(pb.TASK_STATE_COMPLETED, "not mine", task_id="t2"),
        pb.Task(id="t3", status=pb.TaskStatus(state=pb.TASK_STATE_FAILED)),
        pb.TaskArtifactUpdateEvent(task_id="t2", artifact=pb.Artifact(artifact_id="a")),
        pb.Message(task_id="t2", message_id="m", parts=[pb.Part(text="x")]),
    ]
    outcome, heard = await run(enqueue(*other, status(pb.TASK_STATE_COMPLETED, "mine")))
    assert outcome == text(State.COMPLETED, "mine")
    assert heard == Heard()
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    ("event", "error"),
    [
        (pb.Message(message_id="m", parts=[pb.Part()]), ValueError),
        (pb.Message(message_id="m", parts=[pb.Part(data={"number_value": float("nan")})]), ValueError),
        (pb.TaskArtifactUpdateEvent(task_id="t1", artifact=pb.Artifact(parts=[pb.Part(text="x")])), ValueError),
        ("text", TypeError),
        (pb.StreamResponse(), TypeError),
    ],
)
async def test_what_cannot_be_sent_is_refused_to_the_executors_face(event: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        await run(enqueue(event))


async def test_what_execute_raises_is_raised() -> None:
    async def work(_: RequestContext, __: EventQueue, task: TaskUpdater) -> None:
        await task.start_work()
        raise LookupError("broken")

    with pytest.raises(LookupError, match="broken"):
        await run(work)


async def test_a_raise_after_the_final_status_is_logged_and_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def work(_: RequestContext, __: EventQueue, task: TaskUpdater) -> None:
        await task.complete()
        await task.complete()  # the SDK's updater raises here

    assert (await run(work))[0] == Outcome(State.COMPLETED)
    assert "raised after it had settled its turn" in caplog.text


async def canceled(executor: Executor, reached: asyncio.Event, heard: Heard) -> asyncio.Task[Outcome]:
    """Run until ``reached``, cancel, and wait for the end."""
    running = asyncio.ensure_future(runner_from_executor(Agent("shop", executor))(turn(), heard))
    await reached.wait()
    running.cancel()
    await asyncio.wait((running,))
    return running


async def test_a_cancel_reaches_execute_then_the_executors_cancel_once_and_its_events_are_dropped() -> None:
    reached, stopped = asyncio.Event(), asyncio.Event()

    async def work(_: RequestContext, __: EventQueue, ___: TaskUpdater) -> None:
        reached.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    async def cancel(context: RequestContext, _: EventQueue, task: TaskUpdater) -> None:
        assert stopped.is_set()
        assert context.task_id == "t1"
        await task.add_artifact([pb.Part(text="late")])
        await task.cancel()

    executor, heard = Executor(work, cancel), Heard()
    running = await canceled(executor, reached, heard)
    assert running.cancelled()
    assert executor.canceled == 1
    assert heard == Heard()


async def test_a_cancel_that_raises_is_logged_and_the_run_is_canceled_all_the_same(
    caplog: pytest.LogCaptureFixture,
) -> None:
    reached = asyncio.Event()

    async def work(_: RequestContext, __: EventQueue, ___: TaskUpdater) -> None:
        reached.set()
        await asyncio.Event().wait()

    async def cancel(_: RequestContext, __: EventQueue, ___: TaskUpdater) -> None:
        raise NotImplementedError("cancel not supported")

    assert (await canceled(Executor(work, cancel), reached, Heard())).cancelled()
    assert "the executor's cancel raised" in caplog.text


async def test_a_cancel_after_the_final_status_leaves_that_status() -> None:
    reached = asyncio.Event()

    async def work(_: RequestContext, __: EventQueue, task: TaskUpdater) -> None:
        await task.complete()
        reached.set()
        await asyncio.Event().wait()

    executor = Executor(work)
    assert (await canceled(executor, reached, Heard())).result() == Outcome(State.COMPLETED)
    assert executor.canceled == 0


def test_the_sdks_server_is_not_imported_before_an_executor_is_served() -> None:
    script = "import sys, innkeeper.edge.executor; sys.exit(any(name.startswith('a2a.server') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
