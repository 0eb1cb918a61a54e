"""How a turn ends, and what its caller sees of that."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from a2a.server.tasks import TaskUpdater
from a2a.types import a2a_pb2
from turn_agents import Scripted

from innkeeper import Agent, Ask, Refuse, Turn
from innkeeper.contract.errors import UnsupportedOperation

pytestmark = pytest.mark.anyio


async def test_a_raise_fails_the_task_without_a_word_of_it(engine_with: Any, caplog: pytest.LogCaptureFixture) -> None:
    async def boom(turn: Turn) -> str:
        raise RuntimeError("sk-secret")

    async with engine_with(Agent("t", boom)) as bench:
        task = await bench.ask("hi")
        assert task["state"] == "failed"
        assert task["text"].startswith("The agent failed (error ")
        assert "sk-secret" not in str(task)
        error_id = task["text"].split()[-1].rstrip(")")
        traces = [record for record in caplog.records if error_id in record.getMessage()]
        assert len(traces) == 1
        assert "sk-secret" in caplog.text


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError(), GeneratorExit()])
async def test_a_raise_that_is_no_exception_fails_the_task_and_nothing_else(
    engine_with: Any, error: BaseException
) -> None:
    async def boom(turn: Turn) -> str:
        if turn.text == "boom":
            raise error
        return "fine"

    async with engine_with(Agent("t", boom)) as bench:
        assert (await bench.ask("boom"))["state"] == "failed"
        assert (await bench.ask("hi"))["text"] == "fine"


async def test_a_wrong_answer_fails_the_task(engine_with: Any) -> None:
    async def lies(turn: Turn) -> Any:
        return 42

    async with engine_with(Agent("t", lies)) as bench:
        assert (await bench.ask("hi"))["state"] == "failed"


async def test_a_refusal_rejects_the_task_with_its_text(engine_with: Any) -> None:
    async def refuses(turn: Turn) -> str:
        raise Refuse("not today")

    async with engine_with(Agent("t", refuses)) as bench:
        task = await bench.ask("hi")
        assert (task["state"], task["text"]) == ("rejected", "not today")


async def test_a_turn_that_takes_too_long_fails_naming_the_limit_and_the_next_one_runs(engine_with: Any) -> None:
    agent = Scripted()
    async with engine_with(Agent("t", agent), turn_timeout=timedelta(milliseconds=20)) as bench:
        task = await bench.ask("slow", context_id="c")
        assert (task["state"], task["text"]) == ("failed", "The turn took longer than 0.02 s and was stopped")
        agent.go("next")
        assert (await bench.ask("next", context_id="c"))["text"] == "done next"
        assert agent.canceled == ["slow"]


async def test_a_question_waits_for_its_answer_in_the_same_task(engine_with: Any) -> None:
    async def asks(turn: Turn) -> str | Ask:
        said = await turn.session.history()
        return Ask("which?") if len(said) == 1 else f"so {turn.text}"

    async with engine_with(Agent("t", asks)) as bench:
        task = await bench.ask("hi")
        assert (task["state"], task["text"]) == ("input-required", "which?")
        task = await bench.ask("this", task_id=task["id"])
        assert (task["state"], task["text"], task["history"]) == ("completed", "so this", ["hi", "which?", "this"])
        with pytest.raises(UnsupportedOperation):
            await bench.say("more", task_id=task["id"])


class Asking:
    """An executor in the SDK's usual style: it looks at the task so far to know what a message answers."""

    async def execute(self, context: Any, event_queue: Any) -> None:
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        say = a2a_pb2.Part
        if context.current_task is None:
            await updater.add_artifact([say(text="draft")], artifact_id="d")
            await updater.requires_input(updater.new_agent_message([say(text="which?")]))
        else:
            seen = [part.text for message in context.current_task.history for part in message.parts]
            seen += [part.text for artifact in context.current_task.artifacts for part in artifact.parts]
            await updater.complete(updater.new_agent_message([say(text=" / ".join(seen))]))

    async def cancel(self, context: Any, event_queue: Any) -> None: ...


async def test_an_executor_is_given_its_task_when_the_answer_to_its_question_comes(engine_with: Any) -> None:
    async with engine_with(Agent("t", Asking())) as bench:
        task = await bench.ask("hi")
        assert (task["state"], task["text"]) == ("input-required", "which?")
        task = await bench.ask("this", task_id=task["id"])
        assert (task["state"], task["text"]) == ("completed", "hi / which? / this / draft")


async def test_messages_to_a_running_task_are_its_next_turns_and_the_last_one_ends_it(engine_with: Any) -> None:
    agent = Scripted()
    async with engine_with(Agent("t", agent)) as bench:
        first = await bench.say("1")
        await agent.entered.acquire()
        await bench.say("ask 2", task_id=first.task.id)
        await bench.say("3", task_id=first.task.id)
        for text in ("1", "ask 2", "3"):
            agent.go(text)
        task = await bench.settled(first)
        assert (task["state"], task["text"]) == ("completed", "done 3")
        assert task["history"] == ["1", "ask 2", "3", "done 1", "ask 2, really?"]
        assert bench.states(task["id"]) == ["submitted", *["working"] * 5, "completed"]


async def test_a_failure_before_a_waiting_message_does_not_end_the_task(engine_with: Any) -> None:
    entered, go = asyncio.Event(), asyncio.Event()

    async def fails_once(turn: Turn) -> str:
        if turn.text == "1":
            entered.set()
            await go.wait()
            raise RuntimeError
        return "recovered"

    async with engine_with(Agent("t", fails_once)) as bench:
        first = await bench.say("1")
        await entered.wait()
        await bench.say("2", task_id=first.task.id)
        go.set()
        task = await bench.settled(first)
        assert (task["state"], task["text"]) == ("completed", "recovered")
