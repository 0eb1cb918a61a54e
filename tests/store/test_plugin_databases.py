"""A file per plugin and tenant: brought up to date as a whole, private, few of them open, and removed for good."""

import asyncio
import itertools
import os
import re
import signal
import sqlite3
import stat
import sys
import threading
from contextlib import closing
from pathlib import Path

import anyio
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream

from innkeeper.contract.errors import StartFault, Unavailable
from innkeeper.contract.tables import DatabaseError
from innkeeper.ports.plugin_data import PluginData
from innkeeper.store.plugin_databases import THREADS_EACH, PluginDatabases

pytestmark = pytest.mark.anyio


@pytest.fixture
async def databases(data_dir):
    databases = PluginDatabases(data_dir)
    yield databases
    await databases.aclose()


def path_of(data_dir, plugin="memo", tenant="hello"):
    return data_dir / "plugins" / plugin / f"{tenant}.db"


def dump(data_dir, plugin="memo", tenant="hello"):
    """Everything in the file, as a connection of its own sees it."""
    with closing(sqlite3.connect(path_of(data_dir, plugin, tenant))) as connection:
        return list(connection.iterdump())


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


async def nothing(_db, _version):
    pass


async def version_1(db, version):
    assert version == 0
    await db.execute("CREATE TABLE notes (text TEXT)")
    await db.execute("INSERT INTO notes VALUES ('first')")


async def version_2(db, version):
    assert version == 1
    await db.execute("ALTER TABLE notes ADD COLUMN stars INTEGER DEFAULT 0")
    await db.execute("UPDATE notes SET stars = 5")


async def version_3(db, version):
    assert version == 2
    await db.execute("CREATE TABLE letters AS SELECT text || '!' AS text, stars FROM notes")
    await db.execute("DROP TABLE notes")


async def half_way(db, _version):
    await db.execute("CREATE TABLE half (x)")
    await db.execute("UPDATE notes SET text = 'changed'")
    async with db.transaction():
        await db.execute("CREATE INDEX half_index ON half (x)")
    await db.execute("ALTER TABLE notes RENAME TO gone")


async def test_an_upgrade_from_one_version_to_the_next_keeps_the_data(databases):
    for version, ensure in enumerate((version_1, version_2, version_3), 1):
        await databases.migrate("memo", "hello", version, ensure)
        assert await databases.version("memo", "hello") == version
    db = databases.database("memo", "hello")
    assert await db.fetch_all("SELECT * FROM letters", as_dict=True) == [{"text": "first!", "stars": 5}]
    row = await db.fetch_one("SELECT plugin, version, updated_at > 1700000000 FROM plugin_migrations")
    assert row == ("memo", 3, 1)


async def test_a_start_at_the_same_version_asks_again_and_writes_nothing(databases, data_dir):
    seen = []

    async def ensure(db, version):
        seen.append(version)
        await db.execute("CREATE TABLE IF NOT EXISTS notes (text TEXT)")

    for _ in range(3):
        await databases.migrate("memo", "hello", 4, ensure)
    await databases.aclose()
    path = path_of(data_dir)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE plugin_migrations SET updated_at = 5")
        connection.commit()
    assert [each.name for each in path.parent.iterdir()] == ["hello.db"]
    before = path.stat().st_mtime_ns, path.read_bytes()
    again = PluginDatabases(data_dir)
    await again.migrate("memo", "hello", 4, ensure)
    wal = path.with_name(path.name + "-wal").stat().st_size
    await again.aclose()
    assert seen == [0, 4, 4, 4]
    assert (path.stat().st_mtime_ns, path.read_bytes()) == before
    assert wal == 0


