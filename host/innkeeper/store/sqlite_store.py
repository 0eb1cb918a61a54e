"""The store of the engine, on SQLite."""

import sqlite3
from collections.abc import Awaitable, Callable, Mapping, Sequence

from innkeeper.ports.events import Committed, Event, State
from innkeeper.ports.steering import Steering, Taken
from innkeeper.ports.store import Admission, Admitted, Choice, Ending, TurnRecord
from innkeeper.store import admission as admissions
from innkeeper.store import steering, turn_writes
from innkeeper.store.api_tokens import SqliteApiTokens
from innkeeper.store.own_tasks import SqliteOwnTasks
from innkeeper.store.readers import Readers
from innkeeper.store.records import turn_from_row
from innkeeper.store.writer import Writer


class SqliteStore:
    """Implements ``ports.store.Store``; what it promises stands there."""

    def __init__(self, readers: Readers, writer: Writer) -> None:
        self._readers = readers
        self._writer = writer
        self.api_tokens = SqliteApiTokens(readers)

    @property
    def failing(self) -> bool:
        """Whether the last write could not be stored."""
        return self._writer.failing

    def own_tasks(self, tenant: str, caller_key: str) -> SqliteOwnTasks:
        """Return the tasks of one caller at one tenant."""
        return SqliteOwnTasks(self._readers, self._writer, tenant, caller_key)

    def admit(self, admission: Admission, then: Callable[[Admitted], None]) -> Awaitable[Admitted]:
        """Accept a message."""
        return self._writer.submit(lambda connection: admissions.admit(connection, admission), then=then)

    def claim(self, turn: TurnRecord, holder: str) -> Awaitable[Choice | None]:
        """Begin an attempt."""
        return self._writer.submit(lambda connection: turn_writes.claim(connection, turn, holder))

    def start(self, turn: TurnRecord, holder: str, event: Event) -> Awaitable[Choice | None]:
        """Claim a turn and let it run."""
        return self._writer.submit(lambda connection: turn_writes.start(connection, turn, holder, event))

    async def begun_before(self, turn: TurnRecord) -> bool:
        """Tell whether an earlier turn of the session has begun to run."""
        return await self._readers.read(lambda connection: turn_writes.begun_before(connection, turn))

    def begin(self, turn: TurnRecord, attempt: int, event: Event, choice: Choice | None = None) -> Awaitable[bool]:
        """Let the claimed turn run."""
        return self._writer.submit(lambda connection: turn_writes.begin(connection, turn, attempt, event, choice))

    def append(self, turn: TurnRecord, attempt: int, event: Event) -> Awaitable[bool]:
        """Write an event of the running attempt."""
        return self._writer.submit(lambda connection: turn_writes.append(connection, turn, attempt, event))

    def end(self, turn: TurnRecord, attempt: int, ending: Ending) -> Awaitable[bool]:
        """End the attempt and with it the turn."""
        return self._writer.submit(lambda connection: turn_writes.end(connection, turn, attempt, ending))

    async def steps(self, turn: TurnRecord) -> Mapping[str, str]:
        """Read the steps that the turn has done."""
        return await self._readers.read(lambda connection: turn_writes.steps(connection, turn))

    def add_step(self, turn: TurnRecord, attempt: int, key: str, result: str) -> Awaitable[bool]:
        """Keep the result of a step until the turn ends."""
        return self._writer.submit(lambda connection: turn_writes.add_step(connection, turn, attempt, key, result))

    def take_waiting(
        self,
        turn: TurnRecord,
        attempt: int,
        taken: Callable[[Sequence[int]], Event],
        then: Callable[[Taken | None], None],
    ) -> Awaitable[Taken | None]:
        """Make what waits for the task part of the attempt that is out."""
        return self._writer.submit(lambda connection: steering.take(connection, turn, attempt, taken), then=then)

    def steer(
        self, turn: TurnRecord, attempt: int, said: Steering, then: Callable[[TurnRecord | None], None]
    ) -> Awaitable[TurnRecord | None]:
        """Let a message of a plugin's wait for the task of the attempt that is out."""
        return self._writer.submit(lambda connection: steering.steer(connection, turn, attempt, said), then=then)

    def release(self, turn: TurnRecord, *, count_attempt: bool) -> Awaitable[None]:
        """Put an unfinished turn back into the queue."""
        return self._writer.submit(
            lambda connection: turn_writes.release(connection, turn, count_attempt=count_attempt)
        )

    async def unfinished(self) -> tuple[TurnRecord, ...]:
        """Read every turn that is accepted and not ended, in the order of acceptance."""
        return await self._readers.read(_unfinished)

    async def history(self, session_id: str, *, until_turn: int, limit: int | None) -> tuple[tuple[bytes, int], ...]:
        """Read the last messages of a session up to a turn: turn by turn, each beginning with what the caller said."""
        return await self._readers.read(lambda connection: _history(connection, session_id, until_turn, limit))

    async def events_after(self, task_id: str, seq: int, limit: int) -> tuple[Committed, ...]:
        """Read the next events of a task."""
        return await self._readers.read(lambda connection: _events_after(connection, task_id, seq, limit))


def _unfinished(connection: sqlite3.Connection) -> tuple[TurnRecord, ...]:
    return tuple(map(turn_from_row, connection.execute("SELECT * FROM unfinished_turns ORDER BY id")))


def _history(
    connection: sqlite3.Connection, session_id: str, until_turn: int, limit: int | None
) -> tuple[tuple[bytes, int], ...]:
    rows = connection.execute(
        "SELECT body, at_us FROM messages WHERE session = (SELECT key FROM sessions WHERE id = ?) AND turn <= ?"
        " ORDER BY turn DESC, key DESC LIMIT ?",
        (session_id, until_turn, -1 if limit is None else limit),
    ).fetchall()
    return tuple(reversed(rows))


def _events_after(connection: sqlite3.Connection, task_id: str, seq: int, limit: int) -> tuple[Committed, ...]:
    rows = connection.execute(
        "SELECT seq, body, state FROM events WHERE task = (SELECT key FROM tasks WHERE id = ?) AND seq > ?"
        " ORDER BY seq LIMIT ?",
        (task_id, seq, limit),
    )
    return tuple(Committed(task_id, number, body, State(state) if state else None) for number, body, state in rows)
