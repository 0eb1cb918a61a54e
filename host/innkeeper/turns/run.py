"""One attempt at one turn: claim, gates, handler, ending."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Final

from anyio import to_thread

from innkeeper.contract.errors import Unavailable
from innkeeper.contract.turn import Outlet, Turn
from innkeeper.ports.events import INTERRUPTED, Event, State, Status
from innkeeper.ports.running import Outcome, Runner
from innkeeper.ports.store import Choice, Ending, TaskView, TurnRecord
from innkeeper.registry.fanout import HookFailed
from innkeeper.registry.foreign import Foreign
from innkeeper.registry.tenants import Tenant
from innkeeper.turns.building import build_turn
from innkeeper.turns.endings import closing, failed, timed_out, whole_task
from innkeeper.turns.means import Means
from innkeeper.turns.mute import Mute
from innkeeper.turns.outlet import TurnOutlet, status_event
from innkeeper.turns.overrides import OverrideRefused, Overrides, overrides_from_metadata
from innkeeper.turns.patience import Patience, Stop
from innkeeper.turns.plugins import TurnPlugins
from innkeeper.turns.steering import Waiting
from innkeeper.turns.submission import nobody

log = logging.getLogger(__name__)

UNSTORED_TEXT: Final = "What the agent said could not be stored"


class Run:
    """One attempt at a turn. ``execute`` runs it to its end; ``stop`` may be called at any time, from the same loop.

    ``stuck`` is told, each time, that the store cannot take what ends or begins the turn. ``waiting`` is what an agent
    that steers may take up, ``activated`` is told the extensions that the turn follows.
    """

    def __init__(
        self,
        means: Means,
        tenant: Tenant,
        runner: Runner,
        record: TurnRecord,
        *,
        stuck: Callable[[str, Unavailable], None],
        waiting: Waiting | None = None,
        activated: Callable[[str], None] = nobody,
    ) -> None:
        self.record = record
        self._means = means
        self._tenant = tenant
        self._runner = runner
        self._attempt = record.attempt + 1
        self._chosen: Choice | None = None
        self._stop: asyncio.Future[Stop] = asyncio.get_running_loop().create_future()
        self._patience = Patience(self._stop, partial(stuck, record.task_id))
        self._plugins = TurnPlugins(means, tenant, record, attempt=self._attempt)
        self._name = f"agent {tenant.agent.id} of plugin {tenant.plugin.name} at tenant {tenant.id}"
        self._outlet = TurnOutlet(
            means, record, attempt=self._attempt, speaker=self._name, waiting=waiting, activated=activated
        )

    def stop(self, why: Stop) -> None:
        """Stop the run; the first reason counts."""
        if not self._stop.done():
            self._stop.set_result(why)

    async def execute(self) -> None:
        """Run the attempt to its end; only a host that stops while its store takes nothing leaves it unfinished."""
        try:
            try:
                await self._run()
            except Unavailable:
                raise
            except Exception as error:  # noqa: BLE001 - a turn that is out must end, or its session would wait for ever
                outcome = self._failed("the host could not finish its turn", error)
                ending = self._closing(outcome)
                for attempt in (self._attempt, self.record.attempt):  # the latter where the claim itself has failed
                    if await self._patience.stored(partial(self._means.store.end, self.record, attempt, ending)):
                        break
        except Unavailable:
            log.warning("task %s: its turn is left to the next start", self.record.task_id)

    async def _run(self) -> None:
        try:
            overrides = self._overrides()
        except OverrideRefused as refused:
            if await self._patience.stored(self._claim):
                await self._end(self._closing(failed(str(refused))))
            return
        gated = self.record.gated or not self._plugins.have_gates
        if gated and overrides is None:
            if choice := await self._patience.stored(self._start):
                await self._handle(self._turn(self._outlet, choice))
        elif choice := await self._patience.stored(self._claim):
            await self._choose(choice, overrides, gated=gated)

    async def _choose(self, before: Choice, overrides: Overrides | None, *, gated: bool) -> None:
        choice = before
        if overrides is not None:
            opened = await self._patience.stored(lambda: self._means.store.begun_before(self.record))
            try:
                choice = overrides.applied_to(before, self._tenant.agent.presets, opened=opened)
            except OverrideRefused as refused:
                await self._end(self._closing(failed(str(refused))))
                return
            self._chosen = choice
        if not gated:
            await self._judge(choice)
        elif await self._patience.stored(self._begin):
            await self._handle(self._turn(self._outlet, choice))

    def _overrides(self) -> Overrides | None:
        return overrides_from_metadata(self.record.metadata) if self._tenant.allow_overrides else None

    def _claim(self) -> Awaitable[Choice | None]:
        return self._means.store.claim(self.record, self._means.holder)

    def _begin(self) -> Awaitable[bool]:
        return self._means.store.begin(self.record, self._attempt, self._working(), self._chosen)

    def _start(self) -> Awaitable[Choice | None]:
        return self._means.store.start(self.record, self._means.holder, self._working())

    def _working(self) -> Event:
        return status_event(self._means.codec, Status(State.WORKING, self._means.world.now_us()), self.record)

    async def _judge(self, choice: Choice) -> None:
        turn = self._turn(Mute(), choice)
        history = await self._patience.stored(turn.session.history)
        gates = asyncio.ensure_future(self._plugins.judge(turn, history))
        try:
            await asyncio.wait((gates, self._stop), return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not gates.done():
                gates.cancel()
                await asyncio.wait((gates,))
        if self._stop.done():
            await self._put_back()
        elif not gates.result().agreed:
            await self._end(await self._declined(gates.result().declined_by))
        elif await self._patience.stored(self._begin):
            await self._handle(self._turn(self._outlet, choice))  # a new one: gates may have changed theirs

    def _turn(self, outlet: Outlet, choice: Choice) -> Turn:
        of = (self._means, self._tenant, self.record, self._plugins)
        return build_turn(*of, outlet=outlet, choice=choice, attempt=self._attempt)

    async def _declined(self, by: tuple[str, ...]) -> Ending:
        """End without a word, and with a note of who declined; a question that waits for its answer goes on waiting."""
        log.info("task %s: declined by %s", self.record.task_id, ", ".join(by))
        note = Event("declined", self._means.world.now_us(), data={"by": list(by)})
        view = await self._view()
        if view is not None and view.task.state in INTERRUPTED:
            return Ending(lambda _: note)
        closed = closing(self._means, self.record, Outcome(State.COMPLETED), more=False)
        return Ending(lambda more: note if more or closed is None else replace(closed, kind=note.kind, data=note.data))

    async def _handle(self, turn: Turn) -> None:
        if self._stop.done():  # it came while the attempt was begun on disk: the handler has done nothing yet
            await self._put_back()
            return
        limit = self._tenant.turn_timeout
        foreign: Foreign[Outcome] = Foreign(
            lambda: self._agent(turn),
            name=f"{self._name}: task {self.record.task_id}",
            strays=self._means.strays,
            kind=self._name,
        )
        settled, grace = self._outlet.settled, self._means.cancel_grace.total_seconds()
        try:
            await asyncio.wait(
                (foreign.task, self._stop, settled),
                timeout=limit.total_seconds(),
                return_when=asyncio.FIRST_COMPLETED,
            )
            if settled.done() or foreign.task.done():
                await self._finish(self._outcome(foreign))
                if not foreign.task.done():  # what comes after the last word may be tidying up
                    await asyncio.wait((foreign.task, self._stop), timeout=grace, return_when=asyncio.FIRST_COMPLETED)
            elif self._stop.done():
                await self._stopped(foreign)
            else:
                foreign.cancel()
                await self._finish(timed_out(limit))
        finally:
            await foreign.stop(grace)

    async def _agent(self, turn: Turn) -> Outcome:
        equipped = await self._plugins.equipped(turn)
        outcome = await self._runner(equipped, self._outlet)
        if self._tenant.agent.steers and outcome.state is State.COMPLETED:
            await self._plugins.stopping(equipped)
        return outcome

    async def _stopped(self, foreign: Foreign[Outcome]) -> None:
        await foreign.stop(self._means.cancel_grace.total_seconds())
        if self._outlet.settled.done() or foreign.finished:
            await self._finish(self._outcome(foreign))  # it made use of the grace; after a cancel the store drops this
            return
        await self._drain()
        if self._tenant.agent.resumable:
            await self._put_back()
        elif self._stop.result() is Stop.SHUTDOWN:
            log.info("task %s: cut short; its agent does not resume, so the next start fails it", self.record.task_id)

    async def _put_back(self) -> None:
        """Leave the turn to the next start of the host; a canceled one is gone from the store already."""
        if self._stop.result() is Stop.SHUTDOWN:
            log.info("task %s: put back; its turn runs again after the next start", self.record.task_id)
            await self._means.store.release(self.record, count_attempt=False)

    async def _drain(self) -> bool:
        try:
            await self._outlet.close()
        except Exception as error:
            said = "task %s: not everything the agent said could be stored: %r"
            shown = self._means.strays.secrets.kept_from(error)
            log.log(logging.ERROR, said, self.record.task_id, shown, exc_info=_unforeseen(error) and shown)
            return False
        return True

    def _outcome(self, foreign: Foreign[Outcome]) -> Outcome:
        if self._outlet.settled.done():
            return self._outlet.settled.result()
        try:
            return foreign.result()
        except HookFailed as error:
            return self._failed("a plugin that it needs is at fault", error)
        except Exception as error:  # noqa: BLE001 - agents raise anything; it is logged under the id that the caller gets
            return self._failed("it raised", error)

    def _failed(self, why: str, error: Exception) -> Outcome:
        """Log the error under an id, and tell the caller the id."""
        error_id = self._means.world.new_id()
        secrets = self._means.strays.secrets
        log.error(
            "task %s: %s failed, %s (error %s): %s",
            self.record.task_id,
            self._name,
            why,
            error_id,
            secrets.described(error),
            exc_info=_unforeseen(error) and secrets.kept_from(error),
        )
        return failed(f"The agent failed (error {error_id})")

    async def _finish(self, outcome: Outcome) -> None:
        if not await self._drain():
            outcome = failed(UNSTORED_TEXT)
        try:
            last = closing(self._means, self.record, outcome, more=False)
        except (TypeError, ValueError) as error:  # what an agent says may be what JSON cannot carry
            outcome = self._failed("what it said cannot be sent", error)
            last = closing(self._means, self.record, outcome, more=False)
        artifacts = await self._artifacts()
        knows_all = self._outlet.pieces is not None and not self._tenant.agent.steers
        whole = whole_task(self.record, last, artifacts) if knows_all and last is not None else None
        await self._end(
            Ending(
                lambda more: closing(self._means, self.record, outcome, more=True) if more else last, artifacts, whole
            )
        )

    def _closing(self, outcome: Outcome) -> Ending:
        return Ending(lambda more: closing(self._means, self.record, outcome, more=more))

    async def _end(self, ending: Ending) -> None:
        if not await self._patience.stored(lambda: self._means.store.end(self.record, self._attempt, ending)):
            log.info("task %s: ended elsewhere while its turn ran", self.record.task_id)

    async def _artifacts(self) -> bytes | None:
        """Fold what the task has put out; None if there is nothing to add to what is folded."""
        codec, pieces = self._means.codec, self._outlet.pieces
        if pieces is not None:
            return codec.fold_artifacts(b"[]", pieces) if pieces else None
        view = await self._view()
        if view is None or not view.pieces:
            return None
        return await to_thread.run_sync(codec.fold_artifacts, view.artifacts, view.pieces)

    async def _view(self) -> TaskView | None:
        own = self._means.store.own_tasks(self.record.tenant, self.record.caller.key)
        return await self._patience.stored(lambda: own.find(self.record.task_id, history_length=0))


def _unforeseen(error: Exception) -> Exception | None:
    """Return what deserves a traceback: neither a store that takes nothing nor a plugin, which are told of already."""
    return None if isinstance(error, Unavailable | HookFailed) else error
