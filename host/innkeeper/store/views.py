"""Reading one owner's tasks: a task, or a page of them. Everything here runs inside one read transaction."""

import json
import sqlite3
from typing import Final

from innkeeper.ports.events import State
from innkeeper.ports.store import TaskPage, TaskQuery, TaskView
from innkeeper.store.records import Row, task_from_row

_EARLIEST: Final = -(2**63)
_FIRST: Final = (2**63 - 1, "")
"""The position before every task."""

_BY_KEY: Final = "SELECT * FROM task_records WHERE key = ?"

# Asked once per state, so that one index serves listings with and without a state, from any position.
_POSITIONS: Final = """
SELECT status_at_us, id, key FROM tasks INDEXED BY tasks_by_state
WHERE owner = ? AND state = ? AND status_at_us >= ? AND (status_at_us, id) < (?, ?)
ORDER BY status_at_us DESC, id DESC LIMIT ?
"""
_COUNT: Final = "SELECT count(*) FROM tasks WHERE owner = ? AND state = ? AND status_at_us >= ?"
_COUNTED: Final = "SELECT coalesce(sum(n), 0) FROM task_counts WHERE owner = ? AND state = ?"

# A context has few tasks: they are read, filtered and sorted.
_IN_CONTEXT: Final = """
SELECT status_at_us, id, key FROM tasks INDEXED BY tasks_by_context
WHERE owner = ? AND context_id = ? AND state IN (SELECT value FROM json_each(?)) AND status_at_us >= ?
ORDER BY status_at_us DESC, id DESC
"""

_Position = tuple[int, str, int]
"""Time of the status, id and key of a task: a listing is ordered by them, the greatest first."""


def find_row(connection: sqlite3.Connection, owner: tuple[str, str], task_id: str) -> Row | None:
    """Read the owner's task as a row of ``task_records``."""
    row: Row | None = connection.execute(
        "SELECT * FROM task_records WHERE tenant = ? AND caller = ? AND id = ?", (*owner, task_id)
    ).fetchone()
    return row


def key_of(row: Row) -> int:
    """Return the key of the task in a row of ``task_records``."""
    return int(row[9])


def view_from_row(connection: sqlite3.Connection, row: Row, history_length: int | None, *, artifacts: bool) -> TaskView:
    """Read what belongs to a row of ``task_records``: its last ``history_length`` messages, and its artifacts."""
    key, status_seq = key_of(row), row[12]
    task = task_from_row(row)
    history = _history(connection, key, status_seq, history_length)
    if not artifacts:
        return TaskView(task, history)
    folded = connection.execute("SELECT body, folded_seq FROM artifacts WHERE task = ?", (key,)).fetchone()
    body, folded_seq = folded or (b"[]", 0)
    pieces = connection.execute(
        "SELECT body FROM events WHERE task = ? AND seq > ? AND kind = 'artifact' ORDER BY seq", (key, folded_seq)
    )
    return TaskView(task, history, body, tuple(piece for (piece,) in pieces))


def _history(connection: sqlite3.Connection, task: int, status_seq: int, length: int | None) -> tuple[bytes, ...]:
    """Read the last messages of a task, oldest first, without the one that the status carries."""
    if length == 0:
        return ()
    rows = connection.execute(
        "SELECT body FROM messages WHERE task = ? AND status_seq IS NOT ? ORDER BY key DESC LIMIT ?",
        (task, status_seq, -1 if length is None else length),
    ).fetchall()
    return tuple(body for (body,) in reversed(rows))


def page(connection: sqlite3.Connection, owner: tuple[str, str], query: TaskQuery) -> TaskPage:
    """Read a page of the owner's tasks and count all that fit."""
    row = connection.execute("SELECT key FROM owners WHERE tenant = ? AND caller = ?", owner).fetchone()
    if row is None:
        return TaskPage((), more=False, total=0)
    found, total = (_positions if query.context_id is None else _positions_in_context)(connection, row[0], query)
    tasks = (connection.execute(_BY_KEY, (key,)).fetchone() for _, _, key in found[: query.limit])
    views = tuple(view_from_row(connection, task, query.history_length, artifacts=query.artifacts) for task in tasks)
    return TaskPage(views, more=len(found) > query.limit, total=total)


def _positions(connection: sqlite3.Connection, owner: int, query: TaskQuery) -> tuple[list[_Position], int]:
    """Return where the page begins, at least one position more than it holds if there are more, and the total."""
    found: list[_Position] = []
    total = 0
    since = _EARLIEST if query.status_since_us is None else query.status_since_us
    for state in _states(query):
        found += connection.execute(_POSITIONS, (owner, state, since, *(query.after or _FIRST), query.limit + 1))
        counted = (_COUNTED, (owner, state)) if query.status_since_us is None else (_COUNT, (owner, state, since))
        total += connection.execute(*counted).fetchone()[0]
    return sorted(found, reverse=True), total


def _positions_in_context(connection: sqlite3.Connection, owner: int, query: TaskQuery) -> tuple[list[_Position], int]:
    since = _EARLIEST if query.status_since_us is None else query.status_since_us
    states = json.dumps(_states(query))
    fitting = connection.execute(_IN_CONTEXT, (owner, query.context_id, states, since)).fetchall()
    after = query.after or _FIRST
    return [position for position in fitting if position[:2] < after], len(fitting)


def _states(query: TaskQuery) -> tuple[State, ...]:
    return tuple(State) if query.state is None else (query.state,)
