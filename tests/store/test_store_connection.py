"""A connection runs one function per trip to its thread."""

import asyncio
import sqlite3
import threading

import pytest

from innkeeper.contract.errors import Unavailable
from innkeeper.store.connection import Connection, connect

pytestmark = pytest.mark.anyio


@pytest.fixture
async def connection(tmp_path):
    path = tmp_path / "x.db"
    path.touch()
    connection = await connect(path, lambda raw: raw.execute("CREATE TABLE t (x)"))
    yield connection
    await connection.close()


async def test_a_function_gets_the_connection_and_runs_in_one_trip_on_its_thread(connection):
    trips = []
    queue = connection._aiosqlite._tx
    queue_put = queue.put_nowait

    class Counted:
        get = queue.get

        @staticmethod
        def put_nowait(item):
            trips.append(item)
            queue_put(item)

    connection._aiosqlite._tx = Counted

    def work(raw):
        raw.execute("BEGIN")
        raw.execute("INSERT INTO t VALUES (1)")
        raw.execute("COMMIT")
        return type(raw), threading.current_thread(), raw.execute("SELECT x FROM t").fetchall()

    kind, thread, rows = await connection.run(work)
    assert (kind, rows) == (sqlite3.Connection, [(1,)])
    assert thread is connection._thread is not threading.current_thread()
    assert len(trips) == 1


async def test_an_error_of_the_function_comes_back_as_it_was(connection):
    with pytest.raises(sqlite3.OperationalError, match="no such table: nowhere"):
        await connection.run(lambda raw: raw.execute("SELECT * FROM nowhere"))


async def test_a_stop_iteration_does_not_leave_its_caller_waiting(connection):
    with pytest.raises(RuntimeError, match="StopIteration"):
        await connection.run(lambda raw: next(iter(())))


async def test_a_caller_that_is_cancelled_changes_nothing_for_the_function_or_for_others(connection):
    entered, leave = threading.Event(), threading.Event()

    def slow(raw):
        entered.set()
        leave.wait()
        raw.execute("INSERT INTO t VALUES ('slow')")

    caller = asyncio.create_task(connection.run(slow))
    await asyncio.to_thread(entered.wait)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    leave.set()
    assert await connection.run(lambda raw: raw.execute("SELECT x FROM t").fetchall()) == [("slow",)]


async def test_a_closed_connection_refuses_and_its_thread_is_gone(connection):
    assert connection.alive
    asked_before = asyncio.ensure_future(connection.run(lambda raw: "answered"))
    await asyncio.sleep(0)
    await connection.close()
    await connection.close()
    assert await asked_before == "answered"
    with pytest.raises(Unavailable):
        await connection.run(lambda raw: None)
    assert not connection.alive


@pytest.mark.parametrize("waits", range(4))
async def test_a_cancelled_connect_leaves_no_thread(tmp_path, waits):
    path = tmp_path / "x.db"
    path.touch()
    before = set(threading.enumerate())
    connecting = asyncio.create_task(connect(path, lambda raw: None))
    for _ in range(waits):
        await asyncio.sleep(0)
    connecting.cancel()
    await asyncio.wait({connecting})
    for thread in set(threading.enumerate()) - before:
        thread.join(timeout=5)
        assert not thread.is_alive()


async def test_a_file_that_is_not_there_is_not_made(tmp_path):
    connection = Connection(tmp_path / "none.db")
    with pytest.raises(sqlite3.OperationalError, match="unable to open"):
        await connection.open()
    assert not connection.alive
    assert not (tmp_path / "none.db").exists()
