"""Foreign code that blocks the event loop is named while it does; whoever waits, and the host itself, is not."""

import asyncio
import contextvars
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from innkeeper.registry.exits import owned
from innkeeper.registry.foreign import Foreign, Strays, contain_exits, run_in_thread
from innkeeper.registry.watchdog import Owner, Steps, Watchdog

pytestmark = pytest.mark.anyio

SLOW = timedelta(milliseconds=40)
NAME = "should_handle_turn of plugin 'x' at tenant 'y'"


class Told(logging.Handler):
    """Keeps what the watchdog says; ``block`` keeps the loop until it says something."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._said = threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())
        self._said.set()

    def block(self) -> None:
        assert self._said.wait(10), "no warning while the loop was blocked"
        self._said.clear()


@pytest.fixture
def told() -> Iterator[Told]:
    handler = Told()
    logger = logging.getLogger("innkeeper.registry.watchdog")
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)


@pytest.fixture
def watchdog(strays: Strays) -> Iterator[Watchdog]:
    with Watchdog(strays.steps, SLOW) as watching:
        yield watching


@pytest.fixture
async def ran(strays: Strays) -> Callable[[Any], Any]:
    async def run(work: Any, name: str = NAME, **options: Any) -> Any:
        foreign: Foreign[Any] = Foreign(work, name=name, strays=strays, **options)
        assert await foreign.wait(10)
        return foreign.result()

    return run


async def test_it_says_who_blocks_how_long_and_where_while_it_does(told: Told, watchdog: Watchdog, ran: Any) -> None:
    async def gate() -> None:
        await asyncio.sleep(0)
        told.block()

    await ran(gate)
    (text,) = told.texts
    head, *stack = text.splitlines()
    assert head.startswith(f"{NAME} blocks the event loop, for ")
    assert "in gate" in stack[0], "the frames of the host that lead there are not shown"
    assert "in block" in text
    assert watchdog.slow == {NAME: 1}


async def plain(told: Told) -> None:
    told.block()


async def streaming(told: Told) -> None:
    async def pieces() -> AsyncIterator[int]:
        yield 1
        told.block()
        yield 2

    assert [piece async for piece in pieces()] == [1, 2]


async def when_canceled(told: Told) -> None:
    asyncio.current_task().cancel()  # type: ignore[union-attr]
    try:
        await asyncio.sleep(0)
    except asyncio.CancelledError:
        told.block()


async def in_a_child(told: Told) -> None:
    contain_exits(asyncio.get_running_loop())
    await asyncio.create_task(plain(told))


async def in_a_child_of_an_empty_context(told: Told) -> None:
    contain_exits(asyncio.get_running_loop())
    await asyncio.create_task(in_a_child(told), context=contextvars.Context())


async def in_a_child_of_a_callback(told: Told) -> None:
    loop = asyncio.get_running_loop()
    contain_exits(loop)
    child: asyncio.Future[asyncio.Task[None]] = loop.create_future()
    loop.call_soon(lambda: child.set_result(loop.create_task(plain(told))))
    await (await child)


@pytest.mark.parametrize(
    "work",
    [
        lambda told: told.block(),
        plain,
        streaming,
        when_canceled,
        in_a_child,
        in_a_child_of_an_empty_context,
        in_a_child_of_a_callback,
    ],
)
async def test_foreign_code_of_every_form_is_named_once_per_block(
    told: Told, watchdog: Watchdog, ran: Any, work: Any
) -> None:
    for _ in range(2):
        await ran(lambda: work(told), "a gate, asked for the first time", kind="a gate")
    assert [text.partition(" blocks ")[0] for text in told.texts] == ["a gate, asked for the first time"] * 2
    assert watchdog.slow == {"a gate": 2}


async def test_a_long_block_is_told_of_once(told: Told, watchdog: Watchdog, ran: Any) -> None:
    def gate() -> None:
        told.block()
        time.sleep(4 * SLOW.total_seconds())

    await ran(gate)
    assert len(told.texts) == 1


async def test_who_awaits_long_who_blocks_a_thread_and_the_host_itself_are_not_named(
    told: Told, watchdog: Watchdog, ran: Any, strays: Strays
) -> None:
    long = 3 * SLOW.total_seconds()
    await ran(lambda: asyncio.sleep(long))
    await ran(lambda: run_in_thread(lambda: time.sleep(long), name=NAME, strays=strays))
    waiting = asyncio.Event()
    foreign: Foreign[Any] = Foreign(waiting.wait, name=NAME, strays=strays)
    await asyncio.sleep(0)
    time.sleep(long)  # noqa: ASYNC251 - the host's own code blocks
    waiting.set()
    await foreign.wait(5)
    await ran(told.block)  # the watchdog is awake all the same
    assert len(told.texts) == 1


async def test_hosts_of_one_loop_tell_of_their_own_only(told: Told, watchdog: Watchdog, ran: Any) -> None:
    with Watchdog(Strays().steps, SLOW) as other:
        await ran(told.block)
    assert (dict(watchdog.slow), dict(other.slow), len(told.texts)) == ({NAME: 1}, {}, 1)


def test_it_ends_when_it_is_left(strays: Strays) -> None:
    with Watchdog(strays.steps, timedelta(hours=1)):
        assert "innkeeper watchdog" in {thread.name for thread in threading.enumerate()}
    assert "innkeeper watchdog" not in {thread.name for thread in threading.enumerate()}


async def test_a_step_costs_far_less_than_what_the_loop_does_for_it() -> None:
    async def steps(count: int) -> None:
        for _ in range(count):
            await asyncio.sleep(0)

    async def seconds(work: Any) -> float:
        begun = time.perf_counter()
        await work
        return time.perf_counter() - begun

    count = 20_000
    owner = Owner(NAME, NAME, Steps())
    bare = min([await seconds(steps(count)) for _ in range(3)])
    watched = min([await seconds(owned(steps(count), owner)) for _ in range(3)])
    assert (watched - bare) / count < 5e-6