@pytest.mark.parametrize("error", [ValueError("mine"), asyncio.CancelledError(), SystemExit(3)], ids=repr)
@pytest.mark.parametrize("there", [False, True], ids=["first start", "later"])
async def test_a_raise_half_way_leaves_the_disk_as_it_was(databases, data_dir, error, there):
    async def ensure(db, version):
        if not there:
            await db.execute("CREATE TABLE notes (text TEXT)")
        await half_way(db, version)
        raise error

    if there:
        await databases.migrate("memo", "hello", 1, version_1)
    before = dump(data_dir) if there else ["BEGIN TRANSACTION;", "COMMIT;"]
    with pytest.raises(type(error)) as caught:
        await databases.migrate("memo", "hello", 2, ensure)
    assert caught.value is error
    assert dump(data_dir) == before
    assert await databases.version("memo", "hello") == (1 if there else 0)
    await databases.migrate("memo", "hello", 2, version_2 if there else nothing)


async def test_a_migration_that_is_cancelled_leaves_the_disk_as_it_was(databases, data_dir):
    inside = asyncio.Event()

    async def ensure(db, version):
        await half_way(db, version)
        inside.set()
        await asyncio.Event().wait()

    await databases.migrate("memo", "hello", 1, version_1)
    before = dump(data_dir)
    task = asyncio.create_task(databases.migrate("memo", "hello", 2, ensure))
    await inside.wait()
    task.cancel()
    await asyncio.wait({task})
    assert task.cancelled()
    assert dump(data_dir) == before


async def test_a_downgrade_is_refused_without_asking_the_plugin(databases, data_dir):
    await databases.migrate("memo", "hello", 3, nothing)
    before = dump(data_dir)
    asked = []

    async def ensure(db, version):
        asked.append(version)

    with pytest.raises(StartFault, match=r"version 3.*the plugin knows 2.*downgrade is not supported"):
        await databases.migrate("memo", "hello", 2, ensure)
    assert asked == []
    assert dump(data_dir) == before


async def test_a_table_of_versions_cannot_be_forged_while_it_is_made(databases):
    async def ensure(db, _version):
        for sql in ("INSERT INTO plugin_migrations VALUES ('memo', 9, 0)", "DROP TABLE plugin_migrations"):
            with pytest.raises(DatabaseError, match="plugin_migrations"):
                await db.execute(sql)
        await db.execute("CREATE TABLE forged (plugin TEXT PRIMARY KEY, version INTEGER)")
        with pytest.raises(DatabaseError, match="already another table"):
            await db.execute("ALTER TABLE forged RENAME TO plugin_migrations")

    await databases.migrate("memo", "hello", 2, ensure)
    assert await databases.version("memo", "hello") == 2


async def test_ensure_may_run_in_another_task_and_a_stray_of_it_never_writes(databases, data_dir):
    handles, inside, over = [], asyncio.Event(), asyncio.Event()

    async def code(db):
        await db.execute("CREATE TABLE notes (text TEXT)")
        handles.append(db)
        async with db.transaction():
            await db.execute("INSERT INTO notes VALUES ('half')")
            inside.set()
            await over.wait()
            await db.execute("INSERT INTO notes VALUES ('late')")

    async def ensure(db, _version):
        strays.append(asyncio.get_running_loop().create_task(code(db)))
        await inside.wait()  # and give it up

    strays = []
    await databases.migrate("memo", "hello", 1, ensure)
    over.set()
    with pytest.raises(DatabaseError, match="the transaction is over"):
        await strays[0]
    with pytest.raises(DatabaseError, match="the transaction is over"):
        await handles[0].execute("INSERT INTO notes VALUES ('later')")
    assert await databases.version("memo", "hello") == 1
    assert not any("INSERT INTO" in line and "notes" in line for line in dump(data_dir))


async def test_a_stray_in_an_endless_statement_is_interrupted_when_its_migration_is_given_up(databases, data_dir):
    begun, strays = threading.Event(), []
    endless = "INSERT INTO notes WITH RECURSIVE n(i) AS (SELECT begun() UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
    await databases.migrate("memo", "hello", 1, version_1)
    before = dump(data_dir)
    file = databases._level("memo", "hello").file
    await file.run(lambda raw: raw.create_function("begun", 0, lambda: begun.set() or 1))

    async def ensure(db, _version):
        strays.append(asyncio.get_running_loop().create_task(db.execute(endless)))
        assert await asyncio.to_thread(begun.wait, 10)
        raise TimeoutError

    with pytest.raises(TimeoutError):
        await databases.migrate("memo", "hello", 2, ensure)
    with pytest.raises(DatabaseError, match="interrupted"):
        await strays[0]
    assert dump(data_dir) == before


