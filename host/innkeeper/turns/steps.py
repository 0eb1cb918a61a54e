"""Steps of a turn that are done once: their results outlive a crash."""

import inspect
import json
from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

import anyio

from innkeeper.contract.errors import TurnOver
from innkeeper.ports.store import Store, TurnRecord

T = TypeVar("T")


class Steps:
    """The memory of one attempt for what it and the attempts before it have done.

    ``over`` tells whether the turn has ended meanwhile: what has side effects is not begun any more.
    """

    def __init__(self, store: Store, turn: TurnRecord, *, attempt: int, over: Callable[[], bool]) -> None:
        self._store = store
        self._turn = turn
        self._attempt = attempt
        self._over = over
        self._done: dict[str, str] | None = None
        self._locks: defaultdict[str, anyio.Lock] = defaultdict(anyio.Lock)

    async def once(self, key: str, fn: Callable[[], Awaitable[T] | T]) -> T:
        """Do the step, unless it has been done; on return its result is on disk.

        Raises:
            TypeError: the result is not what JSON carries unchanged.
            TurnOver: the turn has ended meanwhile.
            Unavailable: the result cannot be stored.
        """
        async with self._locks[key]:
            if self._done is None:
                self._done = dict(await self._store.steps(self._turn))
            if key in self._done:
                return cast("T", json.loads(self._done[key]))
            if self._over():
                raise TurnOver(f"step {key!r} is not begun: the turn has ended")
            result = fn()
            value = cast("T", await result if inspect.isawaitable(result) else result)
            text = _text_from_result(key, value)
            if not await self._store.add_step(self._turn, self._attempt, key, text):
                raise TurnOver(f"step {key!r} is not kept: the turn has ended")
            self._done[key] = text
            return value


def _text_from_result(key: str, value: object) -> str:
    """Encode the result; one that a rerun would see otherwise than this run is refused."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"the result of step {key!r} is not what JSON can carry: {error}") from error
    if json.loads(text) != value:
        raise TypeError(
            f"the result of step {key!r} is not the same after JSON: use lists for tuples, strings for keys of dicts"
        )
    return text
