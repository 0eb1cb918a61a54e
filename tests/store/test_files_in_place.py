"""The write-ahead log: emptied although somebody always reads, never at the price of a long wait."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from innkeeper.store import files_in_place, open_store
from innkeeper.store.files_in_place import EMPTYING_AGAIN_SECONDS, FilesInPlace


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[sqlite3.Connection]:
    monkeypatch.setattr(files_in_place, "LONG_LOG_BYTES", 100_000)
    with closing(sqlite3.connect(tmp_path / "x.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("CREATE TABLE t (x)")
        yield connection


def test_a_long_log_is_emptied_and_a_short_one_left_alone(database: sqlite3.Connection, tmp_path: Path) -> None:
    log, files = tmp_path / "x.db-wal", FilesInPlace(tmp_path / "x.db")
    files.empty_long_log(database)
    assert log.stat().st_size > 0
    database.execute("INSERT INTO t VALUES (zeroblob(200000))")
    files.empty_long_log(database)
    assert log.stat().st_size == 0
    assert database.execute("PRAGMA busy_timeout").fetchone() == (5000,)


def test_a_reader_in_the_way_is_not_waited_for_and_asked_again_later(
    database: sqlite3.Connection, tmp_path: Path
) -> None:
    clock = Clock()
    log, files = tmp_path / "x.db-wal", FilesInPlace(tmp_path / "x.db", clock)
    with closing(sqlite3.connect(tmp_path / "x.db", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM t").fetchall()
        database.execute("INSERT INTO t VALUES (zeroblob(200000))")
        files.empty_long_log(database)
        assert log.stat().st_size > 200_000
    files.empty_long_log(database)
    assert log.stat().st_size > 200_000
    clock.now += EMPTYING_AGAIN_SECONDS
    files.empty_long_log(database)
    assert log.stat().st_size == 0


@pytest.mark.anyio
async def test_an_orderly_stop_leaves_no_log(tmp_path: Path) -> None:
    async with open_store(tmp_path / "data", lambda _: None):
        assert (tmp_path / "data" / "innkeeper.db-wal").exists()
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == ["innkeeper.db", "innkeeper.lock"]
