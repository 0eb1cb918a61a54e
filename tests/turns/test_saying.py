"""What an agent says on the way, and who hears it."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from turn_agents import Scripted, echo

from innkeeper import Agent, Caller, Part, Turn

pytestmark = pytest.mark.anyio


async def test_progress_and_artifacts_are_published_in_order_under_derived_ids(engine_with: Any) -> None:
    async def works(turn: Turn) -> str:
        await turn.progress("reading", key="read")
        await turn.progress("counting")
        await turn.artifact("sum", Part(text="4"), last=False)
        await turn.artifact("sum", [Part(text="2")], append=True)
        return "done"

    async with engine_with(Agent("t", works)) as bench:
        task = await bench.ask("hi")
        assert task["artifacts"] == {"sum": "42"}
        assert bench.states(task["id"]) == ["submitted", *["working"] * 3, "completed"]
        bodies = b" ".join(event.body for event in bench.events)
        for message_id in (":read", ":0", ":final"):
            assert (task["id"] + message_id).encode() in bodies


async def test_a_generator_streams_and_its_whole_text_is_the_reply(engine_with: Any) -> None:
    async def streams(turn: Turn) -> AsyncIterator[str]:
        for word in turn.text.split():
            yield word

    async with engine_with(Agent("t", streams)) as bench:
        task = await bench.ask("a b c")
        assert (task["text"], task["artifacts"]) == ("abc", {"reply": "abc"})


async def test_a_watch_from_the_start_sees_every_event_of_the_new_task(engine_with: Any) -> None:
    async with engine_with(Agent("t", echo)) as bench:
        admitted, watch = await bench.engine.submit_and_watch(
            bench.tenants["t"], Caller("alice"), bench.submission("hi")
        )
        async with watch:
            assert watch.from_start
            assert [event.seq async for event in watch] == [1, 2, 3]
        assert bench.engine.open_watches == 0
        await bench.engine.until_settled(admitted.task.id)


async def test_watching_a_message_sent_before_joins_its_turn(engine_with: Any) -> None:
    agent = Scripted()
    async with engine_with(Agent("t", agent)) as bench:
        submission = bench.submission("hi")
        await bench.engine.submit(bench.tenants["t"], Caller("alice"), submission)
        await agent.entered.acquire()
        _, watch = await bench.engine.submit_and_watch(bench.tenants["t"], Caller("alice"), submission)
        async with watch:
            assert not watch.from_start
            agent.go("hi")
            assert [str(event.state) async for event in watch][-1] == "completed"
        _, late = await bench.engine.submit_and_watch(bench.tenants["t"], Caller("alice"), submission)
        assert [event async for event in late] == []
        assert agent.begun == ["hi"]


async def test_an_agent_that_never_waits_does_not_keep_others_from_running(engine_with: Any) -> None:
    async def floods(turn: Turn) -> AsyncIterator[str]:
        for number in range(int(turn.text)):
            yield str(number % 10)

    async with engine_with(Agent("t", floods), Agent("u", echo)) as bench:
        flood = await bench.say("20000")
        quick = await bench.say("hi", tenant="u")
        await bench.engine.until_settled(quick.task.id)
        assert bench.states(flood.task.id) == ["submitted", "working"]
        task = await bench.settled(flood)
        assert len(task["text"]) == len(task["artifacts"]["reply"]) == 20000
