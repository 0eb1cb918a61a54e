"""Transactions of plugins: the block and only the block is inside, and it always ends."""

import asyncio
import contextvars
import sqlite3
import threading
from contextlib import closing

import anyio
import pytest

from innkeeper.contract.errors import Unavailable
from innkeeper.contract.tables import ConstraintFailed, DatabaseError, StatementDenied
from innkeeper.store.plugin_databases import PluginDatabases

pytestmark = pytest.mark.anyio

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT started() UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
ENDLESS_WRITE = "INSERT INTO t WITH RECURSIVE n(i) AS (SELECT started() UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"


@pytest.fixture
async def databases(data_dir):
    databases = PluginDatabases(data_dir)
    yield databases
    await databases.aclose()


@pytest.fixture
async def db(databases):
    db = databases.database("memo", "hello")
    await db.execute("CREATE TABLE t (x UNIQUE)")
    return db


def add(db, x):
    return db.execute("INSERT INTO t VALUES (?)", (x,))


async def stored(db):
    return [x for (x,) in await db.fetch_all("SELECT x FROM t ORDER BY x")]


def on_disk(data_dir):
    with closing(sqlite3.connect(data_dir / "plugins" / "memo" / "hello.db")) as connection:
        return [x for (x,) in connection.execute("SELECT x FROM t ORDER BY x")]


async def watch(databases):
    """Let endless statements say that they have begun, with a number that is in nobody's way."""
    begun = threading.Event()

    def started():
        begun.set()
        return 9

    file = databases._level("memo", "hello").file
    await file.run(lambda raw: raw.create_function("started", 0, started))
    return begun


@pytest.fixture
async def begun(databases, db):
    """Set once an endless statement has begun."""
    return await watch(databases)


async def reached(begun):
    assert await asyncio.to_thread(begun.wait, 10)


async def test_a_block_is_committed_as_a_whole_and_seen_by_nobody_before(db, data_dir):
    async with db.transaction() as inside:
        await add(db, 1)
        await add(inside, 2)
        assert await stored(db) == await stored(inside) == [1, 2]
        assert on_disk(data_dir) == []
    assert on_disk(data_dir) == [1, 2]


@pytest.mark.parametrize("error", [ValueError("mine"), KeyboardInterrupt(), asyncio.CancelledError()], ids=repr)
async def test_a_block_that_raises_is_undone_and_its_error_is_the_one_raised(db, data_dir, error):
    async def block():
        async with db.transaction():
            await add(db, 1)
            raise error

    with pytest.raises(type(error)) as caught:
        await block()
    assert caught.value is error
    assert on_disk(data_dir) == []
    await add(db, 2)


async def test_a_statement_that_fails_is_undone_alone_where_its_error_is_caught(db, data_dir):
    async with db.transaction():
        await add(db, 1)
        with pytest.raises(ConstraintFailed):
            await db.executemany("INSERT INTO t VALUES (?)", [(2,), (1,)])
        with pytest.raises(StatementDenied):
            await db.execute("COMMIT")
        await add(db, 3)
    assert on_disk(data_dir) == [1, 3]


async def test_a_transaction_within_a_transaction_is_undone_alone_and_stored_with_the_outermost(db, data_dir):
    async with db.transaction() as outer:
        await add(db, 1)

        async def block():
            async with outer.transaction():
                await add(outer, 2)  # the outer handle, in the inner block: inside
                async with db.transaction():
                    await add(db, 3)
                raise ValueError("inner")

        with pytest.raises(ValueError, match="inner"):
            await block()
        async with db.transaction():
            await add(db, 4)
        assert on_disk(data_dir) == []
    assert on_disk(data_dir) == [1, 4]


