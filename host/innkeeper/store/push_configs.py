"""The push configurations of one caller's tasks at one tenant; no other code reads them for a caller."""

import sqlite3
from collections.abc import Awaitable
from dataclasses import replace

from innkeeper.contract.errors import InvalidParams, TaskNotFound
from innkeeper.ports.push import CONFIGS_PER_TASK, PushConfig, PushPage
from innkeeper.store.readers import Readers
from innkeeper.store.views import find_row, key_of
from innkeeper.store.writer import Writer, Written


class SqliteOwnPushConfigs:
    """Implements ``ports.push.OwnPushConfigs``."""

    def __init__(self, readers: Readers, writer: Writer, owner: tuple[str, str]) -> None:
        self._readers = readers
        self._writer = writer
        self._owner = owner

    def put(self, task_id: str, config: PushConfig) -> Awaitable[PushConfig]:
        """Keep a configuration."""
        return self._writer.submit(
            lambda connection: Written(put(connection, self._task(connection, task_id), task_id, config))
        )

    async def find(self, task_id: str, config_id: str) -> PushConfig | None:
        """Read a configuration."""

        def read(connection: sqlite3.Connection) -> PushConfig | None:
            row = connection.execute(
                "SELECT url, id, token, scheme, credentials FROM push_configs WHERE task = ? AND id = ?",
                (self._task(connection, task_id), config_id),
            ).fetchone()
            return None if row is None else PushConfig(*row)

        return await self._readers.read(read)

    async def list(self, task_id: str, *, after: str, limit: int) -> PushPage:
        """Read a page."""

        def read(connection: sqlite3.Connection) -> PushPage:
            rows = connection.execute(
                "SELECT url, id, token, scheme, credentials FROM push_configs WHERE task = ? AND id > ?"
                " ORDER BY id LIMIT ?",
                (self._task(connection, task_id), after, limit + 1),
            ).fetchall()
            return PushPage(tuple(PushConfig(*row) for row in rows[:limit]), more=len(rows) > limit)

        return await self._readers.read(read)

    def delete(self, task_id: str, config_id: str) -> Awaitable[None]:
        """Forget a configuration."""

        def write(connection: sqlite3.Connection) -> Written[None]:
            names = (self._task(connection, task_id), config_id)
            connection.execute("DELETE FROM push_configs WHERE task = ? AND id = ?", names)
            return Written(None)

        return self._writer.submit(write)

    def _task(self, connection: sqlite3.Connection, task_id: str) -> int:
        row = find_row(connection, self._owner, task_id)
        if row is None:
            raise TaskNotFound
        return key_of(row)


def put(connection: sqlite3.Connection, task: int, task_id: str, config: PushConfig) -> PushConfig:
    """Keep a configuration with a task, given by its key and its id, and return it with its own id.

    Raises:
        InvalidParams: the task has ``CONFIGS_PER_TASK`` others.
    """
    named = replace(config, id=config.id or task_id)
    (others,) = connection.execute(
        "SELECT count(*) FROM push_configs WHERE task = ? AND id <> ?", (task, named.id)
    ).fetchone()
    if others >= CONFIGS_PER_TASK:
        raise InvalidParams(f"A task has {CONFIGS_PER_TASK} push notification configs at most")
    connection.execute(
        "INSERT INTO push_configs (task, id, url, token, scheme, credentials) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (task, id) DO UPDATE SET url = excluded.url, token = excluded.token, scheme = excluded.scheme,"
        " credentials = excluded.credentials",
        (task, named.id, named.url, named.token, named.scheme, named.credentials),
    )
    return named
