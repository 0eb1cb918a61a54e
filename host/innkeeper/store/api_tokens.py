"""The tokens that the host issues: looked up by the host, written by commands beside it."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from innkeeper.ports.tokens import ApiToken
from innkeeper.store.connection import BUSY_TIMEOUT_SECONDS
from innkeeper.store.data_dir import DATABASE, make_private_directory, make_private_file, sole_use
from innkeeper.store.faults import start_fault
from innkeeper.store.readers import Readers
from innkeeper.store.schema import migrations, prepare

_COLUMNS = (
    "id, name, caller, tenants, operator, created_at_us, expires_at_us, digest, previous_digest, previous_until_us"
)


class SqliteApiTokens:
    """Implements ``ports.tokens.ApiTokens``: every look-up reads the database, so that a change holds at once."""

    def __init__(self, readers: Readers) -> None:
        self._readers = readers

    async def find(self, token_id: str) -> ApiToken | None:
        """Return the token of that id."""
        return await self._readers.read(lambda connection: _find(connection, token_id))


class TokenBook:
    """Every token, to be read and changed: each change is on disk when its method returns."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def all(self) -> tuple[ApiToken, ...]:
        """Return the tokens, the oldest first."""
        rows = self._connection.execute(f"SELECT {_COLUMNS} FROM api_tokens ORDER BY created_at_us, id")  # noqa: S608 - a constant
        return tuple(map(_token_from_row, rows))

    def add(self, token: ApiToken) -> None:
        """Keep a new token."""
        self._connection.execute(
            f"INSERT INTO api_tokens ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - a constant
            (
                token.id,
                token.name,
                token.caller,
                json.dumps(token.tenants),
                token.operator,
                token.created_at_us,
                token.expires_at_us,
                token.digest,
                token.previous_digest,
                token.previous_until_us,
            ),
        )

    def rotate(self, token_id: str, digest: bytes, previous_until_us: int) -> bool:
        """Give the token another secret; the one it has works until then. False if there is no such token."""
        changed = self._connection.execute(
            "UPDATE api_tokens SET previous_digest = digest, previous_until_us = ?, digest = ? WHERE id = ?",
            (previous_until_us, digest, token_id),
        )
        return changed.rowcount == 1

    def revoke(self, token_id: str) -> bool:
        """Forget the token; nobody comes in by it any more. False if there is no such token."""
        return self._connection.execute("DELETE FROM api_tokens WHERE id = ?", (token_id,)).rowcount == 1


@contextmanager
def open_token_book(data_dir: Path) -> Iterator[TokenBook]:
    """Open the tokens of a data directory, whether or not a host runs there, and close them again.

    Raises:
        StartFault: the directory or its database is not to be used, or a host uses it that is older than this code.
    """
    make_private_directory(data_dir)
    database = data_dir / DATABASE
    make_private_file(database)
    try:
        with closing(sqlite3.connect(database, isolation_level=None, timeout=BUSY_TIMEOUT_SECONDS)) as connection:
            _bring_up_to_date(connection, data_dir)
            yield TokenBook(connection)
    except sqlite3.Error as error:
        raise start_fault(database, error) from error


def _bring_up_to_date(connection: sqlite3.Connection, data_dir: Path) -> None:
    steps = migrations()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == steps[-1].number:
        connection.execute("PRAGMA synchronous = FULL")
        return
    with sole_use(data_dir):  # while a host runs, its schema is its own affair
        prepare(connection, data_dir / DATABASE, steps)


def _find(connection: sqlite3.Connection, token_id: str) -> ApiToken | None:
    row = connection.execute(f"SELECT {_COLUMNS} FROM api_tokens WHERE id = ?", (token_id,)).fetchone()  # noqa: S608 - a constant
    return None if row is None else _token_from_row(row)


def _token_from_row(row: tuple[object, ...]) -> ApiToken:
    token = ApiToken(*row)  # type: ignore[arg-type]  # the table is strict
    return replace(token, tenants=tuple(json.loads(str(row[3]))), operator=bool(row[4]))
