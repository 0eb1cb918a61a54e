"""The databases of all plugins: ``plugins/<plugin>/<tenant>.db`` in the data directory."""

import asyncio
import re
import sqlite3
from functools import partial
from pathlib import Path
from typing import Final, final

from innkeeper.contract.errors import InnkeeperError, StartFault
from innkeeper.contract.tables import Database
from innkeeper.ports.plugin_data import Ensure, PluginDataFile
from innkeeper.store.faults import start_fault
from innkeeper.store.levels import Level
from innkeeper.store.plugin_database import PluginDatabase
from innkeeper.store.plugin_file import OpenFiles, PluginFile, no_transaction_left
from innkeeper.store.schema import check
from innkeeper.store.sql_thread import SharedThreads

CHECKED_BYTES: Final = 16 * 1024 * 1024
"""Up to this size a file is checked as a whole before its tables are brought up to date."""

THREADS_EACH: Final = 8
"""How many statements of one plugin run at the same time."""

_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?")


@final
class PluginDatabases:
    """Keeps a SQLite file per plugin and tenant.

    About ``max_open`` files are open: those in use, and of the others the ones used last. A plugin has at most
    ``THREADS_EACH`` threads for all of its files, so that its slow statements hold up nobody else's.
    """

    def __init__(self, data_dir: Path, *, max_open: int = 16) -> None:
        self._data_dir = data_dir
        self._levels: dict[tuple[str, str], Level] = {}
        self._open_files = OpenFiles(max_open)
        self._threads: dict[str, SharedThreads] = {}
        self._ended = False

    def database(self, plugin: str, tenant: str) -> Database:
        """Return the plugin's database at the tenant; nothing is opened or made before it is used."""
        return PluginDatabase(self._level(plugin, tenant))

    async def migrate(self, plugin: str, tenant: str, declared: int, ensure: Ensure) -> None:
        """Call ``ensure`` and note the declared version, both in one transaction.

        Raises:
            StartFault: the version on disk is newer than the declared one, or the file cannot be used.
        """
        level = self._level(plugin, tenant)
        file, explain = level.file, partial(_as_start_fault, level.file.path)
        async with level.transaction(explain, fenced=False) as inner:
            await inner.run(lambda raw: check(raw, file.path, CHECKED_BYTES), explain)
            version = await inner.run(file.read_version, explain)
            if version > declared:
                raise StartFault(
                    f"its tables have version {version} and the plugin knows "
                    f"{declared}: a downgrade is not supported, install the newer plugin or purge its data"
                )
            await inner.run(file.make_versions, explain)
            if version != declared:
                inner.last = lambda raw: file.write_version(raw, declared)
            await ensure(PluginDatabase(inner), version)

    async def version(self, plugin: str, tenant: str) -> int | None:
        """Return the version of the tables on disk, 0 where none was noted, None where there is no data.

        Raises:
            StartFault: the file cannot be used.
        """
        level = self._level(plugin, tenant)
        async with level.turn():
            if not level.file.path.exists():
                return None

            def read(raw: sqlite3.Connection) -> int:
                with no_transaction_left(raw):
                    return level.file.read_version(raw)

            try:
                return await level.file.run(read)
            except sqlite3.Error as error:
                raise start_fault(level.file.path, error) from error

    async def describe(self, plugin: str, tenant: str) -> PluginDataFile | None:
        """Describe the data of the plugin at the tenant, None where there is none.

        Raises:
            StartFault: the file cannot be used.
        """
        version = await self.version(plugin, tenant)
        if version is None:
            return None
        path = self._level(plugin, tenant).file.path
        return PluginDataFile(str(path), sum(each.stat().st_size for each in _files_of(path)), version)

    async def purge(self, plugin: str, tenant: str) -> bool:
        """Remove the data of the plugin at the tenant for good, and tell whether there was any.

        Raises:
            StartFault: the files cannot be removed.
        """
        level = self._level(plugin, tenant)
        async with level.turn():
            await level.file.close()
            return _remove(level.file.path)

    def tenants_of(self, plugin: str) -> tuple[str, ...]:
        """Return the tenants at which the plugin has data, in order."""
        return tuple(sorted(path.name.removesuffix(".db") for path in self._folder(plugin).glob("*.db")))

    async def aclose(self) -> None:
        """Close every file and open none any more; a statement that runs is interrupted, a transaction undone."""
        files = [level.file for level in self._levels.values()]
        self._ended = True
        for file in files:
            file.ended = True
        await asyncio.gather(*(file.close() for file in files))  # together: each interrupts what keeps its threads

    def _level(self, plugin: str, tenant: str) -> Level:
        if (plugin, tenant) not in self._levels:
            path = self._folder(plugin) / f"{_checked(tenant)}.db"
            threads = self._threads.setdefault(plugin, SharedThreads(THREADS_EACH, f"database of {plugin}"))
            file = PluginFile(path, self._data_dir, plugin, self._open_files, threads)
            file.ended = self._ended
            self._levels[plugin, tenant] = Level(file)
        return self._levels[plugin, tenant]

    def _folder(self, plugin: str) -> Path:
        return self._data_dir / "plugins" / _checked(plugin)


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name of a plugin or tenant")
    return name


def _as_start_fault(path: Path, error: Exception) -> Exception:
    match error:
        case InnkeeperError():
            return error
        case sqlite3.Error():
            return start_fault(path, error)
        case _:
            return StartFault(f"database {path}: {error}")


def _files_of(path: Path) -> list[Path]:
    """Return the files of a database that are there: its own last, so that whoever removes them begins with the log."""
    names = (path.name + "-shm", path.name + "-wal", path.name)
    return [each for name in names if (each := path.with_name(name)).exists()]


def _remove(path: Path) -> bool:
    files = _files_of(path)
    try:
        for file in files:
            file.unlink()
    except OSError as error:
        raise StartFault(f"file {path}: it cannot be removed: {error.strerror}") from error
    return bool(files)
