"""The one way in for messages, and the owner of every running turn."""

import asyncio
import logging
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

import anyio

from innkeeper.contract.agent import Agent
from innkeeper.contract.caller import Caller
from innkeeper.contract.errors import TaskNotFound, Unavailable
from innkeeper.contract.session import Session
from innkeeper.ports.events import Committed, Event, State, Status
from innkeeper.ports.running import Runner
from innkeeper.ports.store import Admission, Admitted, OwnTasks, TaskView, TurnRecord
from innkeeper.registry.tenants import Tenant
from innkeeper.turns.bus import Bus, Watch
from innkeeper.turns.endings import interrupted
from innkeeper.turns.lanes import Lanes
from innkeeper.turns.means import Means
from innkeeper.turns.patience import Stop
from innkeeper.turns.plugins import turn_event
from innkeeper.turns.run import Run
from innkeeper.turns.session import EVERY_TURN, TurnSession
from innkeeper.turns.steering import Waiting
from innkeeper.turns.submission import Submission, admission_from_submission, nobody

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Live:
    """A task with accepted turns that have not ended: how many, and in which session."""

    session_id: str
    turns: int = 0


class Engine:
    """Admits messages, runs their turns, cancels and recovers them.

    ``max_attempts`` is how often a turn may be begun, ``max_concurrent_turns`` how many turns of the host may run at
    once. ``published`` must be the event sink of the store, and ``start`` have returned before the first message.
    """

    def __init__(
        self,
        means: Means,
        tenants: Mapping[str, Tenant],
        runner_for: Callable[[Agent], Runner],
        *,
        max_attempts: int,
        max_concurrent_turns: int,
    ) -> None:
        self._means = means
        self._tenants = tenants
        self._runners = {tenant.id: runner_for(tenant.agent) for tenant in tenants.values()}
        self._max_attempts = max_attempts
        self._lanes = Lanes(max_concurrent_turns, lambda tenant: tenants[tenant].max_concurrent_turns)
        self._bus = Bus(means.store.events_after)
        self._live: dict[str, _Live] = {}
        self._runs: dict[int, Run] = {}
        self._activated: dict[int, Callable[[str], None]] = {}
        self._arriving: dict[str, int] = dict.fromkeys(tenants, 0)
        self._tasks: set[asyncio.Task[None]] = set()
        self._started = False
        self._idle = asyncio.Event()
        self._idle.set()
        self.stopping = False

    @property
    def open_watches(self) -> int:
        """How many streams listen."""
        return self._bus.open_watches

    @property
    def running_turns(self) -> int:
        """How many turns are out."""
        return len(self._runs)

    # --- start and stop -------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Take up what a former run of the host left unfinished."""
        self._started = True
        for turn in await self._means.store.unfinished():
            tenant = self._tenants.get(turn.tenant)
            if tenant is None:
                log.warning("task %s: its tenant %s is not served; left as it is", turn.task_id, turn.tenant)
            elif turn.attempt >= self._max_attempts or (turn.running and not tenant.agent.resumable):
                log.warning("task %s: cut short and not run again", turn.task_id)
                await self._means.store.end(turn, turn.attempt, interrupted(self._means, turn))
            else:
                log.info("task %s: taken up where the last run of the host left it", turn.task_id)
                await self._means.store.release(turn, count_attempt=True)
        for turn in await self._means.store.unfinished():  # with what those that were cut short had taken
            if turn.tenant in self._tenants:
                self._accept(turn)

    async def stop(self, grace: timedelta, hurry: asyncio.Event) -> None:
        """Take no more, give running turns ``grace`` to end, put back the rest, and end every stream.

        ``hurry`` may be set to cut the grace short. Stopping twice is once.
        """
        self.stopping = True
        with anyio.move_on_after(grace.total_seconds()):
            async with anyio.create_task_group() as waiting:
                waiting.start_soon(_cancel_after, self._idle, waiting.cancel_scope)
                waiting.start_soon(_cancel_after, hurry, waiting.cancel_scope)
        for run in self._runs.values():
            run.stop(Stop.SHUTDOWN)
        await self._idle.wait()
        self._bus.close()

    async def close(self) -> None:
        """Stop at once, unless that has been done, and end every task of the engine's own."""
        hurry = asyncio.Event()
        hurry.set()
        await self.stop(timedelta(0), hurry)
        if self._tasks:
            await asyncio.wait(self._tasks)

    # --- messages -------------------------------------------------------------------------------------------------

    def find_tenant(self, tenant_id: str) -> Tenant | None:
        """Return the tenant of that id, compared exactly."""
        return self._tenants.get(tenant_id)

    async def submit(self, tenant: Tenant, caller: Caller, submission: Submission) -> Admitted:
        """Accept a message; on return it is on disk and its turn is queued.

        Raises:
            Unavailable: the host is stopping, too many turns wait, or the message cannot be stored.
            TaskNotFound, UnsupportedOperation, InvalidParams: as ``Store.admit`` says.
        """
        admission = admission_from_submission(self._means, tenant, caller, submission)
        return await self._admit(tenant, admission, partial(self._accepted, submission))

    async def submit_and_watch(self, tenant: Tenant, caller: Caller, submission: Submission) -> tuple[Admitted, Watch]:
        """Accept a message and watch its task; no event of the new turn is missed. Raises what ``submit`` raises."""
        admission = admission_from_submission(self._means, tenant, caller, submission)
        watches = [self._bus.watch(admission.new_task_id, from_start=True)]

        def accepted(admitted: Admitted) -> None:
            if admitted.task.id != admission.new_task_id:
                watches.append(self._bus.watch(admitted.task.id))
            self._accepted(submission, admitted)

        try:
            admitted = await self._admit(tenant, admission, accepted)
        except BaseException:
            for watch in watches:
                watch.close()
            raise
        for stale in watches[:-1]:
            stale.close()
        if admitted.task.id not in self._live:
            watches[-1].finish()
        return admitted, watches[-1]

    async def until_settled(self, task_id: str) -> TaskView | None:
        """Wait until the task settles or has no accepted turn left; answer it as it stands then, where that is known.

        Raises:
            Unavailable: the host stops first.
        """
        return await self._bus.until_settled(task_id) if task_id in self._live else None

    def watch(self, task_id: str) -> Watch:
        """Watch a task from here on until it ends, also while it waits for its caller."""
        return self._bus.watch(task_id, lasting=True)

    def own_tasks(self, tenant_id: str, caller_key: str) -> OwnTasks:
        """Return the tasks of one caller at one tenant."""
        return self._means.store.own_tasks(tenant_id, caller_key)

    def session(self, session_id: str, tenant_id: str, caller: Caller, context_id: str) -> Session:
        """Return a session as it stands, with every message that has been accepted."""
        return TurnSession(session_id, tenant_id, caller, context_id, EVERY_TURN, self._means)

    async def cancel(self, tenant_id: str, caller: Caller, task_id: str) -> None:
        """Cancel a task; on return it is canceled on disk, whatever its agent still does.

        Raises:
            TaskNotFound: the caller has no such task at this tenant.
            TaskNotCancelable: the task has ended in another way.
        """
        own = self.own_tasks(tenant_id, caller.key)
        view = await own.find(task_id, history_length=0, artifacts=False)
        if view is None:
            raise TaskNotFound
        codec, now = self._means.codec, self._means.world.now_us()
        status = codec.status(Status(State.CANCELED, now), task_id, view.task.context_id)
        body = codec.status_update(status, task_id, view.task.context_id)
        await own.cancel(task_id, Event("status", now, body, State.CANCELED, status))

    def published(self, committed: Committed) -> None:
        """Pass on an event that is on disk; one that cancels a task stops its turns."""
        self._bus.publish(committed)
        self._tell_plugins(committed)
        if committed.state is State.CANCELED and (live := self._live.get(committed.task_id)):
            for turn in self._lanes.withdraw(live.session_id, lambda waiting: waiting.task_id == committed.task_id):
                self._ended(turn)
            for run in self._runs.values():
                if run.record.task_id == committed.task_id:
                    run.stop(Stop.CANCELED)

    def _tell_plugins(self, committed: Committed) -> None:
        source = committed.source
        tenant = self._tenants.get(source.tenant) if source else None
        if source and tenant and tenant.hooks.has("on_turn_event"):
            tenant.hooks.on_turn_event(turn_event(committed, source))

    # --- turns ----------------------------------------------------------------------------------------------------

    async def _admit(self, tenant: Tenant, admission: Admission, then: Callable[[Admitted], None]) -> Admitted:
        if self.stopping or not self._started:
            raise Unavailable("The host is stopping")
        if self._lanes.waiting(tenant.id) + self._arriving[tenant.id] >= tenant.queue_per_tenant:
            raise Unavailable("Too many messages wait for this agent")
        self._arriving[tenant.id] += 1
        try:
            return await self._means.store.admit(admission, then)
        finally:
            self._arriving[tenant.id] -= 1

    def _accepted(self, submission: Submission, admitted: Admitted) -> None:
        if admitted.turn is not None:
            if admitted.turn.extensions:
                self._activated[admitted.turn.id] = submission.activated
            self._accept(admitted.turn)

    def _accept(self, turn: TurnRecord) -> None:
        self._live.setdefault(turn.task_id, _Live(turn.session_id)).turns += 1
        self._lanes.push(turn)
        self._go_on()

    def _go_on(self) -> None:
        while not self.stopping and self._started and (turn := self._lanes.take()):
            run = Run(
                self._means,
                self._tenants[turn.tenant],
                self._runners[turn.tenant],
                turn,
                stuck=self._bus.refuse,
                waiting=self._waiting_behind(turn),
                activated=self._activated.get(turn.id, nobody),
            )
            self._runs[turn.id] = run
            self._idle.clear()
            task = asyncio.create_task(self._execute(run), name=f"turn {turn.id} of {turn.tenant}")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _waiting_behind(self, turn: TurnRecord) -> Waiting | None:
        tenant = self._tenants[turn.tenant]
        if not tenant.agent.steers:
            return None
        return Waiting(tenant.queue_per_session, partial(self._withdraw, turn.session_id), self._accept)

    def _withdraw(self, session_id: str, turns: Container[int]) -> None:
        for turn in self._lanes.withdraw(session_id, lambda waiting: waiting.id in turns):
            self._ended(turn)

    async def _execute(self, run: Run) -> None:
        try:
            await run.execute()
        except asyncio.CancelledError:
            raise
        except BaseException:
            # The last barrier: what is raised here would end every other turn of the host along with this one.
            log.exception("task %s: its turn is left to the next start", run.record.task_id)
        finally:
            del self._runs[run.record.id]
            self._lanes.free(run.record)
            self._ended(run.record)
            self._go_on()
            if not self._runs:
                self._idle.set()

    def _ended(self, turn: TurnRecord) -> None:
        self._activated.pop(turn.id, None)
        live = self._live[turn.task_id]
        live.turns -= 1
        if not live.turns:
            del self._live[turn.task_id]
            if not self.stopping:  # a turn that is put back has not ended: those who wait for it are told so
                self._bus.end(turn.task_id)


async def _cancel_after(event: asyncio.Event, scope: anyio.CancelScope) -> None:
    await event.wait()
    scope.cancel()
