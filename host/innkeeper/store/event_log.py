"""The events of a task, and what each of them changes."""

import sqlite3
from typing import Final

from innkeeper.contract.message import Role
from innkeeper.ports.events import TERMINAL, Event
from innkeeper.store.records import text_from_object

# One statement decides whether an event may be written and gives it its number: the guard is in its source. A task that
# has ended is in none of the sources.
_APPEND: Final = """
INSERT INTO events (task, seq, kind, state, body, at_us, data)
SELECT t.key, 1 + coalesce((SELECT max(seq) FROM events WHERE task = t.key), 0), ?, ?, ?, ?, ?
FROM {source}
RETURNING task, seq
"""
_TO_TASK: Final = _APPEND.format(source="open_tasks t WHERE t.key = ?")
_TO_TURN: Final = "open_tasks t JOIN turns r ON r.task = t.key WHERE r.id = ? AND r.attempt = ? AND r.state {states}"

TO_CLAIMED: Final = _APPEND.format(source=_TO_TURN.format(states="= 'claimed'"))
TO_OUT: Final = _APPEND.format(source=_TO_TURN.format(states="IN ('claimed', 'running')"))
TO_UNFINISHED: Final = _APPEND.format(source=_TO_TURN.format(states="IN ('queued', 'claimed', 'running')"))

Logged = tuple[int, int]
"""The key of the task and the number of the event."""


def append_to_task(connection: sqlite3.Connection, task: int, event: Event) -> Logged | None:
    """Write an event to a task; None, and nothing written, if it has ended."""
    return _append(connection, _TO_TASK, event, task)


def append_to_turn(
    connection: sqlite3.Connection, statement: str, turn: int, attempt: int, event: Event
) -> Logged | None:
    """Write an event of an attempt; None, and nothing written, unless that attempt is as the statement demands.

    ``statement`` is ``TO_CLAIMED``, ``TO_OUT`` or ``TO_UNFINISHED``.
    """
    return _append(connection, statement, event, turn, attempt)


def _append(connection: sqlite3.Connection, statement: str, event: Event, *target: int) -> Logged | None:
    row: Logged | None = connection.execute(
        statement, (event.kind, event.state, event.body, event.at_us, text_from_object(event.data), *target)
    ).fetchone()
    return row


def apply_status(connection: sqlite3.Connection, logged: Logged, event: Event, *, turn: int, attempt: int = 1) -> None:
    """Make the status of a logged event the status of its task, and its message the next of the history.

    ``turn`` is the turn to which the message belongs. A status that ends the task withdraws the turns that have not
    ended.
    """
    if event.state is None:
        return
    task, seq = logged
    connection.execute(
        "UPDATE tasks SET state = ?, status = ?, status_at_us = ?, status_seq = ? WHERE key = ?",
        (event.state, event.status, event.at_us, seq, task),
    )
    if event.message:
        if attempt > 1:  # a rerun says again, under the same ids, what the attempt before it had said
            connection.execute(
                "DELETE FROM messages WHERE task = ? AND turn = ? AND role = 'agent' AND id = ?",
                (task, turn, event.message_id),
            )
        add_message(
            connection,
            task,
            turn,
            role="agent",
            message_id=event.message_id,
            body=event.message,
            at_us=event.at_us,
            status_seq=seq,
        )
    if event.state in TERMINAL:
        connection.execute(
            "UPDATE turns SET state = 'withdrawn', holder = ''"
            " WHERE task = ? AND state IN ('queued', 'claimed', 'running')",
            (task,),
        )


def add_message(
    connection: sqlite3.Connection,
    task: int,
    turn: int,
    *,
    role: Role,
    message_id: str,
    body: bytes,
    at_us: int,
    status_seq: int | None = None,
) -> None:
    """Append a message to the history of the task and of its session; ``status_seq`` where a status carries it."""
    connection.execute(
        "INSERT INTO messages (session, task, turn, id, role, body, at_us, status_seq)"
        " SELECT session, key, ?, ?, ?, ?, ?, ? FROM tasks WHERE key = ?",
        (turn, message_id, role, body, at_us, status_seq, task),
    )
