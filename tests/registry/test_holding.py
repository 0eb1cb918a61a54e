"""A plugin's lifespan: entered, held and left by one task, whatever it does."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from innkeeper.contract.markers import HookOptions
from innkeeper.contract.plugin import PluginContext
from innkeeper.registry.charges import Charge, Charges
from innkeeper.registry.contexts import PluginLog
from innkeeper.registry.fanout import Implementation
from innkeeper.registry.holding import Holding

pytestmark = pytest.mark.anyio
CHARGE = Charge("acme", "lifespan", "t")


@pytest.fixture
def charges() -> Charges:
    return Charges()


@pytest.fixture
def holding(strays, charges):
    def making(function: Callable[..., Any], *, deadline: float = 5, grace: float = 5) -> Holding:
        log = PluginLog(logging.getLogger("innkeeper.plugins"), {"plugin": "acme", "tenant": "t"})
        context = PluginContext("acme", "t", log, http=None)
        each = Implementation("lifespan", "acme", function, (), HookOptions(), context)
        return Holding(each, strays, charges, deadline=deadline, grace=grace)

    return making


async def test_one_task_enters_holds_and_leaves_so_that_task_groups_stay_open(holding, charges):
    tasks = []

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        tasks.append(asyncio.current_task())
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.sleep_forever)
            yield
            group.cancel_scope.cancel()
        tasks.append(asyncio.current_task())

    held = holding(lifespan)
    assert await held.enter() is None
    await held.leave(asyncio.Event())
    assert tasks[0] is tasks[1] is not asyncio.current_task()
    assert charges.counts == {}


async def test_what_is_held_may_be_held_longer_than_the_deadline(holding, charges):
    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        yield

    held = holding(lifespan, deadline=0.3)
    assert await held.enter() is None
    await asyncio.sleep(0.35)  # longer than the deadline: there is no signal that nothing has happened
    await held.leave(asyncio.Event())
    assert charges.counts == {}


@asynccontextmanager
async def raises_before() -> AsyncIterator[None]:
    raise SystemExit(3)
    yield


@asynccontextmanager
async def never_enters() -> AsyncIterator[None]:
    await asyncio.Event().wait()
    yield


NOT_ENTERED = {
    "raises": (raises_before, "raised SystemExit: 3"),
    "hangs": (never_enters, "took longer than 0.05 s"),
    "answers a number": (lambda: 3, "answered int; expected is an async context manager"),
}


@pytest.mark.parametrize("case", NOT_ENTERED)
async def test_what_cannot_be_entered_is_a_fault_and_not_held(holding, strays, charges, case):
    function, reason = NOT_ENTERED[case]
    held = holding(function, deadline=0.05 if case == "hangs" else 5)
    fault = await held.enter()
    assert fault.reason.startswith(reason)
    await held.leave(asyncio.Event())
    assert (strays.count, charges.counts) == (0, {CHARGE: 1})


@asynccontextmanager
async def raises_after() -> AsyncIterator[None]:
    yield
    raise ValueError("broken")


@asynccontextmanager
async def never_leaves() -> AsyncIterator[None]:
    yield
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("function", "reason"), [(raises_after, "raised ValueError: broken"), (never_leaves, "took longer than 0.3 s")]
)
async def test_what_cannot_be_left_is_logged_and_counted(holding, charges, caplog, function, reason):
    held = holding(function, deadline=0.3 if function is never_leaves else 5)
    assert await held.enter() is None
    await held.leave(asyncio.Event())
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert f"lifespan of plugin 'acme' at tenant 't', being held or left: {reason}" in record.getMessage()
    assert charges.counts == {CHARGE: 1}


async def test_what_ends_while_it_is_held_is_logged_when_it_does(holding, charges, caplog):
    crash = asyncio.Event()

    async def crashes() -> None:
        await crash.wait()
        raise ValueError("broken")

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as group:
            group.create_task(crashes())
            yield

    held = holding(lifespan)
    assert await held.enter() is None
    crash.set()
    async with asyncio.timeout(5):
        while not charges.counts:  # noqa: ASYNC110 - the log is the only signal there is
            await asyncio.sleep(0)
    assert "broken" in caplog.text
    await held.leave(asyncio.Event())
    assert charges.counts == {CHARGE: 1}


async def test_a_caller_that_is_canceled_while_entering_leaves_nothing_behind(holding, strays):
    entering = asyncio.create_task(holding(never_enters).enter())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    entering.cancel()
    await asyncio.wait({entering})
    assert entering.cancelled()
    assert strays.count == 0


async def test_who_is_in_a_hurry_waits_for_the_grace_only(holding, caplog):
    held = holding(never_leaves, deadline=30)
    assert await held.enter() is None
    hurry = asyncio.Event()
    leaving = asyncio.create_task(held.leave(hurry))
    hurry.set()
    async with asyncio.timeout(10):
        await leaving
    assert "being held or left: took longer" in caplog.text


async def test_who_is_in_a_hurry_from_the_start_lets_what_leaves_at_once_leave(holding, charges):
    left = []

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        yield
        await asyncio.sleep(0)
        left.append(True)

    held = holding(lifespan)
    assert await held.enter() is None
    hurry = asyncio.Event()
    hurry.set()
    await held.leave(hurry)
    assert (left, charges.counts) == ([True], {})
