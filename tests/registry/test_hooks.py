"""The facade: every implementation is asked by itself, and each hook has its own way to combine the answers."""

import asyncio
import logging
import threading
from collections import UserString
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from innkeeper.contract.agent import Agent
from innkeeper.contract.caller import ANONYMOUS
from innkeeper.contract.hooks import HOOKS, HookRule
from innkeeper.contract.markers import HookOptions
from innkeeper.contract.message import Message, Part
from innkeeper.contract.plugin import PluginContext
from innkeeper.contract.turn import Turn
from innkeeper.registry.charges import Charge, Charges
from innkeeper.registry.contexts import PluginLog
from innkeeper.registry.facade import Hooks
from innkeeper.registry.fanout import Implementation

pytestmark = pytest.mark.anyio


def rules(deadline: timedelta) -> dict[str, HookRule]:
    return {hook: replace(rule, deadline=deadline) for hook, rule in HOOKS.items()}


QUICK = rules(timedelta(milliseconds=30))
PATIENT = rules(timedelta(seconds=30))
MESSAGE = Message("m1", "user", (Part(text="hi"),), datetime.now(UTC))


def context_for(plugin: str, tenant: str | None) -> PluginContext:
    log = PluginLog(logging.getLogger("innkeeper.plugins"), {"plugin": plugin, "tenant": tenant})
    return PluginContext(plugin, tenant, log, http=None)


@pytest.fixture
def turn():
    return Turn(
        MESSAGE, "t1", "c1", "support", ANONYMOUS, {}, 1, None, context_for("owner", "support"), None, None, None
    )


@pytest.fixture
def charges():
    return Charges()


def implementation(hook: str, plugin: str, function, *, tenant: str | None = "support", **options: bool):
    argnames = function.__code__.co_varnames[: function.__code__.co_argcount]
    return Implementation(hook, plugin, function, argnames, HookOptions(**options), context_for(plugin, tenant))


def gate(plugin: str, function, **options: bool):
    return implementation("should_handle_turn", plugin, function, **options)


@pytest.fixture
def ask(strays, charges, turn):
    async def asking(*gates: Implementation, rules=PATIENT, grace=5.0):
        hooks = Hooks(gates, strays, charges, rules=rules, grace_seconds=grace)
        return await hooks.should_handle_turn(turn, [MESSAGE])

    return asking


async def answers(value):
    await asyncio.sleep(0)
    return value


async def raises_later(error):
    await asyncio.sleep(0)
    raise error


def raises(error):
    raise error


async def lies():
    asyncio.current_task().cancel()
    await asyncio.sleep(0)
    return False


async def two_steps():
    yield False


GATES = {
    "True": (lambda: True, True, None),
    "True later": (lambda: answers(True), True, None),
    "None": (lambda: None, True, None),
    "False": (lambda: False, False, None),
    "False later": (lambda: answers(False), False, None),
    "zero": (lambda: 0, True, "answered int"),
    "one": (lambda: 1, True, "answered int"),
    "text": (lambda: "False", True, "answered str"),
    "empty tuple": (lambda: (), True, "answered"),
    "a function": (lambda: lambda: False, True, "answered function"),
    "an async generator": (two_steps, True, "answered async_generator"),
    "an awaitable of an awaitable": (lambda: answers(asyncio.sleep(0).close()), True, None),
    "raises now": (lambda: raises(ValueError("broken")), True, "raised ValueError: broken"),
    "raises later": (lambda: raises_later(ValueError("broken")), True, "raised ValueError: broken"),
    "exits": (lambda: raises(SystemExit(3)), True, "raised SystemExit: 3"),
    "exits later": (lambda: raises_later(SystemExit(3)), True, "raised SystemExit: 3"),
    "interrupts": (lambda: raises_later(KeyboardInterrupt()), True, "raised KeyboardInterrupt"),
    "raises a cancellation": (lambda: raises_later(asyncio.CancelledError()), True, "raised CancelledError"),
    "cancels itself": (lies, True, "raised CancelledError"),
    "hangs": (lambda: asyncio.Event().wait(), True, "took longer than 0.03 s"),
}


