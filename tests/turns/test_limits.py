"""How much may wait and run."""

from typing import Any

import pytest
from turn_agents import Scripted

from innkeeper import Agent, Caller
from innkeeper.contract.errors import Unavailable

pytestmark = pytest.mark.anyio


async def test_too_many_waiting_messages_are_refused_and_leave_nothing_behind(engine_with: Any) -> None:
    agent = Scripted()
    async with engine_with(Agent("t", agent), queue_per_tenant=2) as bench:
        await bench.say("1", context_id="c")
        await agent.entered.acquire()
        await bench.say("2", context_id="c")
        last = await bench.say("3", context_id="c")
        with pytest.raises(Unavailable, match="wait"):
            await bench.say("4", context_id="c")
        for text in ("1", "2", "3", "5"):
            agent.go(text)
        await bench.settled(last)
        assert (await bench.ask("5", context_id="c"))["history"] == ["5"]
        assert agent.begun == ["1", "2", "3", "5"]


async def test_too_many_waiting_in_one_conversation_leave_others_alone(engine_with: Any) -> None:
    agent = Scripted()
    async with engine_with(Agent("t", agent), queue_per_session=1) as bench:
        first = await bench.say("1", context_id="c")
        await agent.entered.acquire()
        await bench.say("2", context_id="c")
        with pytest.raises(Unavailable, match="conversation"):
            await bench.say("3", context_id="c")
        agent.go("other")
        assert (await bench.ask("other", context_id="d"))["text"] == "done other"
        await bench.engine.cancel("t", Caller("alice"), first.task.id)


async def test_no_more_turns_run_at_once_than_the_host_allows(engine_with: Any) -> None:
    agent = Scripted()
    async with engine_with(Agent("t", agent), max_concurrent_turns=2) as bench:
        admitted = [await bench.say(str(number)) for number in range(4)]
        await agent.entered.acquire()
        await agent.entered.acquire()
        assert bench.engine.running_turns == len(agent.begun) == 2
        for number in range(4):
            agent.go(str(number))
        assert [(await bench.settled(each))["state"] for each in admitted] == ["completed"] * 4