async def test_the_database_of_the_plugin_is_inside_while_it_is_brought_up_to_date(databases, data_dir):
    db = databases.database("memo", "hello")

    async def ensure(_db, _version):
        await db.execute("CREATE TABLE notes (text TEXT)")
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        await databases.migrate("memo", "hello", 1, ensure)
    assert dump(data_dir) == ["BEGIN TRANSACTION;", "COMMIT;"]


KILLED = """
import asyncio, sys
from pathlib import Path
from innkeeper.store.plugin_databases import PluginDatabases

async def ensure(db, version):
    await db.execute("ALTER TABLE notes ADD COLUMN stars")
    await db.executemany("INSERT INTO notes VALUES (?, 1)", [("x" * 9000,)] * 2000)
    print("inside", version, flush=True)
    await asyncio.Event().wait()

asyncio.run(PluginDatabases(Path(sys.argv[1])).migrate("memo", "hello", 2, ensure))
"""


async def test_a_host_that_is_killed_in_the_middle_leaves_the_old_version(databases, data_dir):
    await databases.migrate("memo", "hello", 1, version_1)
    await databases.aclose()
    before = dump(data_dir)
    async with await anyio.open_process([sys.executable, "-c", KILLED, str(data_dir)]) as host:
        assert await BufferedByteReceiveStream(host.stdout).receive_until(b"\n", 100) == b"inside 1"
        host.send_signal(signal.SIGKILL)
        await host.wait()
    assert dump(data_dir) == before
    again = PluginDatabases(data_dir)
    await again.migrate("memo", "hello", 2, version_2)
    await again.aclose()


async def test_plugins_and_tenants_do_not_see_each_other(databases):
    places = list(itertools.product(("memo", "memo.x", "other"), ("hello", "hello-2")))
    for plugin, tenant in places:
        await databases.database(plugin, tenant).execute("CREATE TABLE t AS SELECT ? AS mine", (plugin + tenant,))
    for plugin, tenant in places:
        assert await databases.database(plugin, tenant).fetch_all("SELECT mine FROM t") == [(plugin + tenant,)]
    assert databases.tenants_of("memo") == ("hello", "hello-2")
    assert databases.tenants_of("none") == ()


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", ".a", "a.", "A", "a\n", "a\0", "ä"])
def test_nothing_but_a_name_makes_a_path(data_dir, name):
    databases = PluginDatabases(data_dir)
    for plugin, tenant in (("memo", name), (name, "hello")):
        with pytest.raises(ValueError, match="is no name"):
            databases.database(plugin, tenant)
    with pytest.raises(ValueError, match="is no name"):
        databases.tenants_of(name)


async def test_everything_is_private_and_nothing_is_made_before_it_is_used(databases, data_dir):
    db = databases.database("memo", "hello")
    assert await databases.version("memo", "hello") is None
    assert await databases.describe("memo", "hello") is None
    assert await databases.purge("memo", "hello") is False
    assert not data_dir.exists()
    await db.execute("CREATE TABLE t (x)")
    path = path_of(data_dir)
    assert [mode(each) for each in (data_dir, path.parent.parent, path.parent)] == [0o700] * 3
    assert {each.name: mode(each) for each in path.parent.iterdir()} == dict.fromkeys(
        ("hello.db", "hello.db-wal", "hello.db-shm"), 0o600
    )


async def test_files_are_durable_and_checked_for_references(databases):
    def settings(raw):
        names = ("journal_mode", "synchronous", "foreign_keys")
        return [raw.execute(f"PRAGMA {name}").fetchone()[0] for name in names]

    assert await databases._level("memo", "hello").file.run(settings) == ["wal", 2, 1]


