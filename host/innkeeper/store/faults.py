"""What SQLite's errors mean to whoever is waiting for the store."""

import sqlite3
from pathlib import Path
from typing import Final

from innkeeper.contract.errors import StartFault, Unavailable

_PRIMARY: Final = 0xFF
"""The low byte of an extended result code is the primary one (https://sqlite.org/rescode.html)."""

_HINTS: Final = {
    sqlite3.SQLITE_NOTADB: "it is corrupt or no database: restore a backup, or move it away to start empty",
    sqlite3.SQLITE_CORRUPT: "it is corrupt: restore a backup, or move it away to start empty",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened: check its owner and permissions",
    sqlite3.SQLITE_PERM: "it cannot be opened: check its owner and permissions",
    sqlite3.SQLITE_READONLY: "it cannot be written: check its owner and permissions",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_IOERR: "the disk does not answer properly",
    sqlite3.SQLITE_NOMEM: "the memory is exhausted",
    sqlite3.SQLITE_BUSY: "another process keeps it locked",
    sqlite3.SQLITE_LOCKED: "another process keeps it locked",
    sqlite3.SQLITE_PROTOCOL: "another process keeps it locked",
}


def _code(error: BaseException) -> int:
    return getattr(error, "sqlite_errorcode", 0) & _PRIMARY if isinstance(error, sqlite3.Error) else 0


def start_fault(path: Path, error: sqlite3.Error) -> StartFault:
    """Tell an operator why the database cannot be used, and what to do."""
    return StartFault(f"database {path}: {_HINTS.get(_code(error), str(error))}")


def unavailable(error: BaseException) -> Unavailable | None:
    """Return the answer to a caller for an error of disk, file or lock; None for any other error."""
    if _code(error) not in _HINTS:
        return None
    answer = Unavailable("The host cannot store or read this now")
    answer.__cause__ = error
    return answer
