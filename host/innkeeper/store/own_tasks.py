"""The tasks of one caller at one tenant; no other code reads tasks for a caller."""

import sqlite3
from collections.abc import Awaitable
from dataclasses import replace

from innkeeper.contract.errors import TaskNotCancelable, TaskNotFound
from innkeeper.ports.events import Event, State, committed_from_event
from innkeeper.ports.store import TaskPage, TaskQuery, TaskRecord, TaskView
from innkeeper.store.event_log import append_to_task, apply_status
from innkeeper.store.push_configs import SqliteOwnPushConfigs
from innkeeper.store.readers import Readers
from innkeeper.store.records import task_from_row
from innkeeper.store.views import find_row, key_of, page, view_from_row
from innkeeper.store.writer import Writer, Written


class SqliteOwnTasks:
    """Implements ``ports.store.OwnTasks``."""

    def __init__(self, readers: Readers, writer: Writer, tenant: str, caller_key: str) -> None:
        self._readers = readers
        self._writer = writer
        self._owner = (tenant, caller_key)
        self.push_configs = SqliteOwnPushConfigs(readers, writer, self._owner)

    async def find(self, task_id: str, *, history_length: int | None = None, artifacts: bool = True) -> TaskView | None:
        """Read a task with its last messages, or None if the owner has no such task."""

        def read(connection: sqlite3.Connection) -> TaskView | None:
            row = find_row(connection, self._owner, task_id)
            return None if row is None else view_from_row(connection, row, history_length, artifacts=artifacts)

        return await self._readers.read(read)

    async def list(self, query: TaskQuery) -> TaskPage:
        """Read a page of the owner's tasks."""
        return await self._readers.read(lambda connection: page(connection, self._owner, query))

    def cancel(self, task_id: str, event: Event) -> Awaitable[TaskRecord]:
        """Make the task canceled and withdraw its turns, as ``OwnTasks.cancel`` says."""
        return self._writer.submit(lambda connection: _cancel(connection, self._owner, task_id, event))


def _cancel(connection: sqlite3.Connection, owner: tuple[str, str], task_id: str, event: Event) -> Written[TaskRecord]:
    row = find_row(connection, owner, task_id)
    if row is None:
        raise TaskNotFound
    task = key_of(row)
    waiting = connection.execute("SELECT ordinal FROM turns WHERE task = ? AND state = 'queued' ORDER BY id", (task,))
    event = replace(event, data={**event.data, "withdrawn": [ordinal for (ordinal,) in waiting]})
    logged = append_to_task(connection, task, event)
    if logged is None:
        record = task_from_row(row)
        if record.state is State.CANCELED:
            return Written(record)
        raise TaskNotCancelable(f"Task {task_id} is {record.state}")
    (turn,) = connection.execute("SELECT max(id) FROM turns WHERE task = ?", (task,)).fetchone()
    apply_status(connection, logged, event, turn=turn)
    canceled = connection.execute("SELECT * FROM task_records WHERE key = ?", (task,)).fetchone()
    record = task_from_row(canceled)
    told = committed_from_event(task_id, logged[1], event, tenant=record.tenant, session_id=record.session_id)
    return Written(record, (told,))