def opened(data_dir):
    """How many database files this process has open, and how many threads for them."""
    held = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            held.add(str(descriptor.readlink()))
        except FileNotFoundError:  # the listing itself
            continue
    files = [each for each in held if re.fullmatch(re.escape(str(data_dir)) + r".*\.db", each)]
    return len(files), sum("database of" in thread.name for thread in threading.enumerate())


async def test_a_hundred_tenants_are_a_few_open_files_and_threads(data_dir):
    databases = PluginDatabases(data_dir, max_open=4)
    tenants = [f"tenant-{n}" for n in range(100)]
    async with anyio.create_task_group() as tasks:
        for tenant in tenants:
            tasks.start_soon(databases.migrate, "memo", tenant, 1, version_1)
    assert opened(data_dir) == (4, THREADS_EACH)
    for tenant in tenants:
        assert await databases.database("memo", tenant).fetch_all("SELECT text FROM notes") == [("first",)]
        assert opened(data_dir) == (4, THREADS_EACH)
    await databases.aclose()
    assert opened(data_dir) == (0, 0)


async def test_a_file_in_use_is_not_closed_and_keeps_nobody_waiting(data_dir):
    databases = PluginDatabases(data_dir, max_open=2)
    inside = [databases.database("memo", f"tenant-{n}") for n in range(2 * THREADS_EACH)]
    async with anyio.create_task_group() as tasks:
        leave = anyio.Event()

        async def block(db):
            async with db.transaction():
                await db.execute("CREATE TABLE t (x)")
                await leave.wait()
                await db.execute("INSERT INTO t VALUES (1)")

        for db in inside:
            tasks.start_soon(block, db)
        await anyio.wait_all_tasks_blocked()
        await databases.database("memo", "tenant-99").execute("CREATE TABLE t (x)")
        leave.set()
        assert opened(data_dir)[1] <= THREADS_EACH
    assert opened(data_dir)[0] == 2
    for db in inside:
        assert await db.fetch_all("SELECT x FROM t") == [(1,)]
    await databases.aclose()


ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"


async def test_slow_statements_of_a_plugin_hold_up_no_other_plugin_and_no_stop(data_dir):
    databases = PluginDatabases(data_dir)

    async def ask(tenant):
        with pytest.raises(Unavailable):
            await databases.database("slow", tenant).fetch_all(ENDLESS)

    async with anyio.create_task_group() as tasks:
        for n in range(2 * THREADS_EACH):
            tasks.start_soon(ask, f"tenant-{n}")
        await anyio.wait_all_tasks_blocked()
        await databases.database("memo", "hello").execute("CREATE TABLE t (x)")
        await databases.aclose()
    assert opened(data_dir) == (0, 0)


async def test_the_data_of_a_plugin_is_described_and_removed_for_good(databases, data_dir):
    await databases.migrate("memo", "hello", 1, version_1)
    db = databases.database("memo", "hello")
    await db.execute("INSERT INTO notes VALUES (?)", ("x" * 100_000,))
    described = await databases.describe("memo", "hello")
    assert (described.path, described.version) == (str(path_of(data_dir)), 1)
    assert described.size_bytes == sum(each.stat().st_size for each in path_of(data_dir).parent.iterdir()) > 100_000
    assert await databases.purge("memo", "hello") is True
    assert list(path_of(data_dir).parent.iterdir()) == []
    assert databases.tenants_of("memo") == ()
    assert await databases.version("memo", "hello") is None
    await databases.migrate("memo", "hello", 1, version_1)
    assert await db.fetch_all("SELECT text FROM notes") == [("first",)]


async def test_a_file_that_is_made_again_has_its_table_of_versions_before_anybody_can_forge_it(databases):
    db = databases.database("memo", "hello")
    for _ in range(2):
        await db.execute("CREATE TABLE forged (plugin TEXT PRIMARY KEY, version INTEGER)")
        with pytest.raises(DatabaseError, match="already another table"):
            await db.execute("ALTER TABLE forged RENAME TO plugin_migrations")
        await databases.purge("memo", "hello")


