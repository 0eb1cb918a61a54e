"""How a process ends that has run foreign code."""

import asyncio
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Awaitable, Coroutine, Generator, Sequence
from contextlib import suppress
from typing import Any, Final, TypeVar, cast, final

from innkeeper.registry.host_tasks import host_tasks

log = logging.getLogger(__name__)

T = TypeVar("T")

PARTING_SECONDS: Final = 1.0
"""How long tasks and threads that are left at the end may take to stop, the tasks having been canceled."""


def run_process(main: Coroutine[Any, Any, int]) -> int:
    """Run a command's coroutine and return its answer, the exit code.

    A ``SystemExit`` or ``KeyboardInterrupt`` ends it only where ``main`` itself raises it, or Ctrl-C does. Where
    foreign code that was left behind would keep the process alive for ever, it is ended here and now.
    """
    with asyncio.Runner(loop_factory=EnduringLoop) as runner:
        try:
            code = runner.run(main)
        except BaseException as error:
            _end_if_any(1, runner.run(_part()), error)
            raise
        _end_if_any(code, runner.run(_part()))
    return parting(code)


def parting(code: int) -> int:
    """Return the exit code of a process that may end by itself; end it here and now where a thread would keep it."""
    _end_if_any(code, _busy_threads())
    return code


@final
class EnduringLoop(asyncio.SelectorEventLoop):
    """An event loop that goes on after a ``SystemExit`` or ``KeyboardInterrupt`` which is not that of what it runs.

    What it runs is not for foreign code to cancel.

    asyncio lets both pass from callbacks and from tasks. The callbacks that wait keep their place, so that going on
    is no more than running the loop again.
    """

    def __init__(self) -> None:
        super().__init__()
        self.set_task_factory(host_tasks())
        self._main: asyncio.Future[Any] | None = None
        self._stop_asked = False

    def run_until_complete(self, future: Awaitable[T] | Generator[Any, None, T]) -> T:
        """Run until ``future`` is done; nobody else's exit ends that."""
        self._main = main = asyncio.ensure_future(cast("Awaitable[T]", future), loop=self)
        try:
            return super().run_until_complete(main)
        finally:
            self._main = None

    def stop(self) -> None:
        """Stop once the callbacks that are ready have run."""
        self._stop_asked = True  # for an exit among those callbacks makes asyncio forget it
        super().stop()

    def run_forever(self) -> None:
        """Run until ``stop``."""
        try:
            while True:
                try:
                    super().run_forever()
                except (SystemExit, KeyboardInterrupt) as error:
                    if self._is_meant(error):
                        raise
                    log.exception("what a callback raised does not end the process")
                    if not self._stop_asked:
                        continue
                return
        finally:
            self._stop_asked = False

    def _is_meant(self, error: BaseException) -> bool:
        """Tell whether it is the main task's own, or may be Ctrl-C: the second, for the first cancels the main task."""
        main = self._main
        if main is None:
            return True
        if main.done():
            return not main.cancelled() and main.exception() is error
        return isinstance(error, KeyboardInterrupt) and (
            signal.getsignal(signal.SIGINT) is signal.default_int_handler
            or (isinstance(main, asyncio.Task) and main.cancelling() > 0)
        )


async def _part() -> list[str]:
    """Name what would keep the loop from being closed, having asked all of it to end."""
    loop = asyncio.get_running_loop()
    left = await _part_with_tasks()
    for what, ending in (
        ("an async generator that does not close", loop.shutdown_asyncgens()),
        ("a thread of the loop's executor", loop.shutdown_default_executor()),
    ):
        task = asyncio.ensure_future(ending)
        if not (await asyncio.wait((task,), timeout=PARTING_SECONDS))[0]:
            left.append(what)
    return left


async def _part_with_tasks() -> list[str]:
    """Cancel every task that is left, and those that they leave in turn; name the ones that run on."""
    until = time.monotonic() + PARTING_SECONDS
    asked: set[asyncio.Task[Any]] = set()
    while left := asyncio.all_tasks() - {asyncio.current_task()}:
        for task in left - asked:
            task.cancel()
        asked |= left
        if time.monotonic() >= until:
            break
        await asyncio.wait(left, timeout=until - time.monotonic(), return_when=asyncio.FIRST_COMPLETED)
    return sorted(task.get_name() for task in left)


def _busy_threads() -> list[str]:
    """Name the threads for which the interpreter would wait."""
    until = time.monotonic() + PARTING_SECONDS
    others = [
        thread for thread in threading.enumerate() if thread is not threading.current_thread() and not thread.daemon
    ]
    for thread in others:
        thread.join(max(0.0, until - time.monotonic()))
    return [thread.name for thread in others if thread.is_alive()]


def _end_if_any(code: int, left: Sequence[str], error: BaseException | None = None) -> None:
    if left:
        if error is not None and not isinstance(error, KeyboardInterrupt):
            log.error("the command failed", exc_info=error)
        log.warning("ending the process although this still runs: %s", ", ".join(left))
        logging.shutdown()
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):  # foreign code may have closed or replaced it
                stream.flush()
        os._exit(code)
