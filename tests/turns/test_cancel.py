"""Turns that are canceled."""

import asyncio
from typing import Any

import anyio
import pytest
from turn_agents import Scripted, echo

from innkeeper import Agent, Caller, Turn
from innkeeper.contract.errors import TaskNotCancelable, TaskNotFound

pytestmark = pytest.mark.anyio
BOB = Caller("bob")


async def test_canceling_ends_the_task_on_disk_and_stops_its_agent(engine_with: Any) -> None:
    agent = Scripted()
    async with engine_with(Agent("t", agent)) as bench:
        admitted = await bench.say("hi", context_id="c")
        await agent.entered.acquire()
        await bench.engine.cancel("t", Caller("alice"), admitted.task.id)
        assert (await bench.task(admitted.task.id))["state"] == "canceled"
        await bench.engine.until_settled(admitted.task.id)
        agent.go("next")
        assert (await bench.ask("next", context_id="c"))["text"] == "done next"
        assert agent.canceled == ["hi"]
        await bench.engine.cancel("t", Caller("alice"), admitted.task.id)
        assert bench.states(admitted.task.id) == ["submitted", "working", "canceled"]


async def test_canceling_withdraws_what_waits_and_it_never_runs(engine_with: Any) -> None:
    agent = Scripted()
    async with engine_with(Agent("t", agent)) as bench:
        first = await bench.say("1", context_id="c")
        second = await bench.say("2", context_id="c")
        third = await bench.say("3", context_id="c")
        await bench.say("4", task_id=second.task.id)
        await bench.engine.cancel("t", Caller("alice"), second.task.id)
        task = await bench.settled(second)
        assert (task["state"], task["history"]) == ("canceled", ["2", "4"])
        agent.go("1")
        agent.go("3")
        assert (await bench.settled(first))["state"] == (await bench.settled(third))["state"] == "completed"
        assert agent.begun == ["1", "3"]


async def test_an_agent_that_ignores_its_cancellation_is_fenced_and_left_behind(engine_with: Any) -> None:
    entered, go, spoke = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def stubborn(turn: Turn) -> str:
        if turn.text == "next":
            return "fine"
        entered.set()
        while not go.is_set():
            try:
                await go.wait()
            except asyncio.CancelledError:
                continue
        await turn.progress("still here")
        spoke.set()
        return "too late"

    async with engine_with(Agent("t", stubborn)) as bench:
        admitted = await bench.say("hi", context_id="c")
        await entered.wait()
        await bench.engine.cancel("t", Caller("alice"), admitted.task.id)
        assert (await bench.task(admitted.task.id))["state"] == "canceled"
        assert (await bench.ask("next", context_id="c"))["text"] == "fine"
        strays = bench.strays.names()
        go.set()
        assert strays == (f"agent t of plugin p at tenant t: task {admitted.task.id}",)
        await spoke.wait()
        task = await bench.task(admitted.task.id)
        assert (task["state"], task["text"]) == ("canceled", "")
        with anyio.fail_after(5):
            while bench.strays.count:
                await anyio.lowlevel.checkpoint()


async def test_only_its_owner_can_cancel_a_task_and_only_while_it_has_not_ended(engine_with: Any) -> None:
    async with engine_with(Agent("t", echo), Agent("u", echo)) as bench:
        task = await bench.ask("hi")
        for tenant, caller, task_id in (("t", BOB, task["id"]), ("u", Caller("alice"), task["id"])):
            with pytest.raises(TaskNotFound):
                await bench.engine.cancel(tenant, caller, task_id)
        with pytest.raises(TaskNotFound):
            await bench.engine.cancel("t", Caller("alice"), "no-such-task")
        with pytest.raises(TaskNotCancelable):
            await bench.engine.cancel("t", Caller("alice"), task["id"])


@pytest.mark.parametrize("yields", range(8))
async def test_cancel_and_completion_at_the_same_time_agree_on_one_end(engine_with: Any, yields: int) -> None:
    async with engine_with(Agent("t", echo)) as bench:
        for _ in range(10):
            admitted, watch = await bench.engine.submit_and_watch(
                bench.tenants["t"], Caller("alice"), bench.submission("hi")
            )
            for _ in range(yields):
                await anyio.lowlevel.checkpoint()
            try:
                await bench.engine.cancel("t", Caller("alice"), admitted.task.id)
                answer = "canceled"
            except TaskNotCancelable:
                answer = "completed"
            async with watch:
                last = [str(event.state) async for event in watch][-1]
            stored = (await bench.settled(admitted))["state"]
            assert {answer, last, stored} == {answer}
            assert sum(state in ("completed", "canceled") for state in bench.states(admitted.task.id)) == 1
