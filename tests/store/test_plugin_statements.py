"""What a plugin may say to its database, and how it is told what it may not."""

import datetime
import sqlite3
from contextlib import closing

import pytest

from innkeeper.contract.errors import Unavailable
from innkeeper.contract.tables import ConstraintFailed, DatabaseError, StatementDenied
from innkeeper.store.authorizer import handed_over
from innkeeper.store.plugin_databases import PluginDatabases

pytestmark = pytest.mark.anyio


@pytest.fixture
async def databases(data_dir):
    databases = PluginDatabases(data_dir)
    yield databases
    await databases.aclose()


@pytest.fixture
async def db(databases):
    db = databases.database("memo", "hello")
    await db.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT UNIQUE NOT NULL)")
    await databases.migrate("memo", "hello", 1, no_tables)
    await db.execute("CREATE TABLE tags (note INTEGER REFERENCES notes DEFERRABLE INITIALLY DEFERRED)")
    return db


def rows(data_dir, sql):
    with closing(sqlite3.connect(data_dir / "plugins" / "memo" / "hello.db")) as connection:
        return connection.execute(sql).fetchall()


async def no_tables(_db, _version):
    pass


async def said_inside(db, sql):
    async with db.transaction():
        await db.fetch_all(sql)


async def test_rows_come_back_as_tuples_or_as_dicts(db):
    assert await db.executemany("INSERT INTO notes VALUES (?, ?)", [(1, "a"), (2, "b"), (3, "c")]) == 3
    assert await db.execute("UPDATE notes SET text = text || '!' WHERE id < :below", {"below": 3}) == 2
    assert await db.fetch_all("SELECT * FROM notes") == [(1, "a!"), (2, "b!"), (3, "c")]
    assert await db.fetch_all("SELECT id FROM notes WHERE id > ?", [2], as_dict=True) == [{"id": 3}]
    assert await db.fetch_one("SELECT * FROM notes ORDER BY id") == (1, "a!")
    assert await db.fetch_one("SELECT * FROM notes ORDER BY id", as_dict=True) == {"id": 1, "text": "a!"}
    assert await db.fetch_one("SELECT * FROM notes WHERE id = 9") is None
    assert await db.fetch_all("SELECT * FROM notes WHERE id = 9") == []


@pytest.mark.parametrize("value", [None, 1, 2**63 - 1, -1.5, "ü\0", b"\0\xff", True])
async def test_every_scalar_comes_back_as_it_was(db, value):
    assert await db.fetch_one("SELECT ?", (value,)) == (value,)


@pytest.mark.parametrize(
    ("sql", "changed"),
    [
        ("INSERT INTO notes (text) VALUES ('d'), ('e') RETURNING id", 2),
        ("SELECT * FROM notes", 0),
        ("CREATE TABLE more (x)", 0),
        ("DELETE FROM notes", 1),
        ("PRAGMA table_info(notes)", 0),
        ("", 0),
    ],
)
async def test_execute_answers_how_many_rows_it_changed(db, sql, changed):
    await db.execute("INSERT INTO notes VALUES (1, 'a')")
    assert await db.execute(sql) == changed


async def test_a_fetch_of_one_row_writes_all_that_its_statement_says(db):
    assert await db.fetch_one("INSERT INTO notes (text) VALUES ('a'), ('b') RETURNING id") == (1,)
    assert await db.fetch_all("SELECT id FROM notes") == [(1,), (2,)]


async def test_executemany_is_all_or_nothing(db):
    with pytest.raises(ConstraintFailed, match=r"UNIQUE constraint failed: notes\.text"):
        await db.executemany("INSERT INTO notes (text) VALUES (?)", [("a",), ("b",), ("a",)])
    with pytest.raises(ConstraintFailed, match="FOREIGN KEY"):
        await db.executemany("INSERT INTO tags VALUES (?)", [(9,)])
    assert await db.fetch_all("SELECT * FROM notes, tags") == []
    assert await db.executemany("INSERT INTO notes (text) VALUES (?)", iter([("a",), ("b",)])) == 2


