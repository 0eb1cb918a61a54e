"""Foreign code: handlers and hooks run in tasks of their own, which can be left behind.

Not in a task group or cancel scope: a scope cancels again and again what swallows its cancellation, and waits for it.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar, final

import anyio

from innkeeper.registry.exits import ForeignExit, contain_exits, owned
from innkeeper.registry.strays import Strays
from innkeeper.registry.threads import run_in_thread
from innkeeper.registry.watchdog import Owner

__all__ = [
    "Finished",
    "Foreign",
    "ForeignExit",
    "Outcome",
    "Raised",
    "Strays",
    "TimedOut",
    "contain_exits",
    "run_foreign",
    "run_in_thread",
    "settle",
    "stop_all",
]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Finished(Generic[T]):
    """The code returned."""

    value: T


@dataclass(frozen=True, slots=True)
class Raised:
    """The code raised: anything, ``SystemExit`` and ``CancelledError`` included."""

    error: BaseException


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The code took longer than ``deadline`` seconds; ``left_behind`` if it was still running after the grace."""

    deadline: float
    left_behind: bool


Outcome: TypeAlias = Finished[T] | Raised | TimedOut


@final
class Foreign(Generic[T]):
    """One piece of foreign code in a task of its own. Whoever makes it waits for it or stops it.

    Where it blocks the event loop it is told of as ``name``, and counted as ``kind``: the name, unless that is of this
    one run only.

    ``work`` is an awaitable, or a function that is called inside the task and returns a value or an awaitable.
    ``task`` never raises, whatever the code does: how it went is in ``outcome``. ``left_behind`` is set once it has
    been given up.
    """

    def __init__(
        self, work: Awaitable[T] | Callable[[], Awaitable[T] | T], *, name: str, strays: Strays, kind: str = ""
    ) -> None:
        self.name = name
        self.outcome: Finished[T] | Raised | None = None
        self.left_behind = False
        self._strays = strays
        self._canceled = False
        self.task: asyncio.Task[None] = asyncio.get_running_loop().create_task(
            self._run(work, Owner(name, kind or name, strays.steps, strays.secrets)), name=name
        )
        if inspect.iscoroutine(work):
            self.task.add_done_callback(lambda _: work.close())  # it may have been canceled before its first step

    async def _run(self, work: Awaitable[T] | Callable[[], Awaitable[T] | T], owner: Owner) -> None:
        await owned(self._settle(work), owner)

    async def _settle(self, work: Awaitable[T] | Callable[[], Awaitable[T] | T]) -> None:
        try:
            value = work() if callable(work) else work
            self.outcome = Finished(await value if inspect.isawaitable(value) else value)
        except BaseException as error:  # noqa: BLE001 - a task hands SystemExit and KeyboardInterrupt to the event loop
            self.outcome = Raised(error)

    @property
    def finished(self) -> bool:
        """Whether the code has returned a value."""
        return isinstance(self.outcome, Finished)

    async def wait(self, timeout: float | None) -> bool:
        """Wait ``timeout`` seconds (None: for as long as it takes) and tell whether the code has ended."""
        if not self.task.done():
            await asyncio.wait((self.task,), timeout=timeout)
        return self.task.done()

    def cancel(self) -> None:
        """Cancel the code, once: another call does nothing."""
        if not self._canceled:
            self._canceled = True
            self.task.cancel()

    async def stop(self, grace: float) -> None:
        """Cancel the code once, give it ``grace`` seconds, and leave it behind if it is still running then."""
        await stop_all((self,), grace)

    def leave(self) -> None:
        """Leave the code behind as a stray, unless it has ended."""
        if not self.task.done():
            self.left_behind = True
            self._strays.leave(self.task, self.name)

    def result(self) -> T:
        """Return what the code returned.

        Raises:
            ForeignExit: the code raised something that is no ``Exception``, or was canceled before it began.
            asyncio.InvalidStateError: the code is still running.
            Exception: what the code raised.
        """
        if not self.task.done():
            raise asyncio.InvalidStateError(f"{self.name} is still running")
        match self.outcome:
            case Finished(value):
                return value
            case Raised(Exception() as error):
                raise error
            case Raised(error):
                raise ForeignExit(error) from error
        raise ForeignExit(asyncio.CancelledError())


async def stop_all(running: Sequence[Foreign[Any]], grace: float) -> None:
    """Cancel each once, give all of them the same ``grace`` seconds, and leave behind what is still running then.

    Holds even if this wait is itself cut short.
    """
    late = [foreign for foreign in running if not (foreign.task.done() or foreign.left_behind)]
    for foreign in late:
        foreign.cancel()
    try:
        if late:
            await asyncio.wait([foreign.task for foreign in late], timeout=grace)
    finally:
        for foreign in late:
            foreign.leave()


async def settle(running: Sequence[Foreign[T]], *, deadline: float, grace: float) -> tuple[Outcome[T], ...]:
    """Wait for all of them until ``deadline`` seconds from now, stop the rest, and say how each one went.

    When this returns or raises, each has ended or is a counted stray. A cancellation of the calling task stops them
    all and goes on its way.
    """
    try:
        if running:
            await asyncio.wait([foreign.task for foreign in running], timeout=deadline)
    except asyncio.CancelledError:
        with anyio.CancelScope(shield=True):
            await stop_all(running, grace)
        raise
    late = {foreign for foreign in running if not foreign.task.done()}
    await stop_all(running, grace)
    return tuple(
        TimedOut(deadline, left_behind=foreign.left_behind)
        if foreign in late
        else foreign.outcome or Raised(asyncio.CancelledError())
        for foreign in running
    )


async def run_foreign(
    work: Callable[[], Awaitable[T] | T], *, deadline: float, grace: float, name: str, strays: Strays
) -> Outcome[T]:
    """Run one piece of foreign code with a deadline; seconds throughout."""
    (outcome,) = await settle((Foreign(work, name=name, strays=strays),), deadline=deadline, grace=grace)
    return outcome
