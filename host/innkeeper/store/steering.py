"""Messages that a running turn takes instead of leaving them to the next one, and those that it is sent by plugins."""

import sqlite3
from collections.abc import Callable, Sequence

from innkeeper.ports.events import Event, committed_from_event
from innkeeper.ports.steering import Steering, Taken
from innkeeper.ports.store import TurnRecord
from innkeeper.store.admission import Target, add_turn, check_room
from innkeeper.store.event_log import TO_OUT, append_to_turn
from innkeeper.store.writer import Written

_WAITING = "SELECT id FROM turns WHERE task = ? AND session = ? AND state = 'queued' ORDER BY id"


def take(
    connection: sqlite3.Connection, turn: TurnRecord, attempt: int, taken: Callable[[Sequence[int]], Event]
) -> Written[Taken | None]:
    """Make what waits for the task of the attempt that is out part of its turn."""
    keys = _keys_if_out(connection, turn, attempt)
    if keys is None:
        return Written(None)
    waiting = tuple(key for (key,) in connection.execute(_WAITING, keys))
    if not waiting:
        return Written(Taken())
    ordinals = [_end(connection, each) for each in waiting]
    messages = [_move(connection, keys[1], each, turn.id) for each in waiting]
    event = taken(ordinals)
    logged = append_to_turn(connection, TO_OUT, turn.id, attempt, event)
    if logged is None:  # not with an attempt that is out
        raise RuntimeError(f"turn {turn.id} is out and takes no event")
    told = committed_from_event(turn.task_id, logged[1], event, tenant=turn.tenant, session_id=turn.session_id)
    return Written(Taken(waiting, tuple(messages)), (told,))


def give_back(connection: sqlite3.Connection, turn: TurnRecord) -> None:
    """Let what the turn has taken wait again: its next attempt begins anew."""
    rows = connection.execute(
        "UPDATE messages SET turn = said_in, said_in = NULL"
        " WHERE session = (SELECT session FROM turns WHERE id = :turn) AND turn = :turn AND said_in IS NOT NULL"
        " RETURNING turn",
        {"turn": turn.id},
    ).fetchall()
    connection.executemany("UPDATE turns SET state = 'queued' WHERE id = ?", rows)


def steer(
    connection: sqlite3.Connection, turn: TurnRecord, attempt: int, steering: Steering
) -> Written[TurnRecord | None]:
    """Let a message of a plugin's wait for the task of the attempt that is out; the same message again is nothing."""
    keys = _keys_if_out(connection, turn, attempt)
    if keys is None:
        return Written(None)
    task, session = keys
    if _knows(connection, task, steering.message_id):
        return Written(turn)
    check_room(connection, session, steering.queue_per_session)
    logged = append_to_turn(connection, TO_OUT, turn.id, attempt, steering.event)
    if logged is None:
        return Written(None)
    target = Target(task, session, turn.session_id, turn.task_id, turn.context_id, opened=False)
    added = add_turn(
        connection,
        target,
        tenant=turn.tenant,
        caller=turn.caller,
        message_id=steering.message_id,
        message=steering.message,
        at_us=steering.event.at_us,
        metadata={},
    )
    told = committed_from_event(turn.task_id, logged[1], steering.event, tenant=turn.tenant, session_id=turn.session_id)
    return Written(added, (told,))


def _keys_if_out(connection: sqlite3.Connection, turn: TurnRecord, attempt: int) -> tuple[int, int] | None:
    """Return the keys of task and session, if this attempt is out."""
    row: tuple[int, int] | None = connection.execute(
        "SELECT task, session FROM turns WHERE id = ? AND attempt = ? AND state = 'running'", (turn.id, attempt)
    ).fetchone()
    return row


def _end(connection: sqlite3.Connection, waiting: int) -> int:
    (ordinal,) = connection.execute(
        "UPDATE turns SET state = 'ended' WHERE id = ? RETURNING ordinal", (waiting,)
    ).fetchone()
    return int(ordinal)


def _move(connection: sqlite3.Connection, session: int, waiting: int, to: int) -> tuple[bytes, int]:
    body, at_us = connection.execute(
        "UPDATE messages SET said_in = turn, turn = ? WHERE session = ? AND turn = ? AND role = 'user'"
        " RETURNING body, at_us",
        (to, session, waiting),
    ).fetchone()
    return body, at_us


def _knows(connection: sqlite3.Connection, task: int, message_id: str) -> bool:
    (known,) = connection.execute(
        "SELECT EXISTS (SELECT 1 FROM messages WHERE task = ? AND id = ?)", (task, message_id)
    ).fetchone()
    return bool(known)
