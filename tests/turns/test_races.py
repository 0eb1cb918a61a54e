"""Many at the same time: copies of a message, and a cancellation against an answer."""

import asyncio
from collections import Counter
from typing import Any

import pytest

from innkeeper import Agent, Caller, Turn
from innkeeper.contract.errors import InvalidParams, TaskNotCancelable

pytestmark = pytest.mark.anyio

CALLER = Caller("alice")
COPIES = 20
ROUNDS = 500


async def test_copies_of_a_message_are_one_task_and_one_run(engine_with: Any) -> None:
    runs: list[str] = []

    async def notes(turn: Turn) -> str:
        runs.append(turn.text)
        return turn.text

    async with engine_with(Agent("t", notes)) as bench:
        copies = [bench.say("pay", message_id="same") for _ in range(COPIES)]
        admitted = await asyncio.gather(*copies)
        assert len({each.task.id for each in admitted}) == 1
        assert sum(each.turn is not None for each in admitted) == 1
        assert (await bench.settled(admitted[0]))["text"] == "pay"
        with pytest.raises(InvalidParams, match=r"message\.messageId: same"):
            await bench.say("pay twice", message_id="same")
    async with engine_with(Agent("t", notes)) as bench:
        again = await bench.say("pay", message_id="same")
        assert (again.task.id, again.turn) == (admitted[0].task.id, None)
        with pytest.raises(InvalidParams, match=r"message\.messageId: same"):
            await bench.say("pay twice", message_id="same")
    assert runs == ["pay"]


async def test_a_task_ends_once_whoever_comes_first_and_everybody_sees_the_same_end(engine_with: Any) -> None:
    async def answers(turn: Turn) -> str:
        for _ in range(int(turn.text)):
            await asyncio.sleep(0)
        return "done"

    ends: Counter[str] = Counter()
    async with engine_with(Agent("t", answers)) as bench:
        for number in range(ROUNDS):
            submission = bench.submission(str(number % 25))
            admitted, watch = await bench.engine.submit_and_watch(bench.tenants["t"], CALLER, submission)
            waits = asyncio.ensure_future(bench.engine.until_settled(admitted.task.id))
            for _ in range(number % 60):
                await asyncio.sleep(0)
            if number % 3 == 0:  # the others come too early, too late or at the very moment, as the disk has it
                await asyncio.wait([waits])
            try:
                await bench.engine.cancel("t", CALLER, admitted.task.id)
                told = "canceled"
            except TaskNotCancelable:
                told = "completed"
            answered = await waits
            streamed = [event.state async for event in watch if event.state]
            stored = (await bench.view(admitted.task.id)).task.state
            published = bench.states(admitted.task.id)
            assert {told, str(stored), str(streamed[-1]), published[-1]} == {told}, number
            assert answered is None or answered.task.state == told
            assert sum(state in ("canceled", "completed") for state in published) == 1
            ends[told] += 1
    assert min(ends["canceled"], ends["completed"]) > 0, ends
