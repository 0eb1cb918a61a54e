"""Fan-out against a model: whatever a mix of implementations does, each is heard by itself and charged by itself."""

import asyncio
import logging
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from innkeeper.contract.hooks import HOOKS
from innkeeper.contract.markers import HookOptions
from innkeeper.contract.plugin import PluginContext
from innkeeper.registry.charges import Charge, Charges
from innkeeper.registry.contexts import PluginLog
from innkeeper.registry.fanout import Fanout, HookFailed, Implementation, WrongAnswer, in_order
from innkeeper.registry.foreign import Strays

PATIENT = {hook: replace(rule, deadline=timedelta(seconds=30)) for hook, rule in HOOKS.items()}
LIES = (0, 1, "False", b"", (), 3.0, object)
"""Answers that are neither bool nor None."""


@dataclass(frozen=True)
class Part:
    """What one implementation does, and how it is called."""

    does: str
    answer: Any = None
    form: str = "plain"
    options: HookOptions = field(default_factory=HookOptions)

    @property
    def good(self) -> bool:
        return self.does == "answers" and (self.answer is None or isinstance(self.answer, bool))


ORDERS = st.sampled_from((HookOptions(), HookOptions(tryfirst=True), HookOptions(trylast=True)))
ANSWERS = st.one_of(st.none(), st.booleans(), st.sampled_from(LIES))
COMMON = st.one_of(
    st.builds(Part, st.just("answers"), ANSWERS, st.sampled_from(("plain", "async")), ORDERS),
    st.builds(Part, st.sampled_from(("raises", "exits", "cancels itself")), st.none(), st.just("async"), ORDERS),
    st.builds(Part, st.sampled_from(("raises", "exits")), st.none(), st.just("plain"), ORDERS),
)
HANGING = st.builds(Part, st.just("hangs"), st.none(), st.just("async"), ORDERS)
BLOCKING = st.builds(
    Part,
    st.sampled_from(("answers", "raises")),
    st.sampled_from((None, True, False, 3)),
    st.just("plain"),
    st.builds(HookOptions, blocking=st.just(value=True)),
)


def mixes(most: int) -> st.SearchStrategy[list[Part]]:
    """Give lists of parts; a clock that leaps past what hangs would leap past threads as well, so never both."""
    return st.one_of(*(st.lists(st.one_of(COMMON, other), max_size=most) for other in (HANGING, BLOCKING)))


class Leaping(asyncio.SelectorEventLoop):
    """A loop whose clock leaps to the next timer when there is nothing to do: nobody waits for a deadline."""

    ahead = 0.0

    def time(self) -> float:
        return super().time() + self.ahead

    def _run_once(self) -> None:
        loop: Any = self
        if not loop._ready and loop._scheduled:
            self.ahead += max(0.0, loop._scheduled[0]._when - self.time())
        super()._run_once()  # type: ignore[misc]


def acted(part: Part) -> Any:
    match part.does:
        case "raises":
            raise ValueError("broken")
        case "exits":
            raise SystemExit(3)
    return part.answer


async def acted_later(part: Part) -> Any:
    await asyncio.sleep(0)
    if part.does == "hangs":
        await asyncio.Event().wait()
    if part.does == "cancels itself":
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)
    return acted(part)


def implementations(parts: list[Part], asked: list[str]) -> list[Implementation]:
    def made(name: str, part: Part) -> Implementation:
        def call() -> Any:
            asked.append(name)
            return acted_later(part) if part.form == "async" else acted(part)

        log = PluginLog(logging.getLogger("innkeeper.plugins"), {"plugin": name, "tenant": "t"})
        context = PluginContext(name, "t", log, http=None)  # type: ignore[arg-type] # nobody asks for it
        return Implementation("should_handle_turn", name, call, (), part.options, context)

    return list(in_order(made(f"p{number}", part) for number, part in enumerate(parts)))


def taken(answer: object) -> bool | None:
    if answer is None or isinstance(answer, bool):
        return answer
    raise WrongAnswer(type(answer).__name__)


