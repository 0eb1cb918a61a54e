"""Work in one transaction: each piece all or nothing, and nobody pays for another's mistake."""

import sqlite3
from contextlib import closing

import pytest

from innkeeper.store.transactions import Done, Failed, Transactions


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.db"


@pytest.fixture
def connection(path):
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE t (x UNIQUE, y)")
        yield connection


@pytest.fixture
def transactions(connection):
    return Transactions(connection)


@pytest.fixture
def commits(connection):
    """The commits that the connection makes."""
    seen = []
    connection.set_trace_callback(lambda sql: seen.append(sql) if sql.startswith("COMMIT") else None)
    return seen


def put(x, y=None):
    def work(connection):
        connection.execute("INSERT INTO t VALUES (?, ?)", (x, y))
        return x

    return work


def put_and_raise(error, x="undone"):
    def work(connection):
        put(x)(connection)
        raise error

    return work


def stored(path):
    """What another connection sees."""
    with closing(sqlite3.connect(path)) as other:
        return [x for (x,) in other.execute("SELECT x FROM t ORDER BY rowid")]


def summary(outcomes):
    return [outcome.answer if isinstance(outcome, Done) else type(outcome.error) for outcome in outcomes]


def test_a_batch_is_one_commit(transactions, commits, path):
    assert summary(transactions.run([put(n) for n in range(100)])) == list(range(100))
    assert len(commits) == 1
    assert stored(path) == list(range(100))


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), SystemExit(3), StopIteration()])
@pytest.mark.parametrize("others", [0, 1])
def test_work_that_raises_is_undone_alone(transactions, commits, path, error, others):
    before, after = [put(f"before {n}") for n in range(others)], [put(f"after {n}") for n in range(others)]
    outcomes = transactions.run([*before, put_and_raise(error), *after])
    assert outcomes[others] == Failed(error)
    assert stored(path) == ["before 0", "after 0"] * others
    assert len(commits) == others


@pytest.mark.parametrize(
    "control",
    [
        *(lambda c, sql=sql: c.execute(sql) for sql in ("COMMIT", "END", "ROLLBACK", "BEGIN", "SAVEPOINT mine")),
        *(lambda c, sql=sql: c.execute(sql) for sql in ("RELEASE work", "ROLLBACK TO work")),
        lambda c: c.commit(),
        lambda c: c.rollback(),
        lambda c: c.executescript("INSERT INTO t VALUES ('script', 0)"),
    ],
    ids=[
        "COMMIT",
        "END",
        "ROLLBACK",
        "BEGIN",
        "SAVEPOINT",
        "RELEASE",
        "ROLLBACK TO",
        "commit()",
        "rollback()",
        "script",
    ],
)
@pytest.mark.parametrize("catches", [False, True], ids=["lets it through", "catches it"])
def test_work_cannot_end_the_transaction_it_shares(transactions, commits, path, control, catches):
    def rogue(connection):
        put("rogue")(connection)
        try:
            control(connection)
        except sqlite3.DatabaseError:
            if not catches:
                raise
        return "caught"

    outcomes = transactions.run([put("a"), rogue, put("b")])
    if catches:
        assert summary(outcomes) == ["a", "caught", "b"]
        assert stored(path) == ["a", "rogue", "b"]
    else:
        assert summary(outcomes) == ["a", sqlite3.DatabaseError, "b"]
        assert "not authorized" in str(outcomes[1].error)
        assert stored(path) == ["a", "b"]
    assert len(commits) == 1


def test_the_statements_of_the_writer_are_no_way_around_it(transactions, path):
    transactions.run([put("warm"), put("the cache")])
    outcomes = transactions.run([put("a"), lambda connection: connection.execute("COMMIT"), put("b")])
    assert summary(outcomes) == ["a", sqlite3.DatabaseError, "b"]


def lose_the_transaction(connection):
    put("lost")(connection)
    connection.execute("INSERT OR ROLLBACK INTO t VALUES ('lost', 0)")


def lose_it_and_go_on(connection):
    put("lost")(connection)
    with pytest.raises(sqlite3.IntegrityError):
        connection.execute("INSERT OR ROLLBACK INTO t VALUES ('lost', 0)")
    return "as if nothing had happened"


@pytest.mark.parametrize(
    ("breaker", "error"),
    [(lose_the_transaction, sqlite3.IntegrityError), (lose_it_and_go_on, sqlite3.ProgrammingError)],
)
def test_when_the_transaction_is_lost_the_rest_is_done_once_each_and_in_order(
    transactions, commits, path, breaker, error
):
    runs = []

    def counted(connection):
        runs.append("run")
        return put("counted")(connection)

    outcomes = transactions.run([put("a"), counted, breaker, put_and_raise(ValueError()), put("b")])
    assert summary(outcomes) == ["a", "counted", error, ValueError, "b"]
    assert stored(path) == ["a", "counted", "b"]
    assert runs == ["run", "run"]
    assert len(commits) == 3


def test_alone_too_work_that_loses_its_transaction_has_failed(transactions, path):
    assert summary(transactions.run([lose_it_and_go_on])) == [sqlite3.ProgrammingError]
    assert stored(path) == []


def fill_the_disk(connection, spare_pages):
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages + spare_pages}")


def test_a_full_disk_fails_what_does_not_fit_and_nothing_else(transactions, connection, path):
    fill_the_disk(connection, 8)
    outcomes = transactions.run([put("a"), put("big", "x" * 100_000), put("b"), put("big too", "x" * 100_000)])
    assert summary(outcomes) == ["a", sqlite3.OperationalError, "b", sqlite3.OperationalError]
    assert outcomes[1].error.sqlite_errorname == "SQLITE_FULL"
    assert stored(path) == ["a", "b"]
    assert summary(transactions.run([put("c")])) == ["c"]


def test_a_commit_that_fails_is_followed_by_one_commit_each(connection, transactions, commits, path):
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("CREATE TABLE child (parent REFERENCES t (x) DEFERRABLE INITIALLY DEFERRED)")

    def orphan(connection):
        connection.execute("INSERT INTO child VALUES ('nobody')")

    outcomes = transactions.run([put("a"), orphan, put("b")])
    assert summary(outcomes) == ["a", sqlite3.IntegrityError, "b"]
    assert stored(path) == ["a", "b"]
    assert not connection.in_transaction


def test_while_another_process_writes_all_fail_at_once_and_later_work_is_done(connection, transactions, path):
    connection.execute("PRAGMA busy_timeout = 0")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert summary(transactions.run([put("a"), put("b")])) == [sqlite3.OperationalError] * 2
        assert summary(transactions.run([put("a")])) == [sqlite3.OperationalError]
    assert summary(transactions.run([put("a"), put("b")])) == ["a", "b"]


def test_a_transaction_left_open_does_not_stop_what_comes_next(connection, transactions, path):
    connection.execute("BEGIN")
    assert summary(transactions.run([put("a")])) == ["a"]
    assert stored(path) == ["a"]
