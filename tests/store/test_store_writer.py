"""The writer: many submissions, few commits; told after the commit, in its order; and nobody waits for nothing."""

import asyncio
import sqlite3
import threading
from contextlib import closing

import anyio
import pytest
from aiosqlite.core import _STOP_RUNNING_SENTINEL

from innkeeper.contract.errors import TaskNotFound, Unavailable
from innkeeper.ports.events import Committed
from innkeeper.store import writer as writers
from innkeeper.store.connection import connect
from innkeeper.store.files_in_place import FilesInPlace
from innkeeper.store.transactions import Transactions
from innkeeper.store.writer import BATCH, Writer, Written

pytestmark = pytest.mark.anyio


class Desk:
    """A writer on a table, with all that it tells and when."""

    def __init__(self, path, connection):
        self.path = path
        self.connection = connection
        self.told = []
        self.commits = []
        self.failing_listeners = False

    def sink(self, committed):
        self.told.append(("event", committed.task_id, committed.task_id in self.stored()))
        if self.failing_listeners:
            raise RuntimeError("a listener's own mistake")

    def then(self, answer):
        self.told.append(("then", answer, answer in self.stored()))
        if self.failing_listeners:
            raise RuntimeError("a listener's own mistake")

    def stored(self):
        with closing(sqlite3.connect(self.path)) as other:
            return [x for (x,) in other.execute("SELECT x FROM t ORDER BY rowid")]

    def submit(self, x, *, gate=None, **options):
        def work(connection):
            if gate is not None:
                gate.pass_through()
            connection.execute("INSERT INTO t VALUES (?)", (x,))
            return Written(x, (Committed(x, 1, b"", None),))

        return self.writer.submit(work, **options)

    def refuse(self, error):
        def work(connection):
            connection.execute("INSERT INTO t VALUES ('undone')")
            raise error

        return self.writer.submit(work)


class Gate:
    """Holds the database thread until it is opened."""

    def __init__(self):
        self.entered, self.opened = threading.Event(), threading.Event()

    def pass_through(self):
        self.entered.set()
        assert self.opened.wait(timeout=30)


@pytest.fixture
async def desk(tmp_path):
    path = tmp_path / "x.db"
    path.touch()

    def prepare(raw):
        raw.execute("PRAGMA journal_mode = WAL")
        raw.execute("CREATE TABLE t (x)")
        raw.set_trace_callback(lambda sql: desk.commits.append(sql) if sql.startswith("COMMIT") else None)

    desk = Desk(path, None)
    desk.connection = await connect(path, prepare)
    desk.writer = Writer(desk.connection, await desk.connection.run(Transactions), FilesInPlace(path), desk.sink)
    yield desk
    await desk.writer.close()
    await desk.connection.close()


async def test_what_queues_together_is_committed_together(desk):
    names = [str(n) for n in range(BATCH)]
    assert await asyncio.gather(*(desk.submit(name) for name in names)) == names
    assert desk.stored() == names
    assert len(desk.commits) == 1


async def test_a_batch_is_bounded(desk):
    await asyncio.gather(*(desk.submit(str(n)) for n in range(2 * BATCH + 1)))
    assert len(desk.commits) == 3


async def test_what_is_submitted_during_a_commit_shares_the_next(desk):
    gate = Gate()
    first = desk.submit("first", gate=gate)
    await asyncio.to_thread(gate.entered.wait)
    rest = [desk.submit(str(n)) for n in range(50)]
    gate.opened.set()
    await asyncio.gather(first, *rest)
    assert len(desk.commits) == 2


async def test_listeners_hear_after_the_commit_in_its_order_events_first(desk):
    await asyncio.gather(*(desk.submit(x, then=desk.then) for x in "abc"))
    assert desk.told == [(kind, x, True) for x in "abc" for kind in ("event", "then")]


async def test_the_caller_hears_last(desk):
    future = desk.submit("a", then=desk.then)
    future.add_done_callback(lambda _: desk.told.append("caller"))
    await future
    await asyncio.sleep(0)
    assert desk.told[-1] == "caller"
    assert len(desk.told) == 3


async def test_refused_work_tells_its_caller_alone(desk):
    outcomes = await asyncio.gather(
        desk.submit("a"), desk.refuse(TaskNotFound("mine")), desk.submit("b"), return_exceptions=True
    )
    assert outcomes[::2] == ["a", "b"]
    assert isinstance(outcomes[1], TaskNotFound)
    assert desk.stored() == ["a", "b"]
    assert [told[1] for told in desk.told] == ["a", "b"]


@pytest.mark.parametrize("error", [StopIteration(), asyncio.CancelledError()])
async def test_an_error_that_no_future_can_carry_arrives_as_another(desk, error):
    with pytest.raises(RuntimeError, match=type(error).__name__):
        await desk.refuse(error)
    assert await desk.submit("next") == "next"


async def test_listeners_that_fail_are_logged_and_stop_nobody(desk, caplog):
    desk.failing_listeners = True
    assert await asyncio.gather(*(desk.submit(x, then=desk.then) for x in "ab")) == ["a", "b"]
    assert [told[:2] for told in desk.told] == [(kind, x) for x in "ab" for kind in ("event", "then")]
    assert caplog.messages == ["a listener of the store failed"] * 4


