"""The statements of plugins: checked, run on a database thread within the rules, and their errors put into words."""

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias, TypeVar

from innkeeper.contract.errors import InnkeeperError, StartFault, Unavailable
from innkeeper.contract.tables import ConstraintFailed, DatabaseError, Parameters, Row, Scalar
from innkeeper.store.authorizer import handed_over
from innkeeper.store.faults import unavailable

T = TypeVar("T")

Work: TypeAlias = Callable[[sqlite3.Connection], T]
"""Something to do on a database thread."""


def execute(sql: str, parameters: Parameters) -> Work[int]:
    """Return the work that runs a statement to its end and answers how many rows it changed."""
    _check(parameters)

    def work(connection: sqlite3.Connection) -> int:
        with handed_over(connection):
            cursor = connection.execute(sql, parameters)
            for _ in cursor:  # the count is known once the last row is
                pass
            return max(cursor.rowcount, 0)

    return work


def executemany(sql: str, rows: Iterable[Parameters]) -> Work[int]:
    """Return the work that runs a statement for each row, all or nothing, and answers how many rows it changed."""
    ready = list(rows)
    for row in ready:
        _check(row)

    def work(connection: sqlite3.Connection) -> int:
        connection.execute("SAVEPOINT statement")
        try:
            with handed_over(connection):
                changed = max(connection.executemany(sql, ready).rowcount, 0)
            connection.execute("RELEASE statement")
        except BaseException:
            if connection.in_transaction:  # some errors have undone more than the statement
                connection.execute("ROLLBACK TO statement")
                connection.execute("RELEASE statement")
            raise
        return changed

    return work


def fetch_one(sql: str, parameters: Parameters, shape: Callable[[sqlite3.Cursor, Row], T]) -> Work[T | None]:
    """Return the work that runs a statement and answers its first row."""
    _check(parameters)

    def work(connection: sqlite3.Connection) -> T | None:
        with handed_over(connection):
            cursor = connection.execute(sql, parameters)
            row = cursor.fetchone()
            shaped = None if row is None else shape(cursor, row)
            cursor.close()  # it ends here: one that writes has written everything with its first row
            return shaped

    return work


def fetch_all(sql: str, parameters: Parameters, shape: Callable[[sqlite3.Cursor, Row], T]) -> Work[list[T]]:
    """Return the work that runs a statement and answers its rows."""
    _check(parameters)

    def work(connection: sqlite3.Connection) -> list[T]:
        with handed_over(connection):
            cursor = connection.execute(sql, parameters)
            return [shape(cursor, row) for row in cursor]

    return work


def as_tuple(_cursor: sqlite3.Cursor, row: Row) -> Row:
    """Leave the row as it is."""
    return row


def as_dict(cursor: sqlite3.Cursor, row: Row) -> dict[str, Scalar]:
    """Name the columns of the row; of two with one name the last counts."""
    return {column[0]: value for column, value in zip(cursor.description, row, strict=True)}


_SCALARS: Final = (type(None), int, float, str, bytes)


def _check(parameters: Parameters) -> None:
    """Refuse what SQLite has no type for, before a converter that somebody has registered makes something of it."""
    if isinstance(parameters, (str, bytes)):
        raise DatabaseError("parameters are a sequence or a mapping of values, not one text")
    named = parameters.items() if isinstance(parameters, Mapping) else enumerate(parameters, 1)
    for name, value in named:
        if not isinstance(value, _SCALARS):
            raise DatabaseError(f"parameter {name} is a {type(value).__name__}: a column holds {_HELD}")


_HELD: Final = "None, int, float, str or bytes"


def answer_to(error: Exception) -> InnkeeperError:
    """Put what went wrong with a statement into the contract's words."""
    match error:
        case InnkeeperError() if not isinstance(error, StartFault):
            return error
        case StartFault() | OSError():
            answer: InnkeeperError = Unavailable("The host cannot store or read this now")
        case sqlite3.IntegrityError():
            answer = ConstraintFailed(str(error))
        case sqlite3.Error():
            answer = unavailable(error) or DatabaseError(str(error))
        case _:
            answer = DatabaseError(f"{type(error).__name__}: {error}")
    answer.__cause__ = error
    return answer


FORESEEN: Final = (InnkeeperError, sqlite3.Error, OSError, OverflowError, UnicodeError)
"""What may go wrong with a statement: beside SQLite's own, a number or a text that SQLite cannot hold."""
