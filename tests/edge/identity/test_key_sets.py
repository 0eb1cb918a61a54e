"""Key sets: when they are asked for, how long they are believed, and what an issuer in trouble means."""

import anyio
import pytest

from innkeeper.contract.errors import Unavailable
from innkeeper.edge.identity.key_sets import SETS_PER_ORIGIN, KeySets
from innkeeper.edge.identity.urls import url_from_text
from innkeeper.testing.tokens import Mint

pytestmark = pytest.mark.anyio

JKU = url_from_text("https://gw.example/.well-known/jwks.json")


async def test_a_set_is_fetched_once_and_believed_for_a_while(key_sets, source, clock):
    for _ in range(3):
        assert await key_sets.find(JKU, "gw-1")
    clock.now += 600
    assert await key_sets.find(JKU, "gw-1")
    assert len(source.fetched) == 1
    clock.now += 1
    assert await key_sets.find(JKU, "gw-1")
    assert len(source.fetched) == 2


async def test_an_unknown_kid_is_asked_for_once_per_cool_down(key_sets, source, clock):
    assert await key_sets.find(JKU, "gw-1")
    for number in range(1000):
        assert await key_sets.find(JKU, f"random-{number}") is None
        assert await key_sets.find(JKU, "gw-1")
    assert len(source.fetched) == 1
    clock.now += 30
    for number in range(1000):
        assert await key_sets.find(JKU, f"random-{number}") is None
    assert len(source.fetched) == 2


async def test_a_key_that_the_gateway_has_just_made_is_found(key_sets, source, clock, mint):
    assert await key_sets.find(JKU, "gw-1")
    source.documents[mint.jku] = Mint("https://gw.example", "gw-2").jwks()
    clock.now += 30
    assert await key_sets.find(JKU, "gw-2")
    assert await key_sets.find(JKU, "gw-1") is None


@pytest.mark.parametrize("broken", ["", "no answer within 2 seconds"])
async def test_a_set_that_was_never_known_is_unavailable(key_sets, source, broken, caplog):
    source.documents.clear()
    source.broken = broken
    for _ in range(3):
        with pytest.raises(Unavailable) as caught:
            await key_sets.find(JKU, "gw-1")
        assert caught.value.retry_after == 30
    assert len(source.fetched) == 1
    assert "https://gw.example/.well-known/jwks.json" in caplog.text


async def test_an_old_set_is_believed_for_a_limited_time_while_the_gateway_is_down(key_sets, source, clock):
    assert await key_sets.find(JKU, "gw-1")
    source.broken = "answered with 500"
    clock.now += 601
    assert await key_sets.find(JKU, "gw-1")
    assert await key_sets.find(JKU, "gw-1")
    assert len(source.fetched) == 2
    clock.now += 3599
    assert await key_sets.find(JKU, "gw-1")
    clock.now += 1
    with pytest.raises(Unavailable):
        await key_sets.find(JKU, "gw-1")
    source.broken = ""
    clock.now += 30
    assert await key_sets.find(JKU, "gw-1")


class SlowSource:
    """Answers when it is told to."""

    def __init__(self, document):
        self.document = document
        self.asked = anyio.Event()
        self.told = anyio.Event()
        self.fetches = 0

    async def fetch(self, url):
        self.fetches += 1
        self.asked.set()
        await self.told.wait()
        return self.document


async def test_those_who_come_together_share_one_fetch(mint, clock):
    source = SlowSource(mint.jwks())
    key_sets = KeySets(source, clock)
    found = []

    async def find():
        found.append(await key_sets.find(JKU, "gw-1"))

    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(find)
        await source.asked.wait()
        source.told.set()
    assert (source.fetches, len(found), None in found) == (1, 20, False)


async def test_while_one_renews_an_old_set_the_others_make_do_with_it(mint, clock):
    source = SlowSource(mint.jwks())
    source.told.set()
    key_sets = KeySets(source, clock)
    assert await key_sets.find(JKU, "gw-1")
    source.asked, source.told = anyio.Event(), anyio.Event()
    clock.now += 601
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(key_sets.find, JKU, "gw-1")
        await source.asked.wait()
        assert await key_sets.find(JKU, "gw-1")
        source.told.set()


async def test_who_leaves_while_fetching_leaves_the_others_nothing_broken(mint, clock):
    source = SlowSource(mint.jwks())
    key_sets = KeySets(source, clock)
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(key_sets.find, JKU, "gw-1")
            await source.asked.wait()
            scope.cancel()
    source.told.set()
    assert await key_sets.find(JKU, "gw-1")


async def test_paths_that_nobody_signed_for_do_not_fill_the_memory_nor_flood_the_gateway(key_sets, source, clock):
    async def ask(paths):
        for path in paths:
            with pytest.raises(Unavailable):
                await key_sets.find(url_from_text(f"https://gw.example/{path}"), "gw-1")

    await ask(range(1000))
    assert len(source.fetched) == SETS_PER_ORIGIN
    assert await key_sets.find(JKU, "gw-1")
    clock.now += 30
    await ask(range(1000, 2000))
    assert len(source.fetched) == 2 * SETS_PER_ORIGIN + 1
    assert len(key_sets._sets) == SETS_PER_ORIGIN + 1