@pytest.mark.parametrize(
    ("sql", "parameters", "error", "words"),
    [
        ("INSERT INTO notes VALUES (1, NULL)", (), ConstraintFailed, r"NOT NULL constraint failed: notes\.text"),
        ("INSERT INTO tags VALUES (9)", (), ConstraintFailed, "FOREIGN KEY constraint failed"),
        ("SELEKT", (), DatabaseError, 'near "SELEKT": syntax error'),
        ("SELECT * FROM nowhere", (), DatabaseError, "no such table: nowhere"),
        ("SELECT 1; DROP TABLE notes", (), DatabaseError, "one statement at a time"),
        ("SELECT ?", (), DatabaseError, "binding"),
        ("SELECT ?", (1, 2), DatabaseError, "binding"),
        ("SELECT :a", {"b": 1}, DatabaseError, "binding"),
        ("SELECT ?", (2**63,), DatabaseError, "too large"),
        ("SELECT ?", ("\ud800",), DatabaseError, "surrogates"),
        ("SELECT ?", (datetime.date.min,), DatabaseError, "parameter 1 is a date: a column holds None, int, float"),
        ("SELECT :day", {"day": datetime.date.min}, DatabaseError, "parameter day is a date"),
        ("SELECT ?", "a", DatabaseError, "a sequence or a mapping"),
        ("SELECT '\ud800'", (), DatabaseError, "surrogates"),
        ("SELECT '\0'", (), DatabaseError, "null character"),
        ("SELECT CAST(x'ff' AS TEXT)", (), DatabaseError, "UTF-8"),
        ("SELECT abs(-9223372036854775808)", (), DatabaseError, "integer overflow"),
    ],
)
async def test_what_is_wrong_with_a_statement_is_said(db, sql, parameters, error, words):
    with pytest.raises(error, match=words) as caught:
        await db.fetch_all(sql, parameters)
    assert type(caught.value) is error
    assert await db.fetch_one("SELECT count(*) FROM notes") == (0,)


DENIED = {
    "ATTACH ':memory:' AS other": "ATTACH",
    "ATTACH 'file:x?mode=memory' AS other": "ATTACH",
    "DETACH main": "DETACH",
    "VACUUM": "VACUUM",
    "VACUUM INTO '{directory}/copy.db'": "VACUUM",
    "BEGIN": "BEGIN",
    "BEGIN IMMEDIATE": "BEGIN",
    "COMMIT": "COMMIT",
    "END": "COMMIT",
    "ROLLBACK": "ROLLBACK",
    "/* late */ -- \n ROLLBACK": "ROLLBACK",
    "SAVEPOINT mine": "SAVEPOINT",
    "RELEASE statement": "RELEASE",
    "ROLLBACK TO level_1": "SAVEPOINT",
    "EXPLAIN COMMIT": "COMMIT",
    "PRAGMA writable_schema = ON": "PRAGMA writable_schema",
    "PRAGMA foreign_keys = OFF": "PRAGMA foreign_keys",
    "PRAGMA user_version = 7": "PRAGMA user_version",
    "PRAGMA journal_mode = DELETE": "PRAGMA journal_mode",
    "PRAGMA journal_mode": "PRAGMA journal_mode",
    "PRAGMA main.synchronous = OFF": "PRAGMA synchronous",
    "PRAGMA max_page_count = 1": "PRAGMA max_page_count",
    "PRAGMA trusted_schema = ON": "PRAGMA trusted_schema",
    "PRAGMA temp_store_directory = '/'": "PRAGMA temp_store_directory",
    "PRAGMA incremental_vacuum": "PRAGMA incremental_vacuum",
    "PRAGMA wal_checkpoint": "PRAGMA wal_checkpoint",
    "PRAGMA database_list": "PRAGMA database_list",
    "PRAGMA optimize": "PRAGMA optimize",
    "SELECT * FROM pragma_database_list": "PRAGMA database_list",
    "INSERT INTO plugin_migrations VALUES ('memo', 9, 0)": "plugin_migrations",
    "REPLACE INTO Plugin_Migrations VALUES ('memo', 9, 0)": "plugin_migrations",
    "UPDATE main.plugin_migrations SET version = 9": "plugin_migrations",
    "DELETE FROM plugin_migrations": "plugin_migrations",
    "WITH x AS (SELECT 1) DELETE FROM plugin_migrations": "plugin_migrations",
    "DROP TABLE plugin_migrations": "plugin_migrations",
    'DROP TABLE "PLUGIN_MIGRATIONS"': "plugin_migrations",
    "ALTER TABLE plugin_migrations RENAME TO mine": "plugin_migrations",
    "ALTER TABLE plugin_migrations ADD COLUMN mine": "plugin_migrations",
    "ALTER TABLE plugin_migrations DROP COLUMN updated_at": "plugin_migrations",
    "ALTER TABLE plugin_migrations RENAME COLUMN version TO v": "plugin_migrations",
    "CREATE INDEX mine ON plugin_migrations (version)": "plugin_migrations",
    "CREATE TRIGGER mine AFTER INSERT ON plugin_migrations BEGIN SELECT 1; END": "plugin_migrations",
    "CREATE TEMP TRIGGER mine AFTER INSERT ON main.plugin_migrations BEGIN SELECT 1; END": "temporary trigger",
    "CREATE TEMP TABLE plugin_migrations (plugin, version)": "temporary table",
    "CREATE TEMP TABLE mine (x)": "temporary table",
    "CREATE TEMP VIEW mine AS SELECT 1": "temporary view",
    "CREATE VIRTUAL TABLE mine USING dbstat(main)": "virtual table of dbstat",
    "CREATE VIRTUAL TABLE mine USING fts4(text)": "virtual table of fts4",
    "SELECT load_extension('mine')": "load_extension",
    "SELECT fts3_tokenizer('simple')": "fts3_tokenizer",
}