@pytest.mark.parametrize("case", GATES)
async def test_a_gate_declines_with_false_and_otherwise_fails_open(ask, strays, charges, caplog, case):
    function, handled, fault = GATES[case]
    verdict = await ask(gate("suspect", function), rules=QUICK if case == "hangs" else PATIENT)
    assert verdict.agreed is handled
    assert verdict.declined_by == (() if handled else ("suspect",))
    assert len(verdict.faults) == len(caplog.records) == (fault is not None)
    if fault:
        assert str(verdict.faults[0]).startswith(f"plugin 'suspect': hook 'should_handle_turn' {fault}")
        warning = caplog.records[0]
        assert warning.levelno == logging.WARNING
        assert "plugin 'suspect' at tenant 'support'" in warning.message
        assert (warning.plugin, warning.tenant) == ("suspect", "support")
    assert charges.counts == ({Charge("suspect", "should_handle_turn", "support"): 1} if fault else {})
    assert strays.count == 0


async def test_a_fault_that_comes_again_and_again_is_logged_ten_times_and_then_each_hundredth(ask, charges, caplog):
    for _ in range(205):
        await ask(gate("suspect", lambda: raises(ValueError("broken"))))
    often = [record.message.rpartition(" (")[2] for record in caplog.records[1:]]
    assert often == [f"{n} times so far)" for n in (*range(2, 11), 100, 200)]
    assert [bool(record.exc_info) for record in caplog.records] == [True] + [False] * 11
    assert charges.counts == {Charge("suspect", "should_handle_turn", "support"): 205}


@pytest.mark.parametrize("case", [case for case, (_, handled, _) in GATES.items() if handled])
async def test_a_second_gates_no_counts_whatever_the_first_does(ask, case):
    for gates in (
        (gate("a", GATES[case][0]), gate("b", lambda: False)),
        (gate("b", lambda: False), gate("a", GATES[case][0])),
    ):
        verdict = await ask(*gates, rules=QUICK if case == "hangs" else PATIENT)
        assert (verdict.agreed, verdict.declined_by) == (False, ("b",))


async def test_a_gate_that_ignores_its_cancellation_is_left_behind_by_name(ask, strays, all_gone):
    released = asyncio.Event()

    async def stays():
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue

    verdict = await ask(gate("stubborn", stays), rules=QUICK, grace=0.01)
    assert verdict.agreed
    assert "ignores its cancellation" in verdict.faults[0].reason
    assert strays.names() == ("should_handle_turn of plugin 'stubborn' at tenant 'support'",)
    released.set()
    await all_gone()


async def test_all_gates_are_asked_at_the_same_time(ask):
    barrier = asyncio.Barrier(3)

    async def meets():
        await barrier.wait()
        return True

    verdict = await ask(*(gate(f"g{number}", meets) for number in range(3)))
    assert verdict.faults == ()


async def test_every_gate_is_awaited_although_one_has_declined(ask):
    finished = []

    async def slower():
        for _ in range(5):
            await asyncio.sleep(0)
        finished.append(True)
        return True

    assert not (await ask(gate("quick", lambda: False), gate("slower", slower))).agreed
    assert finished == [True]


async def test_a_gate_gets_the_arguments_that_it_names(ask, turn):
    got = {}

    def wants_all(turn, history, plugin):
        got.update(turn=turn, history=history, plugin=plugin)

    def wants_one(plugin):
        got["tenant"] = plugin.tenant

    def wants_another_order(history, turn):
        got["swapped"] = (history, turn)

    await ask(gate("one", wants_all), gate("two", wants_one), gate("three", wants_another_order))
    assert (got["turn"], got["history"], got["plugin"].name) == (turn, (MESSAGE,), "one")
    assert got["tenant"] == "support"
    assert got["swapped"] == ((MESSAGE,), turn)