async def test_others_wait_until_the_block_is_over(db):
    inside, leave = asyncio.Event(), asyncio.Event()
    order = []

    async def block():
        async with db.transaction():
            inside.set()
            await leave.wait()
            await add(db, 1)
            order.append("block")

    async def other(x):
        await add(db, x)
        order.append(x)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(block())
        await inside.wait()
        for x in (2, 3):
            tasks.create_task(other(x))
        for _ in range(20):
            await asyncio.sleep(0)
        assert order == []
        leave.set()
    assert order == ["block", 2, 3]


async def test_the_tasks_of_a_block_are_inside(db, data_dir):
    async def nested(x):
        async with db.transaction():
            await add(db, x)
            await asyncio.sleep(0)
            await add(db, -x)

    async def block():
        async with db.transaction():
            await asyncio.gather(add(db, 1), nested(2), nested(3), add(db, 4))
            await asyncio.wait_for(add(db, 5), 30)
            assert await stored(db) == [-3, -2, 1, 2, 3, 4, 5]
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        await block()
    assert on_disk(data_dir) == []


async def test_a_task_that_outlives_its_block_is_outside(db, data_dir):
    over, left = asyncio.Event(), []

    async def late():
        await over.wait()
        await add(db, "late")

    async def block():
        async with db.transaction() as inside:
            left.extend((asyncio.create_task(late()), inside))
            await add(db, 1)
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        await block()
    task, inside = left
    over.set()
    await task
    assert on_disk(data_dir) == ["late"]
    for refused in (add(inside, 2), inside.fetch_all("SELECT 1"), inside.executemany("SELECT 1", [])):
        with pytest.raises(DatabaseError, match="the transaction is over"):
            await refused
    with pytest.raises(DatabaseError, match="the transaction is over"):
        async with inside.transaction():
            pass
    assert on_disk(data_dir) == ["late"]


async def test_what_a_task_has_begun_inside_and_not_ended_is_not_stored(db, data_dir):
    begun, over = asyncio.Event(), asyncio.Event()

    async def half():
        async with db.transaction():
            await add(db, "half")
            begun.set()
            await over.wait()

    async with db.transaction():
        await add(db, 1)
        task = asyncio.create_task(half())
        await begun.wait()
    over.set()
    with pytest.raises(DatabaseError, match="the transaction is over"):
        await task
    assert on_disk(data_dir) == [1]


async def test_who_waits_inside_a_block_that_ends_is_refused_and_slips_into_no_other(db, data_dir):
    begun, over = asyncio.Event(), asyncio.Event()

    async def half():
        async with db.transaction():
            begun.set()
            await over.wait()

    async with db.transaction() as inside:
        first = asyncio.create_task(half())
        await begun.wait()
        waiting = asyncio.create_task(add(inside, "late"))
        await asyncio.sleep(0)
    async with db.transaction():
        over.set()
        for refused in (first, waiting):
            with pytest.raises(DatabaseError, match="the transaction is over"):
                await refused
        await add(db, 1)
    assert on_disk(data_dir) == [1]


@pytest.mark.parametrize(
    "sql", ["INSERT OR ROLLBACK INTO t VALUES (1)", "INSERT INTO t VALUES ('undo')"], ids=["clause", "trigger"]
)
async def test_after_a_statement_that_undoes_the_transaction_nothing_is_stored_by_halves(db, data_dir, sql):
    await db.execute(
        "CREATE TRIGGER undo BEFORE INSERT ON t WHEN new.x = 'undo' BEGIN SELECT RAISE(ROLLBACK, 'undone'); END"
    )

    async def block():
        async with db.transaction():
            await add(db, 1)
            async with db.transaction():
                with pytest.raises(ConstraintFailed):
                    await db.execute(sql)
                for refused in (add(db, 2), db.executemany("INSERT INTO t VALUES (?)", [(3,)])):
                    with pytest.raises(DatabaseError, match="has been undone"):
                        await refused

    with pytest.raises(DatabaseError, match="has been undone"):
        await block()
    assert on_disk(data_dir) == []
    await add(db, 4)