@pytest.mark.parametrize("sql", DENIED)
@pytest.mark.parametrize("inside", [False, True], ids=["alone", "in a transaction"])
async def test_what_is_not_a_plugins_to_say_is_denied_by_name(db, data_dir, tmp_path, sql, inside):
    before = rows(data_dir, "SELECT * FROM plugin_migrations"), rows(data_dir, "SELECT * FROM sqlite_schema")
    statement = sql.replace("{directory}", str(tmp_path))
    with pytest.raises(DatabaseError) as caught:
        await (said_inside(db, statement) if inside else db.fetch_all(statement))
    if not (inside and sql.startswith("VACUUM")):  # SQLite has refused it there before it asked
        assert isinstance(caught.value, StatementDenied)
        assert DENIED[sql].lower() in str(caught.value).lower()
    assert (rows(data_dir, "SELECT * FROM plugin_migrations"), rows(data_dir, "SELECT * FROM sqlite_schema")) == before
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
    assert await db.execute("INSERT INTO notes (text) VALUES ('goes on')") == 1


@pytest.mark.parametrize(
    "sql",
    [
        "PRAGMA table_info(notes)",
        "PRAGMA main.table_xinfo(notes)",
        "PRAGMA table_list",
        "PRAGMA index_list(notes)",
        "PRAGMA index_info(sqlite_autoindex_notes_1)",
        "PRAGMA index_xinfo(sqlite_autoindex_notes_1)",
        "PRAGMA foreign_key_list(tags)",
        "PRAGMA foreign_key_check",
        "PRAGMA foreign_keys",
        "PRAGMA user_version",
        "PRAGMA defer_foreign_keys = ON",
        "SELECT * FROM pragma_table_info('notes')",
        "SELECT version FROM plugin_migrations",
        "SELECT name FROM sqlite_schema",
        "SELECT value FROM json_each('[1]')",
        "ANALYZE",
        "REINDEX",
        "CREATE VIEW v AS SELECT * FROM notes",
        "CREATE INDEX i ON notes (text)",
        "CREATE TRIGGER t AFTER INSERT ON notes BEGIN DELETE FROM tags; END",
        "ALTER TABLE notes ADD COLUMN at INTEGER",
        "ALTER TABLE notes RENAME TO letters",
        "CREATE VIRTUAL TABLE boxes USING rtree(id, low, high)",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT i FROM n",
        "DROP TABLE tags",
    ],
)
async def test_what_a_plugin_needs_for_its_own_tables_is_allowed(db, sql):
    await db.execute(sql)