async def test_the_work_of_a_cancelled_caller_is_done_and_told(desk):
    gate = Gate()
    futures = [desk.submit("running", gate=gate, then=desk.then), desk.submit("queued", then=desk.then)]
    callers = [asyncio.ensure_future(asyncio.wait_for(future, None)) for future in futures]
    await asyncio.to_thread(gate.entered.wait)
    for caller in callers:
        caller.cancel()
    await asyncio.wait(callers)
    gate.opened.set()
    await desk.submit("last")
    assert desk.stored() == ["running", "queued", "last"]
    assert [told[1] for told in desk.told if told[0] == "then"] == ["running", "queued"]


async def test_an_error_that_nobody_waits_for_is_logged_unless_it_is_an_answer(desk, caplog):
    for error in (TaskNotFound("an answer"), ValueError("a mistake")):
        desk.refuse(error).cancel()
    await desk.submit("last")
    assert "a mistake" in caplog.text
    assert "an answer" not in caplog.text


async def test_a_full_disk_answers_unavailable_and_what_fits_is_stored(desk):
    def fill(connection):
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages + 8}")

    await desk.connection.run(fill)
    small, big, after = await asyncio.gather(
        desk.submit("a"), desk.submit("b" * 100_000), desk.submit("c"), return_exceptions=True
    )
    assert (small, after) == ("a", "c")
    assert isinstance(big, Unavailable)
    assert big.__cause__.sqlite_errorname == "SQLITE_FULL"
    assert [told[1] for told in desk.told] == ["a", "c"]


async def test_a_disk_that_takes_writes_again_is_noticed_although_nobody_writes(desk, monkeypatch):
    monkeypatch.setattr(writers, "PROBE_SECONDS", 0.01)
    await desk.connection.run(lambda raw: raw.execute("PRAGMA query_only = 1"))
    with pytest.raises(Unavailable):
        await desk.submit("a")
    assert desk.writer.failing
    await desk.connection.run(lambda raw: raw.execute("PRAGMA query_only = 0"))
    with anyio.fail_after(10):
        while desk.writer.failing:
            await anyio.lowlevel.checkpoint()
    assert desk.stored() == []


@pytest.mark.parametrize("suffix", ["", "-wal"])
async def test_a_file_that_is_moved_away_takes_nothing_until_it_is_back(desk, monkeypatch, caplog, suffix):
    monkeypatch.setattr(writers, "PROBE_SECONDS", 0.01)
    file, away = desk.path.with_name(desk.path.name + suffix), desk.path.with_name("away")
    await desk.submit("before")
    file.rename(away)
    assert desk.writer.failing
    with pytest.raises(Unavailable):
        await desk.submit("lost")
    assert [told[1] for told in desk.told] == ["before"]
    assert "removed or replaced while the host runs" in caplog.text
    away.rename(file)
    assert not desk.writer._files.moved
    with anyio.fail_after(10):
        while desk.writer.failing:
            await anyio.lowlevel.checkpoint()
    await desk.submit("after")
    assert desk.stored() == ["before", "after"]


async def test_a_file_that_is_replaced_takes_nothing(desk):
    other = desk.path.with_name("other")
    other.touch()
    other.replace(desk.path)
    with pytest.raises(Unavailable):
        await desk.submit("lost")


async def test_what_is_committed_while_the_file_goes_away_is_not_acknowledged(desk):
    def work(connection):
        desk.path.rename(desk.path.with_name("away"))
        return Written("lost", (Committed("lost", 1, b"", None),))

    with pytest.raises(Unavailable):
        await desk.writer.submit(work)
    assert desk.told == []


async def test_close_writes_what_has_queued_and_refuses_what_comes(desk):
    gate = Gate()
    futures = [desk.submit("running", gate=gate), desk.submit("queued")]
    await asyncio.to_thread(gate.entered.wait)
    closing_writer = asyncio.create_task(desk.writer.close())
    await asyncio.sleep(0)
    late = desk.submit("late")
    gate.opened.set()
    await closing_writer
    assert await asyncio.gather(*futures) == ["running", "queued"]
    with pytest.raises(Unavailable, match="shutting down"):
        await late
    assert desk.stored() == ["running", "queued"]


async def test_when_the_task_of_the_writer_dies_everybody_is_told(desk):
    gate = Gate()
    futures = [desk.submit("running", gate=gate), desk.submit("queued")]
    await asyncio.to_thread(gate.entered.wait)
    desk.writer._flushing.cancel()
    outcomes = await asyncio.gather(*futures, return_exceptions=True)
    gate.opened.set()
    late = await asyncio.gather(desk.submit("late"), return_exceptions=True)
    assert [type(outcome) for outcome in (*outcomes, *late)] == [Unavailable] * 3


async def test_when_the_connection_is_closed_beneath_it_everybody_is_told(desk, caplog):
    await desk.connection.close()
    outcomes = await asyncio.gather(desk.submit("a"), desk.submit("b"), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [Unavailable] * 2
    assert "the store's writer has failed" in caplog.text


async def test_when_the_database_thread_dies_everybody_is_told(desk, caplog, monkeypatch):
    monkeypatch.setattr(writers, "THREAD_WATCH_SECONDS", 0.01)
    inner, raw = desk.connection._aiosqlite, desk.connection._raw

    def die():
        raw.close()
        return _STOP_RUNNING_SENTINEL

    inner._tx.put_nowait((None, die))
    outcomes = await asyncio.gather(desk.submit("a"), desk.submit("b"), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [Unavailable] * 2
    assert "the database thread is gone" in caplog.text
    inner._connection = None  # or aiosqlite warns that nobody has closed it
