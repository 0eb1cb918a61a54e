"""Agents written against the SDK, served as they are: an ``AgentExecutor`` becomes a runner of turns."""

import asyncio
from typing import TYPE_CHECKING, Final, final

from a2a.types import a2a_pb2

from innkeeper.contract.agent import Agent, is_executor
from innkeeper.contract.message import Part
from innkeeper.contract.turn import Turn
from innkeeper.edge.wire import part_from_proto, state_from_proto
from innkeeper.ports.events import SETTLED, ArtifactPiece, State
from innkeeper.ports.running import Outcome, Runner, RunOutlet
from innkeeper.turns.outlet import DEAF_SECONDS
from innkeeper.turns.runners import runner_from_handler

if TYPE_CHECKING:
    from innkeeper.edge.sdk_agents import Event

UNSETTLED: Final = Outcome(
    State.FAILED, (Part(text="The agent ended without a final status", media_type="text/plain"),)
)


def runner_from_agent(agent: Agent) -> Runner:
    """Make an agent runnable, whatever its handler is."""
    return runner_from_executor(agent) if is_executor(agent.handler) else runner_from_handler(agent)


def runner_from_executor(agent: Agent) -> Runner:
    """Make an agent runnable whose handler is an ``AgentExecutor`` instance.

    What the executor enqueues is put out at once. The first terminal or input-required status settles the turn there
    and then, whether ``execute`` returns or not, and so does a message on its own, which completes it. An executor that
    asks for a login is told at once and may go on; the task is auth-required once it returns. One that returns without
    any of these has failed. Canceling a run cancels ``execute`` and, unless the turn was settled by then,
    calls the executor's ``cancel`` once.
    """
    from innkeeper.edge.sdk_agents import TurnQueue, request_context  # noqa: PLC0415 - it imports the SDK's server

    executor = agent.handler
    if not is_executor(executor):
        raise TypeError(f"agent {agent.id!r}: its handler is no executor")

    async def run(turn: Turn, outlet: RunOutlet) -> Outcome:
        hearing = Hearing(turn, outlet)
        queue = TurnQueue(hearing.hear)
        context = request_context(turn, await outlet.earlier())
        try:
            await executor.execute(context, queue)
        except asyncio.CancelledError:
            if hearing.settled is not None:
                return hearing.settled
            hearing.closed = True
            try:
                await executor.cancel(context, queue)
            except Exception:
                turn.plugin.log.exception("task %s: the executor's cancel raised", turn.task_id)
            raise
        except Exception:
            if hearing.settled is None:
                raise
            turn.plugin.log.exception("task %s: the executor raised after it had settled its turn", turn.task_id)
        return hearing.settled or hearing.asked or UNSETTLED

    return run


@final
class Hearing:
    """What one run of an executor has said so far.

    ``settled`` is how the turn ends. Once settled or ``closed`` the executor is not heard any more. ``asked`` is how it
    ends if the executor returns without settling it: a login is asked for, and may arrive while the executor waits.
    """

    def __init__(self, turn: Turn, outlet: RunOutlet) -> None:
        self._turn = turn
        self._outlet = outlet
        self._put_out: set[str] = set()
        self._warned: set[str] = set()
        self.settled: Outcome | None = None
        self.asked: Outcome | None = None
        self.closed = False
        self._pause = 0.0

    async def hear(self, event: "Event") -> None:
        """Take an event.

        Raises:
            ValueError: a part of it holds nothing, or what JSON cannot carry; an artifact has no id.
            TypeError: it is none of the four events that the SDK knows.
        """
        pause = 0.0
        if self.closed or self.settled is not None:
            pause, self._pause = self._pause, DEAF_SECONDS
            if self.settled is not None:
                self._warn("the executor speaks on after the final status; dropped")
        elif _task_of(event) not in {"", self._turn.task_id}:
            self._warn("an event of another task was dropped")
        else:
            await self._take(event)
        await asyncio.sleep(pause)  # an executor in a loop must let others run, and once it is deaf keep no core busy

    async def _take(self, event: "Event") -> None:
        match event:
            case a2a_pb2.Message():
                self._settle(Outcome(State.COMPLETED, _parts(event)))
            case a2a_pb2.Task():
                await self._snapshot(event)
            case a2a_pb2.TaskStatusUpdateEvent():
                await self._status(event.status)
            case a2a_pb2.TaskArtifactUpdateEvent():
                await self._artifact(event.artifact, append=event.append, last=event.last_chunk)
            case _:
                raise TypeError(f"an event queue takes Message, Task and the two update events, not {event!r}")

    async def _snapshot(self, task: a2a_pb2.Task) -> None:
        """Take a settled task as its artifacts and status; any other only says what the host knows already."""
        if state_from_proto(task.status.state) not in SETTLED:
            return
        for artifact in task.artifacts:
            if artifact.artifact_id not in self._put_out:
                await self._artifact(artifact, append=False, last=True)
        await self._status(task.status)

    async def _status(self, status: a2a_pb2.TaskStatus) -> None:
        state = state_from_proto(status.state)
        parts = _parts(status.message)
        if state is None:
            self._warn("a status without a state was dropped")
            return
        if state in SETTLED - {State.AUTH_REQUIRED}:
            self._settle(Outcome(state, parts))
            return
        if state is State.AUTH_REQUIRED:
            self.asked = Outcome(state, parts)
        if parts:
            await self._outlet.put_progress(parts, status.message.message_id or None)

    def _settle(self, outcome: Outcome) -> None:
        self.settled = outcome
        self._outlet.settle(outcome)

    async def _artifact(self, artifact: a2a_pb2.Artifact, *, append: bool, last: bool) -> None:
        if not artifact.artifact_id:
            raise ValueError("an artifact has no artifact_id")
        self._put_out.add(artifact.artifact_id)
        parts = tuple(map(part_from_proto, artifact.parts))
        piece = ArtifactPiece(artifact.artifact_id, parts, artifact.name, artifact.description, append, last)
        await self._outlet.put_artifact(piece)

    def _warn(self, reason: str) -> None:
        """Say it once a run: an executor in a loop must not fill the log."""
        if reason not in self._warned:
            self._warned.add(reason)
            self._turn.plugin.log.warning("task %s: %s", self._turn.task_id, reason)


def _parts(message: a2a_pb2.Message) -> tuple[Part, ...]:
    return tuple(map(part_from_proto, message.parts))


def _task_of(event: "Event") -> str:
    return event.id if isinstance(event, a2a_pb2.Task) else getattr(event, "task_id", "")
