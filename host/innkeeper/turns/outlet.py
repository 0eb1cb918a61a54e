"""What a running turn says on the way: progress and artifacts, encoded, stored, and then published."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

from innkeeper.contract.errors import InnkeeperError, TurnOver
from innkeeper.contract.message import JSON, Message, Part
from innkeeper.ports.codec import Codec
from innkeeper.ports.events import ArtifactPiece, Event, State, Status
from innkeeper.ports.running import Outcome
from innkeeper.ports.store import TaskView, TurnRecord
from innkeeper.turns.means import Means
from innkeeper.turns.names import Names
from innkeeper.turns.steering import SteeringOfTurn, Waiting
from innkeeper.turns.steps import Steps

log = logging.getLogger(__name__)

T = TypeVar("T")

IN_FLIGHT: Final = 64
"""How many events of one turn may be on their way to disk before the turn has to wait for the oldest."""

KEPT_BYTES: Final = 65536
"""How much of its artifacts an attempt keeps in memory; of more, the store is asked at the end."""

DEAF_SECONDS: Final = 0.1
"""How long what is said after the end takes to be dropped: an agent that does not stop must not keep the loop busy."""


class TurnOutlet:
    """The outlet of one attempt; it implements ``ports.running.RunOutlet``.

    Events go to the store in the order of the calls. Once the store refuses one, because the turn was canceled or
    timed out meanwhile, the outlet is shut and drops what an agent that does not stop still says.
    """

    def __init__(
        self,
        means: Means,
        turn: TurnRecord,
        *,
        attempt: int,
        speaker: str,
        waiting: Waiting | None,
        activated: Callable[[str], None],
    ) -> None:
        self._store = means.store
        self._codec = means.codec
        self._world = means.world
        self._turn = turn
        self._attempt = attempt
        self._speaker = speaker
        self._activated = activated
        self._names = Names(turn)
        self._count = 0
        self._begun: set[str] = set()
        self._pieces: list[bytes] = []
        self._kept_bytes = 0
        self._in_flight: deque[tuple[asyncio.Future[bool], Event]] = deque()
        self.settled: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self.shut = False
        self._deaf = False
        self._steps = Steps(means.store, turn, attempt=attempt, over=self._over)
        self._steering = None if waiting is None else SteeringOfTurn(means, turn, waiting, attempt=attempt)

    @property
    def pieces(self) -> tuple[bytes, ...] | None:
        """The pieces of artifacts that the task has on disk; None where only the store knows. Valid once closed."""
        alone = self._attempt == 1 and self._turn.ordinal == 1
        return tuple(self._pieces) if alone and self._kept_bytes <= KEPT_BYTES else None

    async def progress(self, text: str, key: str | None) -> None:
        """Publish a ``working`` status that says ``text``."""
        if key is None:
            key = str(self._count)
            self._count += 1
        await self.put_progress((Part(text=text, media_type="text/plain"),), self._names.of(key))

    async def put_progress(self, parts: tuple[Part, ...], message_id: str | None) -> None:
        """Publish a ``working`` status with a message of these parts."""
        if message_id is None:
            message_id = self._names.of(str(self._count))
            self._count += 1
        now = self._world.now_us()
        message = Message(id=message_id, role="agent", parts=parts, at=self._world.datetime_from_us(now))
        await self._emit(status_event(self._codec, Status(State.WORKING, now, message), self._turn))

    async def artifact(self, name: str, parts: Sequence[Part], *, append: bool, last: bool) -> None:
        """Put out a piece of the artifact ``name``."""
        await self.put_artifact(ArtifactPiece(self._names.of(name), tuple(parts), name=name, append=append, last=last))

    async def put_artifact(self, piece: ArtifactPiece) -> None:
        """Put out a piece of an artifact; the first piece of an attempt never appends to what a former one left."""
        if piece.append and piece.artifact_id not in self._begun:
            piece = ArtifactPiece(piece.artifact_id, piece.parts, piece.name, piece.description, last=piece.last)
        self._begun.add(piece.artifact_id)
        body = self._codec.artifact_update(piece, self._turn.task_id, self._turn.context_id)
        what: dict[str, JSON] = {
            "artifact_id": piece.artifact_id,
            "name": piece.name,
            "append": piece.append,
            "last": piece.last,
        }
        await self._emit(Event("artifact", self._world.now_us(), body, data=what))

    async def step(self, key: str, fn: Callable[[], Awaitable[T] | T]) -> T:
        """Do something once, however often the turn is run."""
        return await self._steps.once(key, fn)

    def activate_extension(self, uri: str) -> None:
        """Tell whoever waits for the task."""
        self._activated(uri)

    async def claim_steering(self) -> tuple[Message, ...]:
        """Take what waits for the task."""
        return await self._steered().take()

    async def steer(self, text: str) -> None:
        """Let a message wait for the task."""
        await self._steered().add(text)

    async def earlier(self) -> TaskView | None:
        """Read the task as it stands when a later turn of it begins; None for the turn that opened the task."""
        if self._turn.ordinal == 1:
            return None
        return await self._store.own_tasks(self._turn.tenant, self._turn.caller.key).find(self._turn.task_id)

    def settle(self, outcome: Outcome) -> None:
        """End the turn with this outcome, unless it has another already: ``settled`` is done."""
        if not self.settled.done():
            self.settled.set_result(outcome)

    async def close(self) -> None:
        """Take nothing more, and wait until everything said is on disk.

        Raises:
            Unavailable: the store could not keep it.
        """
        self.shut = True
        while self._in_flight:
            await self._oldest()

    def _over(self) -> bool:
        return self.shut or self.settled.done()

    def _steered(self) -> SteeringOfTurn:
        if self._steering is None:
            raise InnkeeperError("the agent does not steer: Agent(…, steers=True)")
        if self._over():
            raise TurnOver("the turn has ended: nothing is sent to it, and it takes nothing")
        return self._steering

    async def _emit(self, event: Event) -> None:
        if self.shut:
            await self._drop()
            return
        written = asyncio.ensure_future(self._store.append(self._turn, self._attempt, event))
        self._in_flight.append((written, event))
        while len(self._in_flight) >= IN_FLIGHT:
            await self._oldest()

    async def _oldest(self) -> None:
        written, event = self._in_flight[0]
        await asyncio.wait((written,))  # unlike awaiting it, this leaves the write alone when the agent is canceled
        if self._in_flight and self._in_flight[0][0] is written:
            self._in_flight.popleft()
            if not written.result():
                self.shut = True
            elif event.kind == "artifact":
                self._keep(event.body)

    def _keep(self, piece: bytes) -> None:
        self._kept_bytes += len(piece)
        if self._kept_bytes <= KEPT_BYTES:
            self._pieces.append(piece)
        else:
            self._pieces.clear()

    async def _drop(self) -> None:
        if not self._deaf:
            self._deaf = True
            log.warning("task %s: %s speaks on after the end of its turn; dropped", self._turn.task_id, self._speaker)
        await asyncio.sleep(DEAF_SECONDS)


def status_event(codec: Codec, status: Status, turn: TurnRecord, *, keep: bool = False) -> Event:
    """Encode a change of status; ``keep`` makes its message part of the session's history."""
    encoded = codec.status(status, turn.task_id, turn.context_id)
    message = status.message
    return Event(
        kind="status",
        at_us=status.at_us,
        body=codec.status_update(encoded, turn.task_id, turn.context_id),
        state=status.state,
        status=encoded,
        message_id=message.id if message else "",
        message=codec.message_body(message) if keep and message else b"",
    )
