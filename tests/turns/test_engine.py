"""The engine from its one way in to what is published."""

import asyncio
from typing import Any

import pytest
from turn_agents import Scripted, echo

from innkeeper import Agent, Caller, Turn
from innkeeper.contract.errors import InvalidParams

pytestmark = pytest.mark.anyio
BOB = Caller("bob")


async def history(turn: Turn) -> str:
    return " / ".join(message.text for message in await turn.session.history())


async def test_a_turn_goes_from_submitted_over_working_to_completed(engine_with: Any) -> None:
    async with engine_with(Agent("t", echo)) as bench:
        task = await bench.ask("hi")
        assert (task["state"], task["text"], task["history"]) == ("completed", "hi!", ["hi"])
        assert task["message_id"] == f"{task['id']}:final"
        assert bench.states(task["id"]) == ["submitted", "working", "completed"]
        assert [event.seq for event in bench.events] == [1, 2, 3]


async def test_the_session_remembers_what_was_said_in_its_context_and_nothing_else(engine_with: Any) -> None:
    async with engine_with(Agent("t", history)) as bench:
        assert (await bench.ask("a", context_id="c"))["text"] == "a"
        assert (await bench.ask("b", context_id="c"))["text"] == "a / a / b"
        assert (await bench.ask("x", context_id="other"))["text"] == "x"
        assert (await bench.settled(await bench.say("y", context_id="c", caller=BOB), caller=BOB))["text"] == "y"


async def test_one_session_per_caller_remembers_across_contexts(engine_with: Any) -> None:
    async with engine_with(Agent("t", history, session_scope="caller")) as bench:
        await bench.ask("a", context_id="c")
        assert (await bench.ask("b", context_id="d"))["text"] == "a / a / b"


async def test_turns_of_one_session_run_one_after_the_other_in_the_order_of_arrival(engine_with: Any) -> None:
    agent = Scripted()
    async with engine_with(Agent("t", agent)) as bench:
        admitted = [await bench.say(text, context_id="c") for text in ("1", "2", "3")]
        other = await bench.say("other", context_id="d")
        await agent.entered.acquire()
        await agent.entered.acquire()
        assert agent.begun == ["1", "other"]
        for text in ("other", "3", "2", "1"):
            agent.go(text)
        tasks = [await bench.settled(each) for each in (*admitted, other)]
        assert agent.begun == ["1", "other", "2", "3"]
        assert [task["text"] for task in tasks] == ["done 1", "done 2", "done 3", "done other"]


async def test_the_same_message_again_finds_its_task_and_runs_nothing(engine_with: Any) -> None:
    agent = Scripted()
    async with engine_with(Agent("t", agent)) as bench:
        submission = bench.submission("hi")
        admitted = await asyncio.gather(
            *(bench.engine.submit(bench.tenants["t"], Caller("alice"), submission) for _ in range(20))
        )
        agent.go("hi")
        assert {each.task.id for each in admitted} == {admitted[0].task.id}
        assert (await bench.settled(admitted[0]))["text"] == "done hi"
        assert agent.begun == ["hi"]
        with pytest.raises(InvalidParams, match=submission.message_id):
            await bench.say("other", message_id=submission.message_id)
