"""What a turn does once, however often it has to be run."""

import asyncio
import contextlib
import sqlite3
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from innkeeper import Agent, Ask, Turn, TurnOver
from innkeeper.contract.errors import Unavailable
from innkeeper.testing.samples import Silence

pytestmark = pytest.mark.anyio


class Till:
    """An agent that charges once, and hangs in its first run after it has."""

    def __init__(self) -> None:
        self.charged: list[str] = []
        self.has_charged = asyncio.Event()

    async def charge(self) -> dict[str, str]:
        self.charged.append("7 EUR")
        return {"receipt": str(len(self.charged))}

    async def __call__(self, turn: Turn) -> str:
        receipt = await turn.step("charge", self.charge)
        if not self.has_charged.is_set():
            self.has_charged.set()
            await asyncio.Event().wait()
        return f"receipt {receipt['receipt']}, attempt {turn.attempt}"


def kept(tmp_path: Path) -> list[tuple[str, str]]:
    (file,) = (tmp_path / "data").glob("*.db")
    with contextlib.closing(sqlite3.connect(file)) as database:
        return database.execute("SELECT key, result FROM steps ORDER BY key").fetchall()


async def test_what_was_done_before_the_host_stopped_is_not_done_again(engine_with: Any, tmp_path: Path) -> None:
    till = Till()
    async with engine_with(Agent("t", till)) as bench:
        admitted = await bench.say("pay")
        await till.has_charged.wait()
    assert kept(tmp_path) == [("charge", '{"receipt": "1"}')]
    async with engine_with(Agent("t", till)) as bench:
        assert (await bench.settled(admitted))["text"] == "receipt 1, attempt 1"
    assert till.charged == ["7 EUR"]


async def test_the_next_attempt_after_a_crash_knows_what_was_done(engine_with: Any) -> None:
    till = Till()
    till.has_charged.set()
    async with engine_with(Agent("t", till), max_concurrent_turns=0) as bench:
        admitted = await bench.say("pay")
        assert await bench.store.claim(admitted.turn, "dead")
        assert await bench.store.add_step(admitted.turn, 1, "charge", '{"receipt":"of the dead"}')
    async with engine_with(Agent("t", till)) as bench:
        assert (await bench.settled(admitted))["text"] == "receipt of the dead, attempt 2"
    assert till.charged == []


async def test_steps_are_forgotten_when_their_turn_ends(engine_with: Any, tmp_path: Path) -> None:
    async def two(turn: Turn) -> str | Ask:
        text = await turn.step("a", lambda: turn.text)
        await turn.step("b", lambda: None)
        return Ask(text) if text == "first" else text

    async with engine_with(Agent("t", two)) as bench:
        asked = await bench.say("first")
        assert (await bench.settled(asked))["text"] == "first"
        answered = await bench.say("second", task_id=asked.task.id)
        assert (await bench.settled(answered))["text"] == "second"
    assert kept(tmp_path) == []


async def test_steps_are_forgotten_when_their_task_is_canceled(engine_with: Any, tmp_path: Path) -> None:
    till = Till()
    async with engine_with(Agent("t", till)) as bench:
        admitted = await bench.say("pay")
        await till.has_charged.wait()
        await bench.engine.cancel("t", admitted.turn.caller, admitted.task.id)
    assert kept(tmp_path) == []


async def test_what_a_step_raises_is_not_kept(engine_with: Any) -> None:
    calls: list[int] = []

    async def fails_once() -> int:
        calls.append(1)
        if len(calls) == 1:
            raise OSError("not yet")
        return len(calls)

    async def tries(turn: Turn) -> str:
        with pytest.raises(OSError, match="not yet"):
            await turn.step("try", fails_once)
        return str([await turn.step("try", fails_once), await turn.step("try", fails_once)])

    async with engine_with(Agent("t", tries)) as bench:
        assert (await bench.ask("go"))["text"] == "[2, 2]"


async def test_calls_at_the_same_time_do_it_once(engine_with: Any) -> None:
    calls: list[int] = []

    async def slow() -> int:
        calls.append(1)
        await asyncio.sleep(0)
        return len(calls)

    async def many(turn: Turn) -> str:
        return str(await asyncio.gather(*(turn.step("same", slow) for _ in range(20))))

    async with engine_with(Agent("t", many)) as bench:
        assert (await bench.ask("go"))["text"] == str([1] * 20)


UNKEPT = {
    "a set": {1},
    "bytes": b"x",
    "not a number": float("nan"),
    "infinite": [float("inf")],
    "a tuple": (1, 2),
    "number as a key": {1: "one"},
    "half of a surrogate pair": "\ud800",
    "an object": object(),
}


@pytest.mark.parametrize("result", UNKEPT.values(), ids=UNKEPT)
async def test_a_result_that_a_rerun_would_see_otherwise_is_refused(engine_with: Any, result: Any) -> None:
    async def odd(turn: Turn) -> str:
        with pytest.raises(TypeError, match=r"the result of step 'odd' is not"):
            await turn.step("odd", lambda: result)
        return "refused"

    async with engine_with(Agent("t", odd)) as bench:
        assert (await bench.ask("go"))["text"] == "refused"


async def test_a_turn_that_has_ended_begins_no_step(engine_with: Any) -> None:
    raised: asyncio.Future[Exception] = asyncio.get_running_loop().create_future()
    began, done = asyncio.Event(), []

    async def stubborn(turn: Turn) -> str:
        began.set()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        try:
            await turn.step("first", lambda: done.append("kept in vain") or 1)
        except TurnOver as error:
            raised.set_result(error)
        return "late"

    async with engine_with(Agent("t", stubborn), turn_timeout=timedelta(milliseconds=1)) as bench:
        admitted = await bench.say("go")
        await began.wait()
        assert (await bench.settled(admitted))["state"] == "failed"
        assert "has ended" in str(await raised)
    assert done == []


async def test_a_result_that_cannot_be_stored_fails_the_turn(engine_with: Any) -> None:
    async def pays(turn: Turn) -> str:
        await turn.step("pay", lambda: "paid")
        return "paid"

    async with engine_with(Agent("t", pays), errors={"add_step": [Unavailable("disk full")]}) as bench:
        assert (await bench.ask("go"))["state"] == "failed"


async def test_a_turn_made_by_hand_takes_steps_too() -> None:
    assert await Silence().step("a", lambda: 1) == 1
