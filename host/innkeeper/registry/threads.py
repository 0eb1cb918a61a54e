"""Blocking functions of plugins run in worker threads, which can be left behind as well."""

import asyncio
import threading
from collections.abc import Callable
from enum import Enum
from typing import Final, TypeVar

import anyio
import anyio.to_thread

from innkeeper.registry.strays import Strays

T = TypeVar("T")

THREADS_EACH: Final = 32
"""How many threads one plugin may have at the same time."""


class _Step(Enum):
    WAITING = "waiting"
    RUNNING = "running"
    ABANDONED = "abandoned"


async def run_in_thread(function: Callable[[], T], *, name: str, strays: Strays, owner: str = "") -> T:
    """Run a blocking function in a worker thread; a cancellation abandons the thread and counts it as a stray.

    ``owner`` has ``THREADS_EACH`` threads at the same time, those that it has left behind included: who waits for one
    waits for its own. A function that has not begun when it is cancelled is not begun any more.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()
    room = strays.rooms.setdefault(owner, anyio.Semaphore(THREADS_EACH))
    lock = threading.Lock()
    step = _Step.WAITING

    def guarded() -> T:
        nonlocal step
        with lock:
            if step is _Step.ABANDONED:
                raise RuntimeError("abandoned before it began")
            step = _Step.RUNNING
        thread = threading.current_thread()
        former, thread.name = thread.name, name  # whoever lists what is left at the end finds it there
        try:
            return function()
        finally:
            thread.name = former
            if not loop.is_closed():
                loop.call_soon_threadsafe(left)

    def left() -> None:
        room.release()
        if not ended.done():
            ended.set_result(None)

    await room.acquire()
    try:
        return await anyio.to_thread.run_sync(guarded, abandon_on_cancel=True, limiter=strays.threads)
    except asyncio.CancelledError:
        with lock:
            begun, step = step is _Step.RUNNING, _Step.ABANDONED
        if begun:
            strays.leave(ended, name)
        else:
            room.release()
        raise
