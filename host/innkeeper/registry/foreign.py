"""Foreign code: handlers and hooks run in tasks of their own, which can be left behind.

Not in a task group or cancel scope: a scope cancels again and again what swallows its cancellation, and waits for it.
"""

import asyncio
import functools
import inspect
import logging
import threading
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeAlias, TypeVar, final

import anyio
import anyio.to_thread

log = logging.getLogger(__name__)

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


class ForeignExit(RuntimeError):
    """Stands in for a raise that would end the task, loop or process of whoever asks for the result."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(f"foreign code raised {error!r}")


_in_foreign_code: ContextVar[bool] = ContextVar("in foreign code", default=False)


def contain_exits(loop: asyncio.AbstractEventLoop) -> None:
    """Keep a ``SystemExit`` or ``KeyboardInterrupt`` in a task that foreign code makes from ending the event loop.

    Such a task, made while a ``Foreign`` runs, ends with ``ForeignExit`` instead. Other tasks are left as they are.
    """
    former = loop.get_task_factory()

    def make(
        loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T] | Generator[Any, None, T], **options: Any
    ) -> asyncio.Future[T]:
        def started(work: Coroutine[Any, Any, T] | Generator[Any, None, T]) -> asyncio.Future[T]:
            return asyncio.Task(work, loop=loop, **options) if former is None else former(loop, work, **options)

        if not (_in_foreign_code.get() and isinstance(work, Coroutine)):
            return started(work)
        task = started(_contained(work))
        task.add_done_callback(lambda _: work.close())  # it may have been canceled before its first step
        return task

    if getattr(former, "contains_exits", False):
        return  # another host on this loop has seen to it
    make.contains_exits = True  # type: ignore[attr-defined] # a mark of our own, for the line above
    loop.set_task_factory(make)


async def _contained(work: Coroutine[Any, Any, T]) -> T:
    try:
        return await work
    except (SystemExit, KeyboardInterrupt) as error:
        raise ForeignExit(error) from error


@final
class Strays:
    """Foreign code that ignored its cancellation and runs on; each stays listed until it ends."""

    def __init__(self) -> None:
        self._names: dict[asyncio.Future[Any], str] = {}

    def leave(self, running: asyncio.Future[Any], name: str) -> None:
        """Keep a reference to ``running`` and list it as ``name`` until it is done."""
        if not running.done():
            log.warning("%s ignores its cancellation and is left behind", name)
            self._names[running] = name
            running.add_done_callback(self._ended)

    def names(self) -> tuple[str, ...]:
        """Return who is still running, in the order in which they were left."""
        return tuple(self._names.values())

    @property
    def count(self) -> int:
        """How many are still running."""
        return len(self._names)

    def _ended(self, ended: asyncio.Future[Any]) -> None:
        self._names.pop(ended, None)
        if not ended.cancelled():
            ended.exception()  # looked at, so that asyncio does not complain


@final
class Foreign(Generic[T]):
    """One piece of foreign code in a task of its own. Whoever makes it waits for it or stops it.

    ``work`` is an awaitable, or a function that is called inside the task and returns a value or an awaitable.
    ``task`` never raises, whatever the code does: how it went is in ``outcome``. ``left_behind`` is set once it has
    been given up.
    """

    def __init__(self, work: Awaitable[T] | Callable[[], Awaitable[T] | T], *, name: str, strays: Strays) -> None:
        self.name = name
        self.outcome: Finished[T] | Raised | None = None
        self.left_behind = False
        self._strays = strays
        self._canceled = False
        self.task: asyncio.Task[None] = asyncio.get_running_loop().create_task(self._run(work), name=name)
        if inspect.iscoroutine(work):
            self.task.add_done_callback(lambda _: work.close())  # it may have been canceled before its first step

    async def _run(self, work: Awaitable[T] | Callable[[], Awaitable[T] | T]) -> None:
        _in_foreign_code.set(True)
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


class _Step(Enum):
    WAITING = "waiting"
    RUNNING = "running"
    ABANDONED = "abandoned"


async def run_in_thread(function: Callable[[], T], *, name: str, strays: Strays) -> T:
    """Run a blocking function in a worker thread; a cancellation abandons the thread and counts it as a stray.

    A function that has not begun by then is not begun any more.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()
    lock = threading.Lock()
    step = _Step.WAITING

    def guarded() -> T:
        nonlocal step
        with lock:
            if step is _Step.ABANDONED:
                raise RuntimeError("abandoned before it began")
            step = _Step.RUNNING
        try:
            return function()
        finally:
            if not loop.is_closed():
                loop.call_soon_threadsafe(functools.partial(_set_done, ended))

    try:
        return await anyio.to_thread.run_sync(guarded, abandon_on_cancel=True)
    except asyncio.CancelledError:
        with lock:
            begun, step = step is _Step.RUNNING, _Step.ABANDONED
        if begun:
            strays.leave(ended, name)
        raise


def _set_done(ended: asyncio.Future[None]) -> None:
    if not ended.done():
        ended.set_result(None)
