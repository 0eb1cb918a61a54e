"""An event loop in a thread of its own, and what is waited for from outside of it: by ``await``, or without."""

import asyncio
import threading
from collections.abc import Coroutine, Generator
from concurrent.futures import Future
from functools import partial
from typing import Any, Final, Generic, TypeVar, final

from anyio import to_thread

from innkeeper.registry.process import EnduringLoop

T = TypeVar("T")

SECONDS: Final = 30.0
"""How long a result is waited for unless the test says otherwise."""

PARTING_SECONDS: Final = 2.0


@final
class Pending(Generic[T]):
    """Something that has begun and will have a result.

    An async test awaits it, whatever its event loop; a plain test calls ``result()``. Both raise what went wrong.
    """

    def __init__(self, future: "Future[T]", what: str) -> None:
        self._future = future
        self._what = what

    def result(self, timeout: float = SECONDS) -> T:
        """Wait ``timeout`` seconds at most, and return the result.

        Raises:
            TimeoutError: it has not come by then.
        """
        try:
            return self._future.result(timeout)
        except TimeoutError as error:
            if self._future.done():
                raise
            raise TimeoutError(f"{self._what} has not ended after {timeout:g} s") from error

    def __await__(self) -> Generator[Any, Any, T]:
        try:
            asyncio.get_running_loop()
        except RuntimeError:  # an event loop of another kind
            return to_thread.run_sync(partial(self.result), abandon_on_cancel=True).__await__()
        return asyncio.wrap_future(self._future).__await__()


@final
class LoopThread:
    """Runs an event loop until it is closed. The thread keeps no process alive."""

    def __init__(self, name: str) -> None:
        self._ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()
        self._loop, self._leave = self._ready.result()

    def submit(self, work: Coroutine[Any, Any, T], what: str) -> Pending[T]:
        """Run a coroutine on the loop; ``what`` names it where it takes too long."""
        return Pending(asyncio.run_coroutine_threadsafe(work, self._loop), what)

    def close(self, last: Coroutine[Any, Any, None] | None = None, timeout: float = 0) -> bool:
        """Run ``last``, then end the loop and what runs on it; return before that is done if it takes too long.

        ``last`` has ``timeout`` seconds. Answers False if something goes on and has to be left behind. Raises what
        ``last`` raises, or ``TimeoutError``.
        """
        ending = asyncio.run_coroutine_threadsafe(self._end_after(last), self._loop)
        try:
            Pending(ending, "the end of the host").result(timeout + PARTING_SECONDS)
        finally:
            self._thread.join(PARTING_SECONDS if ending.done() else 0)
        return not self._thread.is_alive()

    async def _end_after(self, last: Coroutine[Any, Any, None] | None) -> None:
        try:
            if last is not None:
                await last
        finally:
            self._leave.set()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=EnduringLoop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        leave = asyncio.Event()
        self._ready.set_result((asyncio.get_running_loop(), leave))
        await leave.wait()