async def test_a_purge_waits_for_a_transaction(databases):
    db, inside, leave = databases.database("memo", "hello"), asyncio.Event(), asyncio.Event()

    async def block():
        async with db.transaction():
            inside.set()
            await leave.wait()
            await db.execute("CREATE TABLE t (x)")

    task = asyncio.create_task(block())
    await inside.wait()
    purge = asyncio.create_task(databases.purge("memo", "hello"))
    await asyncio.sleep(0)
    leave.set()
    await task
    assert await purge is True
    assert await databases.version("memo", "hello") is None


def overwritten(path):
    path.write_bytes(b"not a database at all, but long enough to be one" * 100)


def truncated(path):
    os.truncate(path, path.stat().st_size // 2)


def scribbled(path):
    with path.open("r+b") as file:
        file.seek(-20 * 4096, os.SEEK_END)
        file.write(b"\xff" * 4096)


@pytest.mark.parametrize("spoil", [overwritten, truncated, scribbled])
async def test_a_corrupt_file_is_refused_at_start_with_a_hint(databases, data_dir, spoil):
    async def much(db, _version):
        await db.execute("CREATE TABLE t (x)")
        await db.executemany("INSERT INTO t VALUES (?)", [("x" * 3000,)] * 50)

    first = PluginDatabases(data_dir)
    await first.migrate("memo", "hello", 1, much)
    await first.aclose()
    path = path_of(data_dir)
    spoil(path)
    before = path.read_bytes()
    with pytest.raises(StartFault, match=f"database {path}: it is corrupt.*restore a backup"):
        await databases.migrate("memo", "hello", 1, nothing)
    assert path.read_bytes() == before
    assert await databases.purge("memo", "hello") is True


async def test_another_process_that_keeps_the_file_locked_is_named_as_the_reason(databases, data_dir, monkeypatch):
    monkeypatch.setattr("innkeeper.store.sql_thread.BUSY_TIMEOUT_SECONDS", 0.01)
    await databases.migrate("memo", "hello", 1, version_1)
    await databases._level("memo", "hello").file.close()
    with closing(sqlite3.connect(path_of(data_dir), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StartFault, match="another process keeps it locked"):
            await databases.migrate("memo", "hello", 2, version_2)


async def test_a_start_that_cannot_make_its_directory_is_a_start_fault(databases, data_dir):
    data_dir.mkdir()
    (data_dir / "plugins").touch()
    with pytest.raises(StartFault, match="File exists"):
        await databases.migrate("memo", "hello", 1, nothing)


def test_it_is_what_the_host_needs(data_dir):
    needed: PluginData = PluginDatabases(data_dir)
    assert all(hasattr(needed, name) for name in dir(PluginData) if not name.startswith("_"))


async def test_several_event_loops_may_use_a_database_at_the_same_time(data_dir: Path) -> None:
    databases = PluginDatabases(data_dir)
    db = databases.database("memo", "hello")
    await db.execute("CREATE TABLE counted (n INTEGER)")

    def count() -> None:
        asyncio.run(db.execute("INSERT INTO counted VALUES (1)"))

    async with asyncio.timeout(20):
        await asyncio.gather(
            *(asyncio.to_thread(count) for _ in range(8)), *(db.fetch_one("SELECT 1") for _ in range(8))
        )
    assert await db.fetch_one("SELECT count(*) FROM counted") == (8,)
    await databases.aclose()


async def test_values_of_subclasses_are_stored_as_what_they_are(data_dir: Path) -> None:
    class Text(str):
        def __str__(self) -> str:
            raise SystemExit("asked")

    class Number(int):
        def __conform__(self, _: object) -> None:
            raise SystemExit("asked")

    databases = PluginDatabases(data_dir)
    row = await databases.database("memo", "hello").fetch_one("SELECT ?, ?, ?", (Text("x"), Number(7), True))
    assert row == ("x", 7, 1)
    await databases.aclose()