async def test_no_table_of_a_plugin_can_be_renamed_to_the_table_of_versions(databases, data_dir):
    db = databases.database("memo", "hello")

    async def block():
        async with db.transaction():  # the first thing that is ever said to this file
            await db.execute("CREATE TABLE forged (plugin TEXT PRIMARY KEY, version INTEGER, updated_at)")
            await db.execute("ALTER TABLE forged RENAME TO plugin_migrations")

    with pytest.raises(DatabaseError, match="already another table"):
        await block()
    assert rows(data_dir, "SELECT * FROM plugin_migrations") == []


async def test_a_trigger_cannot_write_the_version_on_a_plugins_behalf(db, databases):
    await db.execute("CREATE TRIGGER t AFTER INSERT ON notes BEGIN UPDATE plugin_migrations SET version = 9; END")
    with pytest.raises(StatementDenied, match="plugin_migrations"):
        await db.execute("INSERT INTO notes (text) VALUES ('a')")
    assert await databases.version("memo", "hello") == 1


def test_a_statement_that_is_kept_compiled_does_not_slip_past_the_rules():
    with closing(sqlite3.connect(":memory:", isolation_level=None, cached_statements=128)) as connection:
        connection.execute("CREATE TABLE t (x)")
        for sql in ("BEGIN", "COMMIT", "PRAGMA writable_schema = OFF"):
            connection.execute(sql).fetchall()
        for sql in ("BEGIN", "PRAGMA writable_schema = OFF"):
            with pytest.raises(StatementDenied), handed_over(connection):
                connection.execute(sql)
        with handed_over(connection):
            connection.execute("SELECT * FROM t")
        connection.execute("BEGIN")  # nor does the host suffer from the rules afterwards
        assert connection.in_transaction


async def test_full_text_search_works(databases):
    db = databases.database("memo", "hello")
    await db.execute("CREATE VIRTUAL TABLE pages USING fts5(text, tokenize = 'porter')")
    async with db.transaction():
        await db.executemany("INSERT INTO pages VALUES (?)", [("a running horse",), ("a house",), ("runs",)])
    assert await db.execute("DELETE FROM pages WHERE text = 'runs'") == 1
    assert await db.fetch_all("SELECT text FROM pages WHERE pages MATCH 'run' ORDER BY rank") == [("a running horse",)]
    await db.execute("INSERT INTO pages(pages) VALUES ('optimize')")
    await db.execute("INSERT INTO pages(pages) VALUES ('integrity-check')")
    await db.execute("CREATE VIRTUAL TABLE words USING fts5vocab('pages', 'row')")
    assert ("hous",) in await db.fetch_all("SELECT term FROM words")
    await db.execute("DROP TABLE words")
    await db.execute("ALTER TABLE pages RENAME TO leaves")
    await db.execute("DROP TABLE leaves")
    assert await db.fetch_all("SELECT name FROM sqlite_schema WHERE name LIKE 'pages%' OR name LIKE 'leaves%'") == []


async def test_a_full_disk_is_unavailable_and_stores_nothing(db, databases):
    file = databases._level("memo", "hello").file
    await file.run(lambda raw: raw.execute("PRAGMA max_page_count = 20").fetchall())
    with pytest.raises(Unavailable):
        await db.execute("INSERT INTO notes (text) VALUES (?)", ("x" * 500_000,))
    assert await db.fetch_all("SELECT * FROM notes") == []
    assert await db.execute("INSERT INTO notes (text) VALUES ('small')") == 1


async def test_a_file_that_is_no_database_is_unavailable(databases, data_dir):
    folder = data_dir / "plugins" / "memo"
    folder.mkdir(parents=True)
    (folder / "hello.db").write_bytes(b"not a database at all, but long enough to be one" * 100)
    with pytest.raises(Unavailable):
        await databases.database("memo", "hello").fetch_all("SELECT 1")


async def test_a_directory_that_cannot_be_made_is_unavailable(databases, data_dir):
    data_dir.mkdir()
    (data_dir / "plugins").touch()
    with pytest.raises(Unavailable):
        await databases.database("memo", "hello").fetch_all("SELECT 1")
