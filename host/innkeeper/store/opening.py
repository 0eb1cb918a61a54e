"""Opening a store and closing it: everything it owns is opened and closed here."""

import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

import anyio

from innkeeper.contract.errors import StartFault
from innkeeper.ports.events import EventSink
from innkeeper.store.connection import Connection, connect
from innkeeper.store.data_dir import DATABASE, make_private_directory, make_private_file, sole_use
from innkeeper.store.faults import start_fault
from innkeeper.store.files_in_place import FilesInPlace
from innkeeper.store.readers import Readers
from innkeeper.store.schema import migrations, prepare, prepare_reader
from innkeeper.store.sqlite_store import SqliteStore
from innkeeper.store.transactions import Transactions
from innkeeper.store.writer import Writer

OLDEST_SQLITE: Final = (3, 37, 0)
"""The first with strict tables; RETURNING came before."""

READERS: Final = 3
"""How many connections read."""


@asynccontextmanager
async def open_store(data_dir: Path, sink: EventSink) -> AsyncIterator[SqliteStore]:
    """Open the store in a directory that is made where it is missing, and close it again.

    On leaving, what has been submitted is written first.

    Raises:
        StartFault: another host uses the directory, it is not ours to use, its database is newer than the code or
            corrupt, or this Python's SQLite is too old.
    """
    _check_sqlite()
    make_private_directory(data_dir)
    database = data_dir / DATABASE
    owned = AsyncExitStack()
    try:
        owned.enter_context(sole_use(data_dir))
        make_private_file(database)
        yield await _open(database, sink, owned)
    finally:
        with anyio.CancelScope(shield=True):
            await owned.aclose()


async def _open(database: Path, sink: EventSink, owned: AsyncExitStack) -> SqliteStore:
    steps = migrations()

    async def own(prepared: Callable[[sqlite3.Connection], None]) -> Connection:
        connection = await connect(database, prepared)
        owned.push_async_callback(connection.close)
        return connection

    try:
        writing = await own(lambda raw: prepare(raw, database, steps))
        readers = Readers([await own(prepare_reader) for _ in range(READERS)])
        writer = Writer(writing, await writing.run(Transactions), FilesInPlace(database), sink)
    except sqlite3.Error as error:
        raise start_fault(database, error) from error
    owned.push_async_callback(writer.close)
    return SqliteStore(readers, writer)


def _check_sqlite() -> None:
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        wanted = ".".join(map(str, OLDEST_SQLITE))
        raise StartFault(f"this Python comes with SQLite {sqlite3.sqlite_version}: {wanted} or later is needed")
