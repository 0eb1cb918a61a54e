"""A ``SystemExit`` or ``KeyboardInterrupt`` in a task ends that task, not the event loop."""

import asyncio
import inspect
import logging
from collections.abc import Callable, Coroutine, Generator
from typing import Any, TypeVar

from innkeeper.registry.described import described
from innkeeper.registry.host_tasks import host_tasks
from innkeeper.registry.loop_reports import keep_from_reports
from innkeeper.registry.secrets import Secrets
from innkeeper.registry.watchdog import Owner, Stepped, current_owner

log = logging.getLogger(__name__)

T = TypeVar("T")


class ForeignExit(RuntimeError):
    """Stands in for a raise that would end the task, loop or process of whoever asks for the result."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(f"foreign code raised {described(error, longest=None)}")


def contain_exits(loop: asyncio.AbstractEventLoop, secrets: Secrets | None = None) -> None:
    """Keep a ``SystemExit`` or ``KeyboardInterrupt`` in a task from ending the event loop.

    Every task made from now on ends with ``ForeignExit`` instead, and is a ``HostTask`` unless the loop has a task
    factory of its own. What is running already may still end the loop: the main task among it. A task that foreign code
    makes belongs to the same owner as that code. Callbacks (``call_soon`` and its like) are no tasks: their exits end a
    loop that does not see to it itself, as that of ``run_process`` does. What the loop reports of tasks that nobody
    waits for is without the ``secrets``.
    """
    if secrets is not None:
        keep_from_reports(loop, secrets)
    former = loop.get_task_factory()
    start: Callable[..., asyncio.Future[Any]] = former or host_tasks()

    def make(
        loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T] | Generator[Any, None, T], **options: Any
    ) -> asyncio.Future[T]:
        if not isinstance(work, Coroutine):
            return start(loop, work, **options)
        contained = _contained(work, current_owner.get())
        if inspect.iscoroutine(work):
            contained.__qualname__ = work.__qualname__  # type: ignore[attr-defined] # as asyncio's reports name it
        task = start(loop, contained, **options)
        task.add_done_callback(lambda _: work.close())  # it may have been canceled before its first step
        return task

    if getattr(former, "contains_exits", False):
        return  # another host on this loop has seen to it
    make.contains_exits = True  # type: ignore[attr-defined] # a mark of our own, for the line above
    loop.set_task_factory(make)


async def _contained(work: Coroutine[Any, Any, T], owner: Owner | None) -> T:
    try:
        return await (work if owner is None else owned(work, owner))
    except (SystemExit, KeyboardInterrupt) as error:
        task = asyncio.current_task()
        whose, told = (f" of {owner.name}", owner.secrets.described(error)) if owner else ("", described(error))
        log.warning("task %s%s raised %s, which ends this task alone", task and task.get_name(), whose, told)
        raise ForeignExit(error) from error


def owned(work: Coroutine[Any, Any, T], owner: Owner) -> Stepped[T]:
    """Run ``work`` here as the code of ``owner``: to be awaited in a task that does nothing else."""
    current_owner.set(owner)  # also where the task's context is a fresh one
    return Stepped(work, owner)
