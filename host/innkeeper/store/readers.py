"""A few connections that only read, beside the one that writes."""

import sqlite3
from collections.abc import Callable, Sequence
from typing import TypeVar

from innkeeper.store.connection import Connection
from innkeeper.store.faults import unavailable

T = TypeVar("T")


class Readers:
    """A pool of reading connections."""

    def __init__(self, connections: Sequence[Connection]) -> None:
        self._waiting = dict.fromkeys(connections, 0)

    async def read(self, function: Callable[[sqlite3.Connection], T]) -> T:
        """Run the function on the connection with the shortest queue; all that it reads is of one moment.

        Raises:
            Unavailable: the database cannot be read now, or is closed.
        """
        connection = min(self._waiting, key=self._waiting.__getitem__)
        self._waiting[connection] += 1
        try:
            return await connection.run(lambda raw: _in_one_moment(raw, function))
        except sqlite3.Error as error:
            raise unavailable(error) or error from error
        finally:
            self._waiting[connection] -= 1


def _in_one_moment(connection: sqlite3.Connection, function: Callable[[sqlite3.Connection], T]) -> T:
    connection.execute("BEGIN")
    try:
        return function(connection)
    finally:
        connection.rollback()
