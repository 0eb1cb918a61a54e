"""A plugin's own database: what it may say to it, and what it gets back."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Literal, Protocol, TypeAlias, overload

from innkeeper.contract.errors import InnkeeperError

Scalar: TypeAlias = int | float | str | bytes | None
"""What a column holds."""

Row: TypeAlias = tuple[Scalar, ...]

Parameters: TypeAlias = Sequence[Scalar] | Mapping[str, Scalar]
"""Values for ``?`` in order, or for ``:name`` by name."""


class DatabaseError(InnkeeperError):
    """A statement that did not work, in SQLite's own words; nothing of it is stored."""


class ConstraintFailed(DatabaseError):
    """A row that the tables do not admit: not unique, empty where it must not be, without the row it refers to."""


class StatementDenied(DatabaseError):
    """A statement that is not a plugin's to make; the message names what it was about to do."""


class Database(Protocol):
    """The database of one plugin at one tenant, nobody else's.

    One statement at a time, each of them all or nothing. Statements that begin or end transactions, ATTACH, VACUUM,
    temporary tables, most pragmas and writes to ``plugin_migrations`` are denied; foreign keys are enforced.
    A cancelled statement is interrupted: it has happened or it has not, and outside a transaction nobody says which.

    Every method raises:
        ConstraintFailed: the tables do not admit it.
        StatementDenied: it is not a plugin's to say.
        DatabaseError: anything else that is wrong with the statement or its parameters.
        Unavailable: disk, file or lock do not allow it now, or the host is shutting down.
    """

    async def execute(self, sql: str, parameters: Parameters = ()) -> int:
        """Run one statement and return how many rows it inserted, changed or deleted."""
        ...

    async def executemany(self, sql: str, rows: Iterable[Parameters]) -> int:
        """Run a statement that writes once per row, all of them or none; return how many rows it has changed."""
        ...

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
        ...

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
        ...

    def transaction(self) -> AbstractAsyncContextManager["Database"]:
        """Make everything that the block says all or nothing: ``async with db.transaction():``.

        Committed where the block ends, undone where it raises or is cancelled. The block, the tasks it starts and
        what they call are inside, whether they use ``db`` or the handle that the block is given; everybody else waits
        until it is over. That handle refuses once the block has ended. A transaction within a transaction can be
        undone alone, and is stored when the outermost one is.
        """
        ...