def run(parts: list[Part], ask: Any) -> tuple[Any, list[str], Charges, list[str]]:
    """Ask these implementations; return what came of it, who was asked in order, what was charged, and the order."""
    asked: list[str] = []
    charges, strays = Charges(), Strays()
    made = implementations(parts, asked)

    async def main() -> Any:
        fanout = Fanout(made, strays, charges, rules=PATIENT, grace_seconds=5)
        result = await ask(fanout)
        assert strays.count == 0
        return result

    with asyncio.Runner(loop_factory=Leaping if any(part.does == "hangs" for part in parts) else None) as runner:
        return runner.run(main()), asked, charges, [each.plugin for each in made]


def ordered(parts: list[Part]) -> list[tuple[str, Part]]:
    """The model of the order: three groups, each as given."""
    named = [(f"p{number}", part) for number, part in enumerate(parts)]
    first = [each for each in named if each[1].options.tryfirst]
    last = [each for each in named if each[1].options.trylast]
    return [*first, *(each for each in named if each not in first and each not in last), *last]


def expected_charges(parts: list[tuple[str, Part]]) -> Counter[Charge]:
    return Counter(Charge(name, "should_handle_turn", "t") for name, part in parts if not part.good)


quickly = settings(max_examples=60, deadline=None)


@quickly
@given(mixes(6))
def test_and_is_no_only_if_somebody_says_no(parts: list[Part]) -> None:
    verdict, asked, charges, order = run(parts, lambda fanout: fanout.all_agree("should_handle_turn", {}))
    model = ordered(parts)
    noes = [name for name, part in model if part.good and part.answer is False]
    assert order == [name for name, _ in model]
    assert sorted(asked) == sorted(order)
    assert (verdict.agreed, list(verdict.declined_by)) == (not noes, noes)
    assert [fault.plugin for fault in verdict.faults] == [name for name, part in model if not part.good]
    assert charges.counts == expected_charges(model)


@quickly
@given(mixes(6))
def test_collect_keeps_every_good_answer_in_order(parts: list[Part]) -> None:
    collected, _, charges, _ = run(parts, lambda fanout: fanout.collect("should_handle_turn", {}, taken))
    model = ordered(parts)
    assert list(collected.answers) == [(name, part.answer) for name, part in model if part.good]
    assert [fault.plugin for fault in collected.faults] == [name for name, part in model if not part.good]
    assert charges.counts == expected_charges(model)


@quickly
@given(mixes(6))
def test_first_asks_until_one_answers_something(parts: list[Part]) -> None:
    answer, asked, charges, _ = run(parts, lambda fanout: fanout.first("should_handle_turn", {}, taken))
    model = ordered(parts)
    place = next((n for n, (_, part) in enumerate(model) if part.good and part.answer is not None), None)
    heard = model if place is None else model[: place + 1]
    assert answer is (None if place is None else model[place][1].answer)
    assert asked == [name for name, _ in heard]
    assert charges.counts == expected_charges(heard)


@quickly
@given(mixes(6))
def test_notify_tells_everybody_and_takes_any_answer(parts: list[Part]) -> None:
    faults, asked, _, order = run(parts, lambda fanout: fanout.notify("should_handle_turn", {}))
    assert sorted(asked) == sorted(order)
    assert [fault.plugin for fault in faults] == [name for name, part in ordered(parts) if part.does != "answers"]


@quickly
@given(mixes(1))
def test_one_provider_answers_or_fails(parts: list[Part]) -> None:
    async def ask(fanout: Fanout) -> Any:
        try:
            return await fanout.provide("should_handle_turn", {}, taken)
        except HookFailed as failed:
            return failed

    answer, _, charges, _ = run(parts, ask)
    model = ordered(parts)
    if all(part.good for _, part in model):
        assert answer is (model[0][1].answer if model else None)
    else:
        assert [fault.plugin for fault in answer.faults] == ["p0"]
        assert "plugin 'p0': hook 'should_handle_turn' " in str(answer)
    assert charges.counts == expected_charges(model)


@pytest.mark.anyio
async def test_a_fault_is_logged_with_plugin_hook_tenant_and_what_it_means(caplog: pytest.LogCaptureFixture) -> None:
    fanout = Fanout(implementations([Part("raises")], []), Strays(), Charges())
    await fanout.all_agree("should_handle_turn", {})
    (record,) = caplog.records
    assert "should_handle_turn of plugin 'p0' at tenant 't' raised ValueError: broken" in record.getMessage()
    assert record.getMessage().endswith("; counts as True (fails open)")
    assert record.exc_info is not None
