"""Listeners to turn events: in order, one at a time, at most once, and never in anybody's way."""

import asyncio
import logging
from datetime import UTC, datetime

import pytest

from innkeeper.contract.markers import HookOptions
from innkeeper.contract.plugin import PluginContext
from innkeeper.contract.turn_event import TurnEvent
from innkeeper.registry.charges import Charge, Charges
from innkeeper.registry.contexts import PluginLog
from innkeeper.registry.facade import Hooks
from innkeeper.registry.fanout import Implementation
from innkeeper.registry.listeners import WAITING

pytestmark = pytest.mark.anyio
CHARGE = Charge("acme", "on_turn_event", "t")


def event(number: int) -> TurnEvent:
    return TurnEvent(number, "task", "session", "status", datetime.now(UTC), {"state": "working"})


@pytest.fixture
def charges() -> Charges:
    return Charges()


@pytest.fixture
def hooks_with(strays, charges):
    def making(*functions) -> Hooks:
        log = PluginLog(logging.getLogger("innkeeper.plugins"), {"plugin": "acme", "tenant": "t"})
        context = PluginContext("acme", "t", log, http=None)
        return Hooks(
            [Implementation("on_turn_event", "acme", each, ("event",), HookOptions(), context) for each in functions],
            strays,
            charges,
            grace_seconds=0.01,
        )

    return making


async def test_events_are_told_in_order_one_at_a_time(hooks_with):
    told, inside = [], []

    async def listen(event):
        inside.append(event.seq)
        assert len(inside) == 1
        await asyncio.sleep(0)
        inside.remove(event.seq)
        told.append(event.seq)

    hooks = hooks_with(listen)
    for number in range(50):
        hooks.on_turn_event(event(number))
    await hooks.close()
    assert told == list(range(50))


async def test_a_fault_is_charged_and_the_next_event_is_told_all_the_same(hooks_with, charges, caplog):
    told = []

    def listen(event):
        told.append(event.seq)
        raise ValueError("broken")

    hooks = hooks_with(listen)
    hooks.on_turn_event(event(1))
    hooks.on_turn_event(event(2))
    await hooks.close()
    assert told == [1, 2]
    assert charges.counts == {CHARGE: 2}
    assert "on_turn_event of plugin 'acme' at tenant 't' raised ValueError: broken" in caplog.text


async def test_one_that_does_not_keep_up_loses_events_and_nobody_else_does(hooks_with, charges, caplog):
    go_on, told, heard = asyncio.Event(), [], []

    async def slow(event):
        await go_on.wait()
        told.append(event.seq)

    hooks = hooks_with(slow, lambda event: heard.append(event.seq))
    hooks.on_turn_event(event(0))
    await asyncio.sleep(0)
    for number in range(1, WAITING + 11):
        hooks.on_turn_event(event(number))
        await asyncio.sleep(0)
    go_on.set()
    await hooks.close()
    assert told == list(range(WAITING + 1))
    assert heard == list(range(WAITING + 11))
    assert charges.counts == {CHARGE: 10}
    assert caplog.text.count("its queue is full") == 1


async def test_what_still_waits_when_the_host_stops_is_dropped_after_a_while(hooks_with, charges, monkeypatch):
    monkeypatch.setattr("innkeeper.registry.facade.PARTING_SECONDS", 0.01)
    hooks = hooks_with(lambda event: asyncio.Event().wait())
    for number in range(3):
        hooks.on_turn_event(event(number))
    await hooks.close()
    assert charges.counts == {CHARGE: 2}
