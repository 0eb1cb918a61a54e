"""Blocking functions of plugins run in worker threads, which can be left behind as well."""

import asyncio
import functools
import threading
from collections.abc import Callable
from enum import Enum
from typing import TypeVar

import anyio.to_thread

from innkeeper.registry.strays import Strays

T = TypeVar("T")


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
