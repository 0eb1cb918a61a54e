"""A migration that breaks off: nothing of it may stay."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, cast, final

from innkeeper.contract.tables import Database, DatabaseError, Parameters
from innkeeper.registry.facade import Hooks
from innkeeper.registry.fanout import HookFailed
from innkeeper.store.plugin_databases import PluginDatabases
from innkeeper.testing.findings import Finding, error

MOST: Final = 20
"""How many statements of a migration are made to fail, one in each try."""


class _OnPurpose(DatabaseError):
    pass


async def half_way(hooks: Hooks, plugin: str, declared: int, folder: Path) -> list[Finding]:
    """Let each statement of ``ensure_tables`` fail in turn, and see that the hook does not go on as if it had not."""
    data = PluginDatabases(folder)
    try:
        for statement in range(1, MOST + 1):
            tenant = f"fails-{statement}"
            tried: list[_Failing] = []

            async def ensure(db: Database, version: int, at: int = statement, tried: list[_Failing] = tried) -> None:
                tried.append(_Failing(db, at))
                await hooks.ensure_tables(plugin, cast("Database", tried[0]), version)

            try:
                await data.migrate(plugin, tenant, declared, ensure)
            except (HookFailed, DatabaseError):
                if not tried[0].failed:
                    return []  # it fails by itself: the start has said so
            else:
                if not tried[0].failed:
                    return []  # all statements have been tried
                what = f"ensure_tables takes half of it for the whole: it goes on after statement {statement} failed"
                return [error(what, "Let the error pass: the host undoes everything and reports it.")]
    finally:
        await data.aclose()
    return []


@final
class _Failing:
    """A database that refuses one statement; it says so in ``failed``."""

    def __init__(self, db: Database, statement: int) -> None:
        self._db = db
        self._left = statement
        self.failed = False

    async def execute(self, sql: str, parameters: Parameters = ()) -> int:
        self._count(sql)
        return await self._db.execute(sql, parameters)

    async def executemany(self, sql: str, rows: Iterable[Parameters]) -> int:
        self._count(sql)
        return await self._db.executemany(sql, rows)

    async def fetch_one(self, sql: str, parameters: Parameters = (), *, as_dict: bool = False) -> Any:
        self._count(sql)
        return await (
            self._db.fetch_one(sql, parameters, as_dict=True) if as_dict else self._db.fetch_one(sql, parameters)
        )

    async def fetch_all(self, sql: str, parameters: Parameters = (), *, as_dict: bool = False) -> Any:
        self._count(sql)
        return await (
            self._db.fetch_all(sql, parameters, as_dict=True) if as_dict else self._db.fetch_all(sql, parameters)
        )

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator["_Failing"]:
        async with self._db.transaction():
            yield self

    def _count(self, sql: str) -> None:
        self._left -= 1
        if self._left == 0:
            self.failed = True
            raise _OnPurpose(f"refused on purpose, to see whether that is noticed: {sql:.60}")
