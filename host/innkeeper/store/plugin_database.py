"""What a plugin holds in its hands: its database, in and out of transactions."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Literal, TypeVar, final, overload

from innkeeper.contract.tables import Database, Parameters, Row, Scalar
from innkeeper.store import plugin_statements as statements
from innkeeper.store.levels import Level
from innkeeper.store.plugin_statements import Work

T = TypeVar("T")


@final
class PluginDatabase:
    """A database as the contract describes it, at one level: the file itself, or a transaction."""

    def __init__(self, level: Level) -> None:
        self._level = level

    async def _run(self, work: Work[T]) -> T:
        level = self._level.here()
        async with level.turn():
            return await level.run(work)

    async def execute(self, sql: str, parameters: Parameters = ()) -> int:
        """Run one statement and return how many rows it changed."""
        return await self._run(statements.execute(sql, parameters))

    async def executemany(self, sql: str, rows: Iterable[Parameters]) -> int:
        """Run a statement once per row, all of them or none, and return how many rows it has changed."""
        return await self._run(statements.executemany(sql, rows))

    @overload
    async def fetch_one(self, sql: str, parameters: Parameters = (), *, as_dict: Literal[False] = False) -> Row | None:
        pass

    @overload
    async def fetch_one(
        self, sql: str, parameters: Parameters = (), *, as_dict: Literal[True]
    ) -> dict[str, Scalar] | None:
        pass

    async def fetch_one(
        self, sql: str, parameters: Parameters = (), *, as_dict: bool = False
    ) -> Row | dict[str, Scalar] | None:
        """Run one statement and return its first row, None where there is none."""
        shape = statements.as_dict if as_dict else statements.as_tuple
        return await self._run(statements.fetch_one(sql, parameters, shape))

    @overload
    async def fetch_all(self, sql: str, parameters: Parameters = (), *, as_dict: Literal[False] = False) -> list[Row]:
        pass

    @overload
    async def fetch_all(
        self, sql: str, parameters: Parameters = (), *, as_dict: Literal[True]
    ) -> list[dict[str, Scalar]]:
        pass

    async def fetch_all(
        self, sql: str, parameters: Parameters = (), *, as_dict: bool = False
    ) -> list[Row] | list[dict[str, Scalar]]:
        """Run one statement and return its rows."""
        if as_dict:
            return await self._run(statements.fetch_all(sql, parameters, statements.as_dict))
        return await self._run(statements.fetch_all(sql, parameters, statements.as_tuple))

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Database]:
        """Make everything that the block says all or nothing."""
        async with self._level.here().transaction() as inner:
            yield PluginDatabase(inner)