async def test_a_blocking_gate_runs_in_a_thread(ask):
    threads = []

    def blocks():
        threads.append(threading.get_ident())
        return False

    verdict = await ask(gate("slow", blocks, blocking=True))
    assert verdict.declined_by == ("slow",)
    assert threads[0] != threading.get_ident()


async def test_a_blocking_gate_past_its_deadline_is_abandoned_and_counted(ask, strays, all_gone):
    release = threading.Event()

    def blocks():
        release.wait()

    half_a_second = rules(timedelta(seconds=0.5))  # a thread needs a moment to begin
    try:
        verdict = await ask(gate("slow", blocks, blocking=True), rules=half_a_second)
        assert verdict.agreed
        assert strays.count == 1
    finally:
        release.set()
    await all_gone()


async def test_without_gates_there_is_nobody_to_ask(strays, charges, turn):
    hooks = Hooks([implementation("register_agents", "a", lambda: None)], strays, charges)
    assert not hooks.has("should_handle_turn")
    assert (await hooks.should_handle_turn(turn, [])).agreed


async def test_the_order_is_tryfirst_then_as_given_then_trylast(ask):
    asked = []
    gates = [
        gate("late", lambda: asked.append("late"), trylast=True),
        gate("b", lambda: asked.append("b")),
        gate("early", lambda: asked.append("early"), tryfirst=True),
        gate("a", lambda: asked.append("a")),
    ]
    await ask(*gates)
    assert asked == ["early", "b", "a", "late"]


async def greet(turn):
    return "hi"


ONE, TWO = Agent("one", greet), Agent("two", greet)


def generator():
    yield ONE
    yield TWO


def broken_generator():
    yield ONE
    raise ValueError("half way")


REGISTER = {
    "an agent": (lambda: ONE, [ONE], None),
    "later": (lambda: answers(ONE), [ONE], None),
    "a list": (lambda: [ONE, TWO], [ONE, TWO], None),
    "a generator": (generator, [ONE, TWO], None),
    "None": (lambda: None, [], None),
    "nothing in a tuple": (lambda: (), [], None),
    "text": (lambda: "hello", [], "answered str; expected is an Agent"),
    "a number": (lambda: 3, [], "answered int; expected is an Agent"),
    "the class": (lambda: Agent, [], "answered type"),
    "a mixed list": (lambda: [ONE, 3], [], "answered int; expected"),
    "an odd iterable": (lambda: UserString("x"), [], "answered UserString"),
    "raises": (lambda: raises(ValueError("broken")), [], "raised ValueError: broken"),
    "raises while iterated": (broken_generator, [], "raised ValueError: half way"),
    "exits": (lambda: raises_later(SystemExit(1)), [], "raised SystemExit: 1"),
    "hangs": (lambda: asyncio.Event().wait(), [], "took longer than 0.03 s"),
}


COROUTINES = {"later", "exits", "hangs"}
"""What is never blocking: that is refused at load."""


@pytest.mark.parametrize(
    ("case", "blocking"),
    [*((case, False) for case in REGISTER), *((case, True) for case in sorted(REGISTER.keys() - COROUTINES))],
)
async def test_agents_are_collected_and_anything_else_is_a_fault(strays, charges, case, blocking):
    function, agents, fault = REGISTER[case]
    other = implementation("register_agents", "other", lambda: Agent("other", greet), tenant=None)
    asked = implementation("register_agents", "bringer", function, tenant=None, blocking=blocking)
    applied = QUICK if case == "hangs" else PATIENT
    registered = await Hooks([asked, other], strays, charges, rules=applied, grace_seconds=5).register_agents()
    assert [agent for plugin, brought in registered.answers if plugin == "bringer" for agent in brought] == agents
    assert [agent.id for plugin, brought in registered.answers if plugin == "other" for agent in brought] == ["other"]
    assert len(registered.faults) == (fault is not None)
    if fault:
        assert str(registered.faults[0]).startswith(f"plugin 'bringer': hook 'register_agents' {fault}")
