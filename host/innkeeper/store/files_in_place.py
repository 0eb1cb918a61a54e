"""The files beneath an open database: whether they are still the ones at their paths, and how long the log has grown.

SQLite goes on writing to a file that has been removed or replaced, and reports success: the next start knows nothing
of what was written there.
"""

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, final

LONG_LOG_BYTES: Final = 16 * 1024 * 1024
"""From this size on the write-ahead log is emptied, whether or not somebody is always reading."""

EMPTYING_SECONDS: Final = 0.05
"""How long a commit that comes next may have to wait for that."""

EMPTYING_AGAIN_SECONDS: Final = 5.0
"""How soon it is tried again after somebody has kept it from being done."""


@final
class FilesInPlace:
    """A database that is open and in write-ahead mode, and its log; made while both are there."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._log = path.with_name(path.name + "-wal")
        self._opened = (_identity(path), _identity(self._log))
        self._clock = clock
        self._not_before = clock()

    @property
    def moved(self) -> bool:
        """Whether what is written now is lost: a file has been removed, replaced or moved away."""
        try:
            return (_identity(self._path), _identity(self._log)) != self._opened
        except OSError:
            return True

    def refuse_when_moved(self) -> None:
        """Raise what SQLite would raise if it looked.

        Raises:
            sqlite3.OperationalError: SQLITE_READONLY_DBMOVED.
        """
        if self.moved:
            error = sqlite3.OperationalError(
                f"{self._path} or its -wal was removed or replaced while the host runs: put both back, or restart"
            )
            error.sqlite_errorcode = sqlite3.SQLITE_READONLY_DBMOVED
            error.sqlite_errorname = "SQLITE_READONLY_DBMOVED"
            raise error

    def empty_long_log(self, connection: sqlite3.Connection) -> None:
        """Empty the log where it is long; where a reader is in the way, some other time.

        SQLite by itself begins the log anew only in a moment without readers, which may never come.
        """
        if self._clock() < self._not_before or self._log.stat().st_size < LONG_LOG_BYTES:
            return
        (patience_ms,) = connection.execute("PRAGMA busy_timeout").fetchone()
        connection.execute(f"PRAGMA busy_timeout = {EMPTYING_SECONDS * 1000:.0f}")
        try:
            (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        finally:
            connection.execute(f"PRAGMA busy_timeout = {patience_ms:d}")
        if busy:
            self._not_before = self._clock() + EMPTYING_AGAIN_SECONDS


def _identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino
