"""The tables: numbered migrations, applied in order, each with its number or not at all."""

import sqlite3
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final

from innkeeper.contract.errors import StartFault

CHECKED_BYTES: Final = 256 * 1024 * 1024
"""Up to this size a database is checked as a whole at start; a larger one only as it is read."""

JOURNAL_BYTES: Final = 64 * 1024 * 1024
"""What a write-ahead log keeps of the disk after it was larger."""


@dataclass(frozen=True, slots=True)
class Migration:
    """A step of the schema; ``number`` counts from 1 and is the database's ``user_version`` once it is applied."""

    number: int
    name: str
    sql: str


def migrations() -> tuple[Migration, ...]:
    """Read the migrations that come with the code, in order."""
    folder = files("innkeeper.store").joinpath("migrations")
    found = sorted((file for file in folder.iterdir() if file.name.endswith(".sql")), key=lambda file: file.name)
    return tuple(
        Migration(int(file.name.split("_")[0]), file.name.removesuffix(".sql"), file.read_text(encoding="utf-8"))
        for file in found
    )


def prepare(connection: sqlite3.Connection, path: Path, steps: tuple[Migration, ...]) -> None:
    """Check the database, make it durable and bring it up to date; one that is refused has not been written to.

    Raises:
        StartFault: it was written by newer code, is corrupt, or cannot have a write-ahead log.
        sqlite3.Error: it cannot be read or written.
    """
    version = _version(connection)
    known = steps[-1].number
    if version > known:
        raise StartFault(
            f"database {path}: written by a newer Innkeeper (schema {version}, this one knows {known}): "
            "upgrade Innkeeper, or use another data directory"
        )
    check(connection, path, CHECKED_BYTES)
    make_durable(connection, path)
    for step in steps:
        if step.number > version:
            _apply(connection, step)


def make_durable(connection: sqlite3.Connection, path: Path) -> None:
    """Keep a write-ahead log, bounded and synced with every commit, and enforce references.

    Raises:
        StartFault: the database cannot have a write-ahead log.
        sqlite3.Error: it cannot be read or written.
    """
    if connection.execute("PRAGMA journal_mode = WAL").fetchone() != ("wal",):
        raise StartFault(f"database {path}: its file system does not support a write-ahead log: use a local disk")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(f"PRAGMA journal_size_limit = {JOURNAL_BYTES}")
    connection.execute("PRAGMA foreign_keys = ON")


def prepare_reader(connection: sqlite3.Connection) -> None:
    """Make the connection one that cannot write."""
    connection.execute("PRAGMA query_only = ON")


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def check(connection: sqlite3.Connection, path: Path, up_to_bytes: int) -> None:
    """Check the database as a whole, unless it is larger.

    Raises:
        StartFault: it is corrupt.
    """
    if path.stat().st_size > up_to_bytes:
        return
    (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise StartFault(f"database {path}: it is corrupt: restore a backup, or move it away to start empty")


def _apply(connection: sqlite3.Connection, step: Migration) -> None:
    try:
        connection.executescript(f"BEGIN IMMEDIATE;\n{step.sql}\nPRAGMA user_version = {step.number};\nCOMMIT;")
    except BaseException:
        if connection.in_transaction:
            connection.rollback()
        raise