async def test_a_commit_that_fails_undoes_the_block(db, data_dir):
    await db.execute("CREATE TABLE child (x REFERENCES t(x) DEFERRABLE INITIALLY DEFERRED)")

    async def block():
        async with db.transaction():
            await add(db, 1)
            await db.execute("INSERT INTO child VALUES (2)")

    with pytest.raises(ConstraintFailed, match="FOREIGN KEY"):
        await block()
    assert on_disk(data_dir) == []
    await add(db, 2)


async def test_a_table_that_others_refer_to_can_be_rebuilt(db, data_dir):
    await add(db, 1)
    await db.execute("CREATE TABLE child (x REFERENCES t(x))")
    await db.execute("INSERT INTO child VALUES (1)")
    async with db.transaction():
        await db.execute("PRAGMA defer_foreign_keys = ON")
        await db.execute("CREATE TABLE copy AS SELECT * FROM t")
        await db.execute("DROP TABLE t")
        await db.execute("CREATE TABLE t (x UNIQUE, at INTEGER)")
        await db.execute("INSERT INTO t SELECT x, 0 FROM copy")
        await db.execute("DROP TABLE copy")
    assert on_disk(data_dir) == [1]
    with pytest.raises(ConstraintFailed):
        await db.execute("DELETE FROM t")


@pytest.mark.parametrize("sql", [ENDLESS, ENDLESS_WRITE], ids=["read", "write"])
@pytest.mark.parametrize("anyio_scope", [False, True], ids=["task", "scope"])
async def test_an_endless_statement_that_is_cancelled_gives_the_database_back(db, begun, data_dir, sql, anyio_scope):
    if anyio_scope:
        with anyio.move_on_after(0.05) as scope:
            await db.execute(sql)
        assert scope.cancelled_caught
    else:
        task = asyncio.create_task(db.execute(sql))
        await reached(begun)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert on_disk(data_dir) == []
    await add(db, 1)


@pytest.mark.parametrize("steps", range(12))
async def test_a_statement_cancelled_at_any_step_has_happened_or_not_and_the_next_one_works(db, data_dir, steps):
    task = asyncio.create_task(add(db, 1))
    for _ in range(steps):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task})
    assert on_disk(data_dir) in ([], [1])
    assert await add(db, 2) == 1


@pytest.mark.parametrize("steps", range(0, 60, 3))
async def test_a_transaction_cancelled_at_any_step_is_stored_whole_or_not_at_all(db, data_dir, steps):
    async def block():
        async with db.transaction():
            await add(db, 1)
            async with db.transaction():
                await add(db, 2)

    task = asyncio.create_task(block())
    waiting = asyncio.create_task(add(db, 3))
    for _ in range(steps):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task})
    await waiting
    assert on_disk(data_dir) in ([3], [1, 2, 3])


async def test_a_block_that_is_cancelled_in_an_endless_statement_is_undone_before_others_go_on(db, begun, data_dir):
    async def block():
        async with db.transaction():
            await add(db, 1)
            await db.execute(ENDLESS_WRITE)

    task = asyncio.create_task(block())
    await reached(begun)
    other = asyncio.create_task(stored(db))
    await asyncio.sleep(0)
    task.cancel()
    task.cancel()
    assert await other == []
    assert task.cancelled()
    assert on_disk(data_dir) == []


async def test_a_write_that_times_out_inside_a_block_never_lets_the_block_be_stored_by_halves(db, begun, data_dir):
    async def block():
        async with db.transaction():
            await add(db, 1)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(db.execute(ENDLESS_WRITE), 0.05)
            await add(db, 2)

    with pytest.raises(DatabaseError, match="has been undone"):
        await block()
    assert on_disk(data_dir) == []


