"""The file of one plugin at one tenant: opened on use, closed when idle, and the version that is noted in it."""

import logging
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

from innkeeper.contract.errors import Unavailable
from innkeeper.store.authorizer import VERSIONS
from innkeeper.store.data_dir import make_private_directory, make_private_file
from innkeeper.store.fair_lock import FairLock
from innkeeper.store.schema import make_durable
from innkeeper.store.sql_thread import SharedThreads, SqlThread

T = TypeVar("T")

log = logging.getLogger(__name__)

_MAKE_VERSIONS: Final = f"""
CREATE TABLE IF NOT EXISTS main.{VERSIONS} (
  plugin TEXT PRIMARY KEY,
  version INTEGER NOT NULL,
  updated_at INTEGER NOT NULL  -- seconds since the Unix epoch
) STRICT"""


class OpenFiles:
    """The files that are open: beyond ``most``, those that have been idle longest are closed."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._files: dict[PluginFile, None] = {}  # in the order of their last use

    def used(self, file: "PluginFile") -> None:
        """Note that the file is open and in use."""
        self._files.pop(file, None)
        self._files[file] = None

    def closed(self, file: "PluginFile") -> None:
        """Note that the file is closed."""
        self._files.pop(file, None)

    async def trim(self) -> None:
        """Close what is too many; a file that is in use stays open."""
        while len(self._files) > self._most:
            idle = next((file for file in self._files if file.lock.idle), None)
            if idle is None:
                return
            await idle.close()


class PluginFile:
    """A database file. ``lock`` is held by whoever uses it; ``ended`` once the host is shutting down."""

    def __init__(self, path: Path, data_dir: Path, plugin: str, open_files: OpenFiles, threads: SharedThreads) -> None:
        self.path = path
        self.plugin = plugin
        self.lock = FairLock()
        self.ended = False
        self._data_dir = data_dir
        self._open_files = open_files
        self._threads = threads
        self._thread: SqlThread | None = None
        self._fenced = False

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run the work on a thread of the plugin; the file is opened, and made, where it is not.

        Raises:
            Unavailable: the host is shutting down.
            StartFault: the file cannot be made.
            sqlite3.Error: the file cannot be opened; whatever ``work`` raises.
        """
        thread = self._thread or await self._open()
        self._open_files.used(self)
        return await thread.run(work)

    async def run_to_its_end(self, work: Callable[[sqlite3.Connection], None]) -> None:
        """Interrupt what is running, then run the work whoever is cancelled; nothing where the file is closed."""
        if self._thread is not None:
            await self._thread.run_to_its_end(work)

    async def _open(self) -> SqlThread:
        self.refuse_when_ended()
        for directory in (self._data_dir, self.path.parent.parent, self.path.parent):
            make_private_directory(directory)
        make_private_file(self.path)
        thread = SqlThread(self.path, self._threads)
        await thread.open(lambda raw: make_durable(raw, self.path))
        self._fenced = False
        self._thread = thread
        if self.ended:
            await self.close()
        self.refuse_when_ended()
        return thread

    def refuse_when_ended(self) -> None:
        """Raise ``Unavailable`` where the host is shutting down."""
        if self.ended:
            raise Unavailable("The host is shutting down")

    async def trim(self) -> None:
        """Close files that are idle, where too many are open."""
        await self._open_files.trim()

    async def close(self) -> None:
        """Close the file, if it is open; the next use opens it again."""
        thread, self._thread = self._thread, None
        self._open_files.closed(self)
        if thread is not None:
            try:
                await thread.close()
            except sqlite3.Error:
                log.exception("%s could not be closed properly", self.path)

    def make_versions(self, raw: sqlite3.Connection) -> None:
        """Make the table of versions inside the transaction that is on."""
        raw.execute(_MAKE_VERSIONS)

    def fence(self, raw: sqlite3.Connection) -> None:
        """Make the table of versions before a plugin can make, or rename, one of its own to that."""
        if not self._fenced:
            self.make_versions(raw)
            self._fenced = True

    def read_version(self, raw: sqlite3.Connection) -> int:
        """Read the version that is noted, 0 where there is none."""
        if not raw.execute("SELECT 1 FROM main.sqlite_schema WHERE name = ?", (VERSIONS,)).fetchone():
            return 0
        found = raw.execute(f"SELECT version FROM main.{VERSIONS} WHERE plugin = ?", (self.plugin,)).fetchone()  # noqa: S608 - a constant
        return int(found[0]) if found else 0

    def write_version(self, raw: sqlite3.Connection, version: int) -> None:
        """Note the version."""
        raw.execute(
            f"INSERT INTO main.{VERSIONS} VALUES (?, ?, strftime('%s', 'now'))"  # noqa: S608 - a constant
            " ON CONFLICT (plugin) DO UPDATE SET version = excluded.version, updated_at = excluded.updated_at",
            (self.plugin, version),
        )


@contextmanager
def no_transaction_left(raw: sqlite3.Connection) -> Iterator[None]:
    """Begin and end without a transaction, whatever was left behind by an event loop that is no more."""
    if raw.in_transaction:
        raw.rollback()
    try:
        yield
    finally:
        if raw.in_transaction:
            raw.rollback()
