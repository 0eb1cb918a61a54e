"""How a process ends that has run foreign code."""

import asyncio
import logging
import os
import sys
import threading
import time
from collections.abc import Coroutine, Sequence
from typing import Any, Final

log = logging.getLogger(__name__)

PARTING_SECONDS: Final = 1.0
"""How long tasks and threads that are left at the end may take to stop, the tasks having been canceled."""


def run_process(main: Coroutine[Any, Any, int]) -> int:
    """Run a command's coroutine and return its answer, the exit code.

    Where foreign code that was left behind would keep the process alive for ever, it is ended here and now.
    """
    with asyncio.Runner() as runner:
        code = runner.run(main)
        tasks = asyncio.all_tasks(runner.get_loop())
        for task in tasks:
            task.cancel()
        if tasks:
            _, running = runner.run(_wait(tasks))
            _end_if_any(code, sorted(task.get_name() for task in running))
    _end_if_any(code, _busy_threads())
    return code


async def _wait(tasks: set[asyncio.Task[Any]]) -> tuple[set[asyncio.Task[Any]], set[asyncio.Task[Any]]]:
    return await asyncio.wait(tasks, timeout=PARTING_SECONDS)


def _busy_threads() -> list[str]:
    """Name the threads for which the interpreter would wait."""
    until = time.monotonic() + PARTING_SECONDS
    others = [
        thread for thread in threading.enumerate() if thread is not threading.current_thread() and not thread.daemon
    ]
    for thread in others:
        thread.join(max(0.0, until - time.monotonic()))
    return [thread.name for thread in others if thread.is_alive()]


def _end_if_any(code: int, left: Sequence[str]) -> None:
    if left:
        log.warning("ending the process although this still runs: %s", ", ".join(left))
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
