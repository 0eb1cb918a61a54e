"""Agents and gates that do not behave, and what the others notice of them."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import anyio
import pytest
from a2a.server.tasks import TaskUpdater
from a2a.types import a2a_pb2
from turn_agents import echo

from innkeeper import Agent, Caller, Part, Turn

pytestmark = pytest.mark.anyio


async def yields_for_ever(turn: Turn) -> AsyncIterator[str]:
    while True:
        yield "x"


async def says_for_ever(turn: Turn) -> str:
    while True:
        await turn.progress("x")


class EnqueuesForEver:
    async def execute(self, context: Any, event_queue: Any) -> None:
        while True:
            await event_queue.enqueue_event(a2a_pb2.TaskStatusUpdateEvent(task_id=context.task_id))

    async def cancel(self, context: Any, event_queue: Any) -> None: ...


async def leaves_a_task(turn: Turn) -> str:
    background.append(asyncio.create_task(says_for_ever(turn)))
    return "done"


background: list[asyncio.Task[str]] = []


@pytest.mark.parametrize("handler", [yields_for_ever, says_for_ever, EnqueuesForEver()])
@pytest.mark.parametrize("end", ["timeout", "cancel", "stop"])
async def test_an_agent_that_never_ends_and_never_waits_leaves_the_others_running(
    engine_with: Any, handler: Any, end: str
) -> None:
    limit = timedelta(milliseconds=200) if end == "timeout" else timedelta(seconds=30)
    async with engine_with(Agent("t", handler), Agent("u", echo), turn_timeout=limit) as bench:
        with anyio.fail_after(20):
            endless = await bench.say("go")
            quick = await bench.say("hi", tenant="u")
            await bench.engine.until_settled(quick.task.id)
            if end == "cancel":
                await bench.engine.cancel("t", Caller("alice"), endless.task.id)
            if end == "stop":
                await bench.engine.stop(timedelta(0), asyncio.Event())
                return
            task = await bench.settled(endless)
            expected = {"timeout": "failed", "cancel": "canceled"}[end]
            assert task["state"] == expected
            quick = await bench.say("hi", tenant="u")
            await bench.engine.until_settled(quick.task.id)


async def test_a_task_that_an_agent_left_behind_is_not_heard_and_does_not_keep_the_loop(
    engine_with: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async with engine_with(Agent("t", leaves_a_task)) as bench:
        with anyio.fail_after(20):
            task = await bench.ask("go")
            assert (task["state"], task["text"]) == ("completed", "done")
            assert (await bench.ask("again"))["state"] == "completed"
            while "speaks on after the end of its turn" not in caplog.text:
                await anyio.lowlevel.checkpoint()
            for each in background:
                each.cancel()
            await asyncio.gather(*background, return_exceptions=True)
            background.clear()


async def test_what_the_store_refused_is_in_no_artifact(engine_with: Any) -> None:
    entered, ended = asyncio.Event(), asyncio.Event()

    async def late(turn: Turn) -> str:
        await turn.artifact("early", Part(text="early"))
        entered.set()
        try:
            await asyncio.Event().wait()
        finally:
            await turn.artifact("late", Part(text="late"))
            ended.set()
        return ""

    async with engine_with(Agent("t", late), turn_timeout=timedelta(milliseconds=50)) as bench:
        task = await bench.ask("go")
        await ended.wait()
        assert (task["state"], task["artifacts"]) == ("failed", {"early": "early"})
        assert b"late" not in b"".join(event.body for event in bench.events)


@pytest.mark.parametrize("answer", [float("nan"), {"deep": object()}])
async def test_what_json_cannot_carry_fails_the_task(engine_with: Any, answer: Any) -> None:
    async def says(turn: Turn) -> Part:
        return Part(text="hi", metadata={"x": answer}) if turn.text == "text" else Part(data=answer)

    async with engine_with(Agent("t", says)) as bench:
        assert (await bench.ask("data"))["state"] == "failed"
        assert (await bench.ask("text"))["text"] == "hi"


async def test_a_generator_is_closed_within_its_turn(engine_with: Any) -> None:
    closed: list[bool] = []

    async def streams(turn: Turn) -> AsyncIterator[Any]:
        task = asyncio.current_task()
        try:
            yield "fine"
            yield 42
        finally:
            closed.append(asyncio.current_task() is task)

    async with engine_with(Agent("t", streams)) as bench:
        assert (await bench.ask("go"))["state"] == "failed"
        assert closed == [True]


async def test_a_gate_has_no_voice_and_takes_none_from_the_agent(
    engine_with: Any, gate: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async def speaks(turn: Turn) -> bool:
        await turn.progress("I judge")
        return False

    async def streams(turn: Turn) -> AsyncIterator[str]:
        for _ in range(300):
            yield "x"

    async with engine_with(Agent("t", streams), gates=[gate(speaks, "turn")]) as bench:
        task = await bench.ask("go")
        assert task["artifacts"] == {"reply": "x" * 300}
        assert "GateSpoke" in caplog.text


@pytest.mark.parametrize("end", ["cancel", "stop"])
async def test_a_turn_that_is_being_judged_can_be_ended_without_waiting_for_its_gates(
    engine_with: Any, gate: Any, end: str
) -> None:
    asked = asyncio.Event()

    async def hangs(turn: Turn) -> None:
        if turn.text == "next":
            return
        asked.set()
        await asyncio.Event().wait()

    async with engine_with(Agent("t", echo), gates=[gate(hangs, "turn")]) as bench:
        with anyio.fail_after(3):  # the deadline of a gate is 5 s
            admitted = await bench.say("hi", context_id="c")
            await asked.wait()
            if end == "stop":
                await bench.engine.stop(timedelta(0), asyncio.Event())
                assert (await bench.task(admitted.task.id))["state"] == "submitted"
                return
            await bench.engine.cancel("t", Caller("alice"), admitted.task.id)
            assert (await bench.ask("next", context_id="c"))["text"] == "next!"
            assert (await bench.task(admitted.task.id))["state"] == "canceled"


class SaysTooMuch:
    async def execute(self, context: Any, event_queue: Any) -> None:
        for task_id in ["another"] * 1000:
            await event_queue.enqueue_event(a2a_pb2.TaskStatusUpdateEvent(task_id=task_id))
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await updater.complete()
        for _ in range(1000):
            await event_queue.enqueue_event(a2a_pb2.TaskStatusUpdateEvent(task_id=context.task_id))

    async def cancel(self, context: Any, event_queue: Any) -> None: ...


async def test_what_an_executor_says_too_much_does_not_keep_its_task_from_ending(engine_with: Any) -> None:
    async with engine_with(Agent("t", SaysTooMuch())) as bench:
        with anyio.fail_after(10):
            assert (await bench.ask("go"))["state"] == "completed"


class Ends(Exception):
    """An error of which every word ends the process."""

    def __str__(self) -> str:
        raise SystemExit(3)

    __repr__ = __str__


async def test_an_error_that_cannot_be_put_into_words_fails_its_turn_alone(engine_with: Any) -> None:
    async def raises(turn: Turn) -> str:
        if turn.text == "bad":
            raise Ends
        return "fine"

    async with engine_with(Agent("t", raises)) as bench:
        assert (await bench.ask("bad"))["state"] == "failed"
        assert (await bench.ask("good"))["text"] == "fine"
