"""Opening: private files, one host, and no database that this code does not understand."""

import gc
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import anyio
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream

from innkeeper.contract.errors import StartFault, Unavailable
from innkeeper.ports.events import TERMINAL, State
from innkeeper.store import open_store, opening, schema
from innkeeper.store.data_dir import sole_use
from innkeeper.store.schema import Migration, migrations, prepare

pytestmark = pytest.mark.anyio

HOLD = """
import asyncio, sys
from pathlib import Path
from innkeeper.store import open_store

async def hold():
    async with open_store(Path(sys.argv[1]), lambda _: None):
        print("open", flush=True)
        sys.stdin.readline()

asyncio.run(hold())
"""


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def database(data_dir: Path, version: int = 0, rows: int = 0) -> Path:
    """A database of somebody's, in rollback mode, so that it is one file."""
    data_dir.mkdir()
    path = data_dir / "innkeeper.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE other (x)")
        connection.executemany("INSERT INTO other VALUES (?)", [("x" * 3000,)] * rows)
        connection.execute(f"PRAGMA user_version = {version}")
        connection.commit()
    return path


async def test_everything_in_the_data_directory_is_private(house):
    await house.admit()
    assert mode(house.data_dir) == 0o700
    assert {path.name: mode(path) for path in house.data_dir.iterdir()} == dict.fromkeys(
        ("innkeeper.db", "innkeeper.db-wal", "innkeeper.db-shm", "innkeeper.lock"), 0o600
    )


async def test_a_laxer_directory_and_laxer_files_are_tightened(data_dir):
    database(data_dir).chmod(0o644)
    (data_dir / "innkeeper.lock").touch(0o666)
    data_dir.chmod(0o755)
    async with open_store(data_dir, lambda _: None):
        assert mode(data_dir) == 0o700
        assert {mode(path) for path in data_dir.iterdir()} == {0o600}


async def test_files_are_durable_bounded_and_checked_for_references(house):
    def settings(connection):
        names = ("journal_mode", "synchronous", "foreign_keys", "journal_size_limit")
        return {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names}

    assert await house.store._writer._connection.run(settings) == {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "journal_size_limit": schema.JOURNAL_BYTES,
    }


async def test_readers_cannot_write(house):
    with pytest.raises(Unavailable) as caught:
        await house.store._readers.read(lambda connection: connection.execute("DELETE FROM tasks"))
    assert caught.value.__cause__.sqlite_errorname == "SQLITE_READONLY"


async def test_a_second_host_in_this_process_is_refused_by_the_name_of_the_directory(house):
    with pytest.raises(StartFault, match=f"data directory {house.data_dir}: another host is using it"):
        async with open_store(house.data_dir, lambda _: None):
            pass
    await house.admit()  # the first is none the worse


async def test_a_second_host_in_another_process_is_refused_until_that_ends(data_dir):
    async with await anyio.open_process([sys.executable, "-c", HOLD, str(data_dir)]) as other:
        assert await BufferedByteReceiveStream(other.stdout).receive_until(b"\n", 100) == b"open"
        with pytest.raises(StartFault, match="another host is using it"):
            async with open_store(data_dir, lambda _: None):
                pass
        other.kill()
        await other.wait()
    async with open_store(data_dir, lambda _: None):
        pass


async def test_a_process_that_has_closed_its_store_ends(data_dir):
    done = await anyio.run_process([sys.executable, "-c", HOLD, str(data_dir)], input=b"\n")
    assert done.stdout == b"open\n"


async def test_a_task_outlives_its_host(tmp_path, house):
    turn = await house.running()
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("innkeeper.db", "innkeeper.db-wal"):  # as a killed host would leave them
        (copy / name).write_bytes((house.data_dir / name).read_bytes())
    async with open_store(copy, lambda _: None) as store:
        (left,) = await store.unfinished()
        assert (left.id, left.task_id, left.attempt, left.gated, left.running) == (turn.id, turn.task_id, 1, True, True)
        view = await store.own_tasks("hello", "alice").find(turn.task_id)
        assert view.task.state is State.WORKING


async def test_a_database_newer_than_the_code_is_refused_and_left_as_it_is(data_dir):
    path = database(data_dir, version=99)
    before = path.read_bytes()
    with pytest.raises(
        StartFault, match=r"innkeeper\.db: written by a newer Innkeeper \(schema 99, this one knows \d+\)"
    ):
        async with open_store(data_dir, lambda _: None):
            pass
    assert path.read_bytes() == before