async def test_one_who_is_cancelled_while_waiting_leaves_the_others_their_turns(db):
    async with db.transaction():
        waiting = [asyncio.create_task(add(db, x), context=contextvars.Context()) for x in range(6)]
        await asyncio.sleep(0)
        for task in waiting[::2]:
            task.cancel()
    await asyncio.wait(waiting)
    assert [task.cancelled() for task in waiting] == [True, False] * 3
    assert await stored(db) == [1, 3, 5]


async def test_two_databases_may_be_in_transactions_at_once(databases, db):
    other = databases.database("memo", "other")
    await other.execute("CREATE TABLE t (x)")

    async def block():
        async with db.transaction():
            await add(db, 1)
            async with other.transaction():
                await add(other, 2)
                await add(db, 3)
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        await block()
    assert await stored(db) == []
    assert await stored(other) == [2]


async def test_closing_interrupts_what_runs_and_undoes_what_is_open(data_dir):
    databases = PluginDatabases(data_dir)
    db = databases.database("memo", "hello")
    await db.execute("CREATE TABLE t (x)")
    begun = await watch(databases)

    async def block():
        async with db.transaction():
            await add(db, 1)
            await db.execute(ENDLESS)

    tasks = [asyncio.create_task(block())]
    await reached(begun)
    tasks.append(asyncio.create_task(add(db, 2)))
    await asyncio.sleep(0)
    await databases.aclose()
    await databases.aclose()
    assert [thread.name for thread in threading.enumerate() if "hello.db" in thread.name] == []
    for late in (*tasks, add(db, 3), add(databases.database("memo", "new"), 4)):
        with pytest.raises(Unavailable, match="shutting down"):
            await late
    with pytest.raises(Unavailable):
        async with db.transaction():
            pass
    assert on_disk(data_dir) == []


@pytest.mark.parametrize("steps", range(0, 30, 2))
async def test_closing_while_a_file_is_opened_leaves_nothing_open(data_dir, steps):
    databases = PluginDatabases(data_dir)
    opening = asyncio.create_task(databases.database("memo", "hello").execute("CREATE TABLE t (x)"))
    for _ in range(steps):
        await asyncio.sleep(0)
    await databases.aclose()
    await asyncio.wait({opening})
    assert [thread.name for thread in threading.enumerate() if "hello.db" in thread.name] == []
    assert opening.exception() is None or isinstance(opening.exception(), Unavailable)


def test_one_event_loop_after_the_other_may_use_it(data_dir):
    databases = PluginDatabases(data_dir)
    db = databases.database("memo", "hello")
    left = []

    async def first():
        await db.execute("CREATE TABLE t (x)")
        begun = await watch(databases)
        left.append(asyncio.create_task(abandoned()))
        await reached(begun)

    async def abandoned():
        async with db.transaction():
            await add(db, 1)
            await db.execute(ENDLESS)

    async def second():
        async with db.transaction():
            await add(db, 2)
        return await stored(db)

    asyncio.run(first())
    assert asyncio.run(second()) == [2]
    assert asyncio.run(second()) == [2, 2]
    asyncio.run(databases.aclose())


def test_what_a_loop_has_left_behind_that_was_never_ended_does_not_stay_in_the_way(data_dir):
    databases = PluginDatabases(data_dir)
    db = databases.database("memo", "hello")
    loop = asyncio.new_event_loop()

    async def block():
        await db.execute("CREATE TABLE t (x)")
        async with db.transaction():
            await add(db, 1)
            inside.set_result(None)
            await asyncio.Event().wait()

    inside = loop.create_future()
    task = loop.create_task(block())
    loop.run_until_complete(inside)
    loop.close()

    async def later():
        async with db.transaction():
            task.get_coro().close()  # as the garbage collection would, at any time
            other = asyncio.create_task(add(db, 3), context=contextvars.Context())
            for _ in range(20):
                await asyncio.sleep(0)
            assert not other.done()
            await add(db, 2)
        await other
        return await stored(db)

    assert asyncio.run(later()) == [2, 3]
    task._log_destroy_pending = False
    asyncio.run(databases.aclose())
