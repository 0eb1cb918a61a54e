"""The file of the signing keys, rotated, spoiled and removed while a host serves."""

import asyncio
from datetime import UTC, datetime

import pytest

from innkeeper.app.key_file import follow_key_file
from innkeeper.edge.keys import load_key_file, new_key, rotate_key, write_key

pytestmark = pytest.mark.anyio


class Looks:
    """Lets a file be looked at once at a time, when the test says so."""

    def __init__(self) -> None:
        self._waiting = asyncio.Event()
        self._go_on = asyncio.Event()

    async def pause(self, seconds: float) -> None:
        self._waiting.set()
        await self._go_on.wait()
        self._go_on.clear()

    async def done(self) -> None:
        await self._waiting.wait()

    async def again(self) -> None:
        self._waiting.clear()
        self._go_on.set()
        await self.done()


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "key.json"
    write_key(file, new_key(datetime.now(UTC)))
    return file


@pytest.fixture
async def followed(path):
    """What was signed with, by kid, and a hand on when the file is looked at."""
    looks, signed = Looks(), []
    served = load_key_file(path)
    task = asyncio.create_task(follow_key_file(path, served, lambda keys: signed.append(keys.kid), looks.pause))
    await looks.done()
    yield looks, signed
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_rotated_file_is_signed_with_once(path, followed):
    looks, signed = followed
    await looks.again()
    assert signed == []
    new = rotate_key(path, new_key(datetime.now(UTC)))
    await looks.again()
    await looks.again()
    assert signed == [new.kid]


async def test_a_file_written_anew_with_the_same_keys_changes_nothing(path, followed):
    looks, signed = followed
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content)
    path.chmod(0o600)
    await looks.again()
    assert signed == []


@pytest.mark.parametrize("spoil", [lambda path: path.write_text("{"), lambda path: path.chmod(0o644)])
async def test_a_spoiled_file_changes_nothing_and_is_told_once(path, followed, caplog, spoil):
    looks, signed = followed
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content)
    spoil(path)
    await looks.again()
    await looks.again()
    assert (signed, [record.levelname for record in caplog.records]) == ([], ["WARNING"])


async def test_a_file_that_comes_back_is_read(path, followed):
    looks, signed = followed
    path.unlink()
    await looks.again()
    write_key(path, new_key(datetime.now(UTC)))
    await looks.again()
    assert signed == [load_key_file(path).kid]
