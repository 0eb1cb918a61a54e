"""Tasks of the host are not for foreign code to cancel: a hook that cancels all there are ends none of ours."""

import asyncio
import contextvars
import logging
from collections.abc import Callable, Coroutine, Generator
from typing import Any, TypeAlias, TypeVar, final

from innkeeper.registry.watchdog import current_owner

log = logging.getLogger(__name__)

T = TypeVar("T")

Work: TypeAlias = Coroutine[Any, Any, T] | Generator[Any, None, T]


@final
class HostTask(asyncio.Task[T]):
    """A task that foreign code can cancel if foreign code has made it, be it another plugin's: the host's go on.

    ``told`` holds who has been reported for trying.
    """

    def __init__(
        self, work: Work[T], *, told: set[str], context: contextvars.Context | None = None, **options: Any
    ) -> None:
        self._runs_in = contextvars.copy_context() if context is None else context
        self._told = told
        super().__init__(work, context=self._runs_in, **options)

    def cancel(self, msg: Any = None) -> bool:
        """Cancel it, and tell whether it will be; it will not if it is the host's and foreign code asks."""
        asking = current_owner.get()
        if asking is None or self._runs_in.get(current_owner) is not None:
            return super().cancel(msg)
        if asking.kind not in self._told:
            self._told.add(asking.kind)
            log.warning("%s cancels tasks of the host, which go on (told once); %r", asking.name, self.get_name())
        return False


def host_tasks() -> Callable[..., asyncio.Task[Any]]:
    """Return a task factory that makes these."""
    told: set[str] = set()

    def make(loop: asyncio.AbstractEventLoop, work: Work[T], **options: Any) -> HostTask[T]:
        return HostTask(work, told=told, loop=loop, **options)

    return make
