"""A store that fails, and what becomes of the turns."""

import contextlib
from typing import Any

import anyio
import pytest
from turn_agents import echo

from innkeeper import Agent, Part, Turn
from innkeeper.contract.errors import Unavailable

pytestmark = pytest.mark.anyio


async def test_a_turn_goes_on_when_the_store_takes_its_writes_again_and_its_session_after_it(
    engine_with: Any, gate: Any
) -> None:
    errors: dict[str, list[Exception]] = {
        name: [Unavailable(), Unavailable()] for name in ("claim", "begin", "end", "history")
    }
    async with engine_with(Agent("t", echo), gates=[gate(lambda: True)], errors=errors) as bench:
        with anyio.fail_after(20):
            first = await bench.say("1", context_id="c")
            second = await bench.say("2", context_id="c")
            while (await bench.view(second.task.id)).task.state != "completed":
                try:
                    await bench.engine.until_settled(second.task.id)
                except Unavailable:
                    continue
            assert [event.task_id for event in bench.events if event.state == "completed"] == [
                first.task.id,
                second.task.id,
            ]
    assert not any(errors.values())


async def test_a_start_that_cannot_be_stored_is_tried_again(engine_with: Any) -> None:
    errors: dict[str, list[Exception]] = {"start": [Unavailable(), Unavailable()]}
    async with engine_with(Agent("t", echo), errors=errors) as bench:
        admitted = await bench.say("hi")
        with anyio.fail_after(20):
            while (await bench.view(admitted.task.id)).task.state != "completed":
                with contextlib.suppress(Unavailable):
                    await bench.engine.until_settled(admitted.task.id)
    assert not any(errors.values())


async def test_those_who_wait_are_told_when_the_store_cannot_end_their_task(engine_with: Any) -> None:
    errors: dict[str, list[Exception]] = {"end": [Unavailable("no room")]}
    async with engine_with(Agent("t", echo), errors=errors) as bench:
        admitted = await bench.say("hi")
        with pytest.raises(Unavailable, match="no room"):
            await bench.engine.until_settled(admitted.task.id)
        assert (await bench.settled(admitted))["state"] == "completed"


@pytest.mark.parametrize("operation", ["start", "claim", "begin", "history", "find", "end"])
async def test_a_failure_that_nobody_foresaw_fails_the_task_and_not_its_session(
    engine_with: Any, gate: Any, operation: str
) -> None:
    errors: dict[str, list[Exception]] = {operation: [RuntimeError("a bug")]}

    async def puts_out(turn: Turn) -> str:
        for _ in range(2000):
            await turn.artifact("a", Part(text="x" * 100), append=True)
        return "done"

    gates = [] if operation == "start" else [gate(lambda: True)]
    async with engine_with(Agent("t", puts_out), gates=gates, errors=errors) as bench:
        with anyio.fail_after(20):
            task = await bench.ask("1", context_id="c")
            assert (task["state"], "a bug" in str(task)) == ("failed", False)
            assert (await bench.ask("2", context_id="c"))["state"] == "completed"
    assert not any(errors.values())


async def test_what_an_agent_says_into_a_full_store_fails_its_task_clearly(engine_with: Any) -> None:
    async def speaks(turn: Turn) -> str:
        await turn.progress("lost")
        return "done"

    async with engine_with(Agent("t", speaks), errors={"append": [Unavailable()]}) as bench:
        task = await bench.ask("hi")
        assert (task["state"], task["text"]) == ("failed", "What the agent said could not be stored")


async def test_an_ending_that_cannot_be_written_at_all_harms_no_other_turn(engine_with: Any) -> None:
    errors: dict[str, list[Exception]] = {"end": [RuntimeError("broken"), RuntimeError("broken")]}
    async with engine_with(Agent("t", echo), errors=errors) as bench:
        with anyio.fail_after(10):
            await bench.settled(await bench.say("1"))
            assert (await bench.ask("2"))["text"] == "2!"


async def test_a_full_store_costs_each_turn_one_line_of_the_log_and_no_traceback(
    engine_with: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async def speaks(turn: Turn) -> str:
        await turn.progress("lost")
        if turn.text == "waits":
            for _ in range(200):
                await turn.progress("more")
        return "done"

    errors: dict[str, list[Exception]] = {"append": [Unavailable("no room")]}
    async with engine_with(Agent("t", speaks), errors=errors) as bench:
        for text in ("returns", "waits"):
            errors["append"].append(Unavailable("no room"))
            assert (await bench.ask(text))["state"] == "failed"
    told = [record for record in caplog.records if record.levelname == "ERROR"]
    assert 2 <= len(told) <= 3
    assert all("no room" in record.getMessage() for record in told)
    assert not any(record.exc_info for record in told)
