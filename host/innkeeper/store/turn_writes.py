"""What a turn writes while it runs; each step is fenced by the turn, its attempt and its state in one statement."""

import sqlite3
from dataclasses import replace
from typing import Final

from innkeeper.ports.events import Event, committed_from_event
from innkeeper.ports.store import Choice, Ending, TaskView, TurnRecord
from innkeeper.store import steering
from innkeeper.store.event_log import TO_CLAIMED, TO_OUT, TO_UNFINISHED, append_to_turn, apply_status
from innkeeper.store.writer import Written

_REFUSED = Written(False)


_OUT: Final = """
UPDATE turns SET state = ?, gated = gated OR ?, attempt = attempt + 1, holder = ? WHERE id = ? AND state = 'queued'
AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.session = turns.session AND t.state IN ('claimed', 'running'))
RETURNING attempt
"""


def claim(connection: sqlite3.Connection, turn: TurnRecord, holder: str) -> Written[Choice | None]:
    """Begin an attempt of a queued turn, while no other turn of its session is out."""
    row = connection.execute(_OUT, ("claimed", False, holder, turn.id)).fetchone()
    return Written(None if row is None else _choice(connection, turn))


def start(connection: sqlite3.Connection, turn: TurnRecord, holder: str, event: Event) -> Written[Choice | None]:
    """Begin an attempt of a queued turn and let it run at once."""
    row = connection.execute(_OUT, ("running", True, holder, turn.id)).fetchone()
    if row is None:
        return Written(None)
    (attempt,) = row
    logged = append_to_turn(connection, TO_OUT, turn.id, attempt, event)
    if logged is None:  # a task that has ended has withdrawn its turns
        raise RuntimeError(f"turn {turn.id} was queued, and its task has ended")
    apply_status(connection, logged, event, turn=turn.id, attempt=attempt)
    told = committed_from_event(turn.task_id, logged[1], event, tenant=turn.tenant, session_id=turn.session_id)
    return Written(_choice(connection, turn), (told,))


def _choice(connection: sqlite3.Connection, turn: TurnRecord) -> Choice:
    row = connection.execute("SELECT preset, model, provider FROM sessions WHERE id = ?", (turn.session_id,)).fetchone()
    return Choice(*row)


def begun_before(connection: sqlite3.Connection, turn: TurnRecord) -> bool:
    """Tell whether an earlier turn of the session has begun to run."""
    (begun,) = connection.execute(
        "SELECT EXISTS (SELECT 1 FROM messages m JOIN turns t ON t.id = m.turn"
        " WHERE m.session = (SELECT key FROM sessions WHERE id = ?) AND m.turn < ? AND t.gated = 1)",
        (turn.session_id, turn.id),
    ).fetchone()
    return bool(begun)


def begin(
    connection: sqlite3.Connection, turn: TurnRecord, attempt: int, event: Event, choice: Choice | None
) -> Written[bool]:
    """Let the claimed attempt run."""
    logged = append_to_turn(connection, TO_CLAIMED, turn.id, attempt, event)
    if logged is None:
        return _REFUSED
    connection.execute("UPDATE turns SET state = 'running', gated = 1 WHERE id = ?", (turn.id,))
    if choice is not None:
        connection.execute(
            "UPDATE sessions SET preset = ?, model = ?, provider = ? WHERE id = ?",
            (choice.preset, choice.model, choice.provider, turn.session_id),
        )
    apply_status(connection, logged, event, turn=turn.id, attempt=attempt)
    return _written(turn, logged[1], event)


def append(connection: sqlite3.Connection, turn: TurnRecord, attempt: int, event: Event) -> Written[bool]:
    """Write an event of the attempt that is out."""
    logged = append_to_turn(connection, TO_OUT, turn.id, attempt, event)
    if logged is None:
        return _REFUSED
    apply_status(connection, logged, event, turn=turn.id, attempt=attempt)
    return _written(turn, logged[1], event)


def end(connection: sqlite3.Connection, turn: TurnRecord, attempt: int, ending: Ending) -> Written[bool]:
    """End the attempt and its turn, with the event that fits."""
    more = _more_waits(connection, turn)
    event = ending.event(more)
    if event is None:
        return Written(_end_turn(connection, turn, attempt, ending))
    logged = append_to_turn(connection, TO_UNFINISHED, turn.id, attempt, event)
    if logged is None:
        return _REFUSED
    _end_turn(connection, turn, attempt, ending)
    apply_status(connection, logged, event, turn=turn.id, attempt=attempt)
    return _written(turn, logged[1], event, None if more else ending.whole)


def steps(connection: sqlite3.Connection, turn: TurnRecord) -> dict[str, str]:
    """Read the steps that the turn has done."""
    return dict(connection.execute("SELECT key, result FROM steps WHERE turn = ?", (turn.id,)))


def add_step(connection: sqlite3.Connection, turn: TurnRecord, attempt: int, key: str, result: str) -> Written[bool]:
    """Keep the result of a step of the attempt that is out."""
    changed = connection.execute(
        "INSERT INTO steps (turn, key, result)"
        " SELECT id, ?, ? FROM turns WHERE id = ? AND attempt = ? AND state IN ('claimed', 'running')",
        (key, result, turn.id, attempt),
    )
    return Written(changed.rowcount == 1)


def release(connection: sqlite3.Connection, turn: TurnRecord, *, count_attempt: bool) -> Written[None]:
    """Put a claimed or running turn back into the queue, and what it has taken behind it."""
    steering.give_back(connection, turn)
    connection.execute(
        "UPDATE turns SET state = 'queued', holder = '', attempt = attempt - ?"
        " WHERE id = ? AND state IN ('claimed', 'running')",
        (not count_attempt, turn.id),
    )
    return Written(None)


def _more_waits(connection: sqlite3.Connection, turn: TurnRecord) -> bool:
    (more,) = connection.execute(
        "SELECT EXISTS (SELECT 1 FROM turns WHERE task = (SELECT task FROM turns WHERE id = :turn) AND id <> :turn"
        " AND state IN ('queued', 'claimed', 'running'))",
        {"turn": turn.id},
    ).fetchone()
    return bool(more)


def _end_turn(connection: sqlite3.Connection, turn: TurnRecord, attempt: int, ending: Ending) -> bool:
    row = connection.execute(
        "UPDATE turns SET state = 'ended', holder = ''"
        " WHERE id = ? AND attempt = ? AND state IN ('queued', 'claimed', 'running') RETURNING task",
        (turn.id, attempt),
    ).fetchone()
    if row is not None and ending.artifacts is not None:
        connection.execute(
            "INSERT INTO artifacts (task, body, folded_seq)"
            " VALUES (:task, :body, coalesce((SELECT max(seq) FROM events WHERE task = :task), 0))"
            " ON CONFLICT (task) DO UPDATE SET body = excluded.body, folded_seq = excluded.folded_seq",
            {"task": row[0], "body": ending.artifacts},
        )
    return row is not None


def _written(turn: TurnRecord, seq: int, event: Event, whole: TaskView | None = None) -> Written[bool]:
    told = committed_from_event(turn.task_id, seq, event, tenant=turn.tenant, session_id=turn.session_id)
    if whole is not None:
        told = replace(told, whole=replace(whole, task=replace(whole.task, seq=seq)))
    return Written(True, (told,))