def overwritten(path: Path) -> None:
    path.write_bytes(b"not a database at all, but long enough to be one" * 100)


def truncated(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def scribbled(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(5 * 4096)
        file.write(b"\xff" * 4096)


@pytest.mark.parametrize("spoil", [overwritten, truncated, scribbled])
async def test_a_corrupt_database_is_refused_with_a_hint(data_dir, spoil):
    path = database(data_dir, rows=50)
    spoil(path)
    with pytest.raises(StartFault, match=f"database {path}: it is corrupt.*restore a backup"):
        async with open_store(data_dir, lambda _: None):
            pass


async def test_a_data_directory_that_is_a_file_is_refused(data_dir):
    data_dir.touch()
    with pytest.raises(StartFault, match=f"data directory {data_dir}: File exists"):
        async with open_store(data_dir, lambda _: None):
            pass


async def test_a_sqlite_that_is_too_old_is_refused(data_dir, monkeypatch):
    monkeypatch.setattr(opening, "OLDEST_SQLITE", (99, 0, 0))
    with pytest.raises(StartFault, match=r"99\.0\.0 or later is needed"):
        async with open_store(data_dir, lambda _: None):
            pass
    assert not data_dir.exists()


async def test_a_start_that_fails_half_way_leaves_nothing_open(data_dir, monkeypatch):
    def refuse(connection):
        raise sqlite3.OperationalError("no reader today")

    monkeypatch.setattr(opening, "prepare_reader", refuse)
    before = threading.active_count()
    with pytest.raises(StartFault, match="no reader today"):
        async with open_store(data_dir, lambda _: None):
            pass
    assert threading.active_count() == before
    monkeypatch.undo()
    async with open_store(data_dir, lambda _: None):  # the lock is free
        pass


async def test_a_cancelled_start_leaves_nothing_open(data_dir):
    before = threading.active_count()
    for _ in range(3):
        with anyio.CancelScope() as scope:
            scope.cancel()
            async with open_store(data_dir, lambda _: None):
                pass
        assert scope.cancelled_caught
    gc.collect()
    assert threading.active_count() == before


async def test_an_error_of_whoever_uses_the_store_is_theirs(data_dir):
    with pytest.raises(sqlite3.OperationalError, match="mine"):
        async with open_store(data_dir, lambda _: None):
            raise sqlite3.OperationalError("mine")


def test_migrations_are_numbered_from_one_without_gaps():
    assert [step.number for step in migrations()] == list(range(1, len(migrations()) + 1))


def test_a_migration_is_applied_with_its_number_or_not_at_all(tmp_path):
    path = tmp_path / "x.db"
    good, bad = Migration(1, "a", "CREATE TABLE a (x);"), Migration(2, "b", "CREATE TABLE b (x); CREATE TABLE a (x);")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        with pytest.raises(sqlite3.OperationalError, match="table a already exists"):
            prepare(connection, path, (good, bad))
        assert not connection.in_transaction
        assert connection.execute("SELECT name FROM sqlite_schema").fetchall() == [("a",)]
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
        prepare(connection, path, (good, Migration(2, "b", "CREATE TABLE b (x);")))  # only what is missing
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)


async def test_the_view_of_open_tasks_leaves_out_exactly_the_terminal_states(house):
    (sql,) = house.rows("SELECT sql FROM sqlite_schema WHERE name = 'open_tasks'")[0]
    assert {state for state in State if f"'{state}'" in sql} == TERMINAL


FORKS = """
import os, sys
from pathlib import Path
from innkeeper.store.data_dir import sole_use

with sole_use(Path(sys.argv[1])):
    if os.fork() == 0:
        print("forked", flush=True)
        sys.stdin.read()  # lives until the test closes its end
    os._exit(0)
"""


def test_a_forked_child_that_outlives_its_host_does_not_hold_the_lock(tmp_path):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen((sys.executable, "-c", FORKS, tmp_path), **pipes) as host:
        assert host.stdout.readline() == b"forked\n"
        assert host.wait(timeout=20) == 0
        with sole_use(tmp_path):
            assert host.stdin is not None
            host.stdin.close()
