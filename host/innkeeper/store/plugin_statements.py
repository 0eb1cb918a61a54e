"""The statements of plugins: checked, run on a database thread within the rules, and their errors put into words."""

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias, TypeVar, cast

from innkeeper.contract.errors import InnkeeperError, StartFault, Unavailable
from innkeeper.contract.tables import ConstraintFailed, DatabaseError, Parameters, Row, Scalar
from innkeeper.store.authorizer import handed_over
from innkeeper.store.faults import unavailable

T = TypeVar("T")

Work: TypeAlias = Callable[[sqlite3.Connection], T]
"""Something to do on a database thread."""


def execute(sql: str, parameters: Parameters) -> Work[int]:
    """Return the work that runs a statement to its end and answers how many rows it changed."""
    plain = _plain(parameters)

    def work(connection: sqlite3.Connection) -> int:
        with handed_over(connection):
            cursor = connection.execute(sql, plain)
            for _ in cursor:  # the count is known once the last row is
                pass
            return max(cursor.rowcount, 0)

    return work


def executemany(sql: str, rows: Iterable[Parameters]) -> Work[int]:
    """Return the work that runs a statement for each row, all or nothing, and answers how many rows it changed."""
    ready = [_plain(row) for row in rows]

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
    plain = _plain(parameters)

    def work(connection: sqlite3.Connection) -> T | None:
        with handed_over(connection):
            cursor = connection.execute(sql, plain)
            row = cursor.fetchone()
            shaped = None if row is None else shape(cursor, row)
            cursor.close()  # it ends here: one that writes has written everything with its first row
            return shaped

    return work


def fetch_all(sql: str, parameters: Parameters, shape: Callable[[sqlite3.Cursor, Row], T]) -> Work[list[T]]:
    """Return the work that runs a statement and answers its rows."""
    plain = _plain(parameters)

    def work(connection: sqlite3.Connection) -> list[T]:
        with handed_over(connection):
            cursor = connection.execute(sql, plain)
            return [shape(cursor, row) for row in cursor]

    return work


def as_tuple(_cursor: sqlite3.Cursor, row: Row) -> Row:
    """Leave the row as it is."""
    return row


def as_dict(cursor: sqlite3.Cursor, row: Row) -> dict[str, Scalar]:
    """Name the columns of the row; of two with one name the last counts."""
    return {column[0]: value for column, value in zip(cursor.description, row, strict=True)}


_PLAIN: Final[Mapping[type, Callable[[Any], Scalar]]] = MappingProxyType(
    {
        bool: bool,
        int: int.__int__,
        float: float.__float__,
        str: str.__str__,
        bytes: lambda value: bytes(memoryview(value)),
    }
)
"""How a value of a column is made of an instance of a subclass, without asking that."""


def _plain(parameters: Parameters) -> tuple[Scalar, ...] | dict[str, Scalar]:
    """Copy parameters into plain values, here: on the database's thread nobody else's code may run.

    What SQLite has no type for is refused, before a converter that somebody has registered makes something of it.
    """
    if isinstance(parameters, (str, bytes)):
        raise DatabaseError("parameters are a sequence or a mapping of values, not one text")
    if isinstance(parameters, Mapping):
        return {str(name): _scalar(name, value) for name, value in parameters.items()}
    return tuple(_scalar(number, value) for number, value in enumerate(parameters, 1))


def _scalar(name: object, value: object) -> Scalar:
    if value is None or type(value) in _PLAIN:
        return cast("Scalar", value)
    for kind, plain in _PLAIN.items():
        if issubclass(type(value), kind):
            return plain(value)
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
