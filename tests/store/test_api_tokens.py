"""Tokens in the database: written beside a host that runs, and read by it at once."""

import sqlite3
import stat
from contextlib import closing
from dataclasses import replace

import pytest

from innkeeper.contract.errors import StartFault
from innkeeper.ports.tokens import ApiToken
from innkeeper.store import open_store, open_token_book
from innkeeper.store.data_dir import DATABASE, sole_use
from innkeeper.store.schema import migrations, prepare

pytestmark = pytest.mark.anyio

TOKEN = ApiToken("a1", "Ann", "ann", ("x", "y"), operator=False, created_at_us=1, expires_at_us=2, digest=b"d" * 32)
OPERATOR = ApiToken("b2", "", "root", (), operator=True, created_at_us=2, expires_at_us=None, digest=b"o" * 32)


def test_tokens_are_kept_as_they_are(tmp_path):
    with open_token_book(tmp_path / "data") as book:
        book.add(OPERATOR)
        book.add(TOKEN)
    with open_token_book(tmp_path / "data") as book:
        assert book.all() == (TOKEN, OPERATOR)
    assert stat.S_IMODE((tmp_path / "data" / DATABASE).stat().st_mode) == 0o600


def test_a_rotation_keeps_the_secret_before_and_no_older_one(tmp_path):
    with open_token_book(tmp_path) as book:
        book.add(TOKEN)
        assert book.rotate("a1", b"e" * 32, 10)
        assert book.all() == (replace(TOKEN, digest=b"e" * 32, previous_digest=b"d" * 32, previous_until_us=10),)
        assert book.rotate("a1", b"f" * 32, 20)
        assert book.all() == (replace(TOKEN, digest=b"f" * 32, previous_digest=b"e" * 32, previous_until_us=20),)


def test_what_is_not_there_is_neither_rotated_nor_revoked(tmp_path):
    with open_token_book(tmp_path) as book:
        assert not book.rotate("a1", b"e" * 32, 10)
        assert not book.revoke("a1")


async def test_a_running_host_sees_each_change_at_once(tmp_path):
    async with open_store(tmp_path, lambda _: None) as store:
        assert await store.api_tokens.find("a1") is None
        with open_token_book(tmp_path) as book:
            book.add(TOKEN)
            assert await store.api_tokens.find("a1") == TOKEN
            book.rotate("a1", b"e" * 32, 10)
            assert (await store.api_tokens.find("a1")).digest == b"e" * 32
            book.revoke("a1")
            assert await store.api_tokens.find("a1") is None


def test_a_database_of_an_older_version_is_left_to_the_host_that_runs(tmp_path):
    with closing(sqlite3.connect(tmp_path / DATABASE, isolation_level=None)) as connection:
        prepare(connection, tmp_path / DATABASE, migrations()[:1])
    with sole_use(tmp_path), pytest.raises(StartFault, match="another host is using it"), open_token_book(tmp_path):
        pass
    with open_token_book(tmp_path) as book:
        assert book.all() == ()


def test_a_database_of_a_newer_version_is_refused(tmp_path):
    with open_token_book(tmp_path):
        pass
    connection = sqlite3.connect(tmp_path / DATABASE)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StartFault, match="newer"), open_token_book(tmp_path):
        pass


def test_what_is_no_database_is_a_fault(tmp_path):
    (tmp_path / DATABASE).write_bytes(b"no database at all, but long enough to look like something" * 20)
    with pytest.raises(StartFault, match="corrupt"), open_token_book(tmp_path):
        pass
