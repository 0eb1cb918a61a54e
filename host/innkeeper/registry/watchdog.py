"""Who keeps the event loop from running: foreign code that blocks it is named while it does, and counted."""

import logging
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Coroutine, Generator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import dropwhile
from types import CodeType, FrameType, MappingProxyType, TracebackType
from typing import Any, Final, Self, TypeAlias, TypeVar, final

from innkeeper.registry.secrets import Secrets

log = logging.getLogger(__name__)

T = TypeVar("T")

OURS: Final = __name__.partition(".")[0]
"""The package whose frames lead up to foreign code, and are left out of its stack."""


@final
class Steps:
    """What foreign code of one host the event loop runs right now: ``running`` is who, and since when (monotonic)."""

    __slots__ = ("running",)

    def __init__(self) -> None:
        self.running: Step | None = None


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose code it is.

    ``name`` in the log, ``kind`` where slow ones are counted; ``steps`` and ``secrets`` are those of its host.
    """

    name: str
    kind: str
    steps: Steps
    secrets: Secrets = field(default_factory=Secrets)


Step: TypeAlias = tuple[Owner, float]

current_owner: ContextVar[Owner | None] = ContextVar("owner of the foreign code that runs here", default=None)


@final
class Stepped(Generator[Any, Any, T]):
    """A coroutine that says, whenever it is stepped, that its owner runs; await it."""

    __slots__ = ("_owner", "_send", "_steps", "_work")

    def __init__(self, work: Coroutine[Any, Any, T], owner: Owner) -> None:
        self._work = work
        self._send = work.send
        self._owner = owner
        self._steps = owner.steps

    def __await__(self) -> Generator[Any, Any, T]:
        return self

    def __next__(self) -> Any:
        # The event loop steps with this one only: it repeats send() and spares a call.
        steps = self._steps
        former, steps.running = steps.running, (self._owner, time.monotonic())
        try:
            return self._send(None)
        finally:
            steps.running = former

    def send(self, value: Any) -> Any:
        """Step with a value."""
        steps = self._steps
        former, steps.running = steps.running, (self._owner, time.monotonic())
        try:
            return self._send(value)
        finally:
            steps.running = former

    def throw(self, kind: Any, value: Any = None, trace: TracebackType | None = None, /) -> Any:
        """Step with an error: an instance, or the older form of three arguments."""
        error = kind if isinstance(kind, BaseException) else value if isinstance(value, BaseException) else kind()
        steps = self._steps
        former, steps.running = steps.running, (self._owner, time.monotonic())
        try:
            return self._work.throw(error)
        finally:
            steps.running = former

    def close(self) -> None:
        """End the coroutine."""
        self._work.close()


_STEPPING: Final[frozenset[CodeType]] = frozenset(
    function.__code__ for function in (Stepped.__next__, Stepped.send, Stepped.throw)
)


@final
class Watchdog:
    """Warns from a thread, once per block, while foreign code keeps the event loop for longer than ``slow``.

    It is entered in the thread of the loop, and seen to have ended when it is left. It sees tasks of foreign code,
    but not the callbacks that such code hands to the loop, nor what keeps every other thread from running.
    """

    def __init__(self, steps: Steps, slow: timedelta) -> None:
        self._steps = steps
        self._slow_seconds = slow.total_seconds()
        self._ended = threading.Event()
        self._counts: Counter[str] = Counter()
        self._thread: threading.Thread | None = None

    @property
    def slow(self) -> Mapping[str, int]:
        """How often each kind of foreign code has blocked the loop."""
        return MappingProxyType(self._counts)

    def __enter__(self) -> Self:
        watched = threading.get_ident()
        self._thread = threading.Thread(target=self._watch, args=(watched,), name="innkeeper watchdog", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self, watched: int) -> None:
        told: Step | None = None
        pause = self._slow_seconds
        while not self._ended.wait(pause):
            # Nothing that begins after this look is slow before the next one: no block is seen late.
            step, pause = self._steps.running, self._slow_seconds
            if step is None or step is told:
                continue
            seconds = time.monotonic() - step[1]
            if seconds < self._slow_seconds:
                pause = self._slow_seconds - seconds
            elif stack := self._stack(watched, step):
                told = step
                self._counts[step[0].kind] += 1
                log.warning("%s blocks the event loop, for %.0f ms so far:\n%s", step[0].name, seconds * 1000, stack)

    def _stack(self, watched: int, step: Step) -> str:
        """Say where the thread is, from where foreign code begins; nothing if the step has ended meanwhile."""
        frames = [*traceback.walk_stack(sys._current_frames().get(watched))]  # noqa: SLF001 - public, and named so
        if self._steps.running is not step:
            return ""
        foreign: list[tuple[FrameType, int]] = []
        for frame, line in frames:  # the innermost first
            if frame.f_code in _STEPPING:
                break
            foreign.insert(0, (frame, line))
        shown = [*dropwhile(_is_ours, foreign)] or foreign
        return "".join(traceback.StackSummary.extract(iter(shown)).format()).rstrip() or "(no frame of it is left)"


def _is_ours(place: tuple[FrameType, int]) -> bool:
    return str(place[0].f_globals.get("__name__", "")).partition(".")[0] == OURS
