"""What is sent to a task while a turn of it runs, for an agent that takes it up at once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from innkeeper.contract.errors import TurnOver
from innkeeper.contract.message import Message, Part
from innkeeper.ports.events import Event
from innkeeper.ports.steering import Steering, Taken
from innkeeper.ports.store import TurnRecord
from innkeeper.turns.means import Means
from innkeeper.turns.names import Names


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits behind a running turn, as the engine keeps it.

    ``room`` is how many turns of a session may wait; ``taken`` is told the ids of turns that wait no longer, ``added``
    the turn that has come to wait. Both are called after the commit, on the event loop.
    """

    room: int
    taken: Callable[[Sequence[int]], None]
    added: Callable[[TurnRecord], None]


class SteeringOfTurn:
    """Takes what waits for the task of one attempt, and adds to it."""

    def __init__(self, means: Means, turn: TurnRecord, waiting: Waiting, *, attempt: int) -> None:
        self._means = means
        self._turn = turn
        self._waiting = waiting
        self._attempt = attempt
        self._names = Names(turn)
        self._count = 0

    async def take(self) -> tuple[Message, ...]:
        """Make what waits part of the turn, oldest first."""
        taken = await self._means.store.take_waiting(self._turn, self._attempt, self._taken, self._tell)
        if taken is None:
            raise TurnOver("the turn has ended: what was sent to it waits for the next")
        return tuple(self._means.codec.message_from_body(body, at_us) for body, at_us in taken.messages)

    async def add(self, text: str) -> None:
        """Let a message wait; a rerun that sends the same ones again adds none."""
        self._count += 1
        message_id = self._names.steering(self._count)
        now = self._means.world.now_us()
        parts = (Part(text=text, media_type="text/plain"),)
        message = Message(message_id, "user", parts, self._means.world.datetime_from_us(now))
        said = Steering(message_id, self._means.codec.message_body(message), Event("message", now), self._waiting.room)
        if await self._means.store.steer(self._turn, self._attempt, said, self._added) is None:
            raise TurnOver("the turn has ended: nothing is sent to it any more")

    def _taken(self, ordinals: Sequence[int]) -> Event:
        return Event("taken", self._means.world.now_us(), data={"ordinals": list(ordinals)})

    def _tell(self, taken: Taken | None) -> None:
        if taken is not None:
            self._waiting.taken(taken.turns)

    def _added(self, added: TurnRecord | None) -> None:
        if added is not None and added.id != self._turn.id:
            self._waiting.added(added)
