"""Turns that are judged."""

from typing import Any

import pytest
from turn_agents import Scripted

from innkeeper import Agent, Ask, Turn

pytestmark = pytest.mark.anyio


async def test_a_declined_turn_completes_without_a_word_and_its_handler_does_not_run(
    engine_with: Any, gate: Any
) -> None:
    agent = Scripted()
    seen: list[str] = []

    def decline(history: Any) -> bool:
        seen.extend(message.text for message in history)
        return False

    async with engine_with(Agent("t", agent), gates=[gate(decline, "history")]) as bench:
        task = await bench.ask("hi")
        assert (task["state"], task["text"], task["history"]) == ("completed", "", ["hi"])
        assert bench.states(task["id"]) == ["submitted", "completed"]
        assert (seen, agent.begun) == (["hi"], [])


async def test_a_declined_answer_leaves_the_question_open(engine_with: Any, gate: Any) -> None:
    async def asks(turn: Turn) -> Ask | str:
        return Ask("which?") if turn.text == "hi" else "thanks"

    async with engine_with(Agent("t", asks), gates=[gate(lambda turn: turn.text != "psst", "turn")]) as bench:
        task = await bench.ask("hi")
        task = await bench.ask("psst", task_id=task["id"])
        assert (task["state"], task["text"]) == ("input-required", "which?")
        assert (await bench.ask("this", task_id=task["id"]))["text"] == "thanks"


async def test_what_a_gate_does_to_its_turn_the_agent_does_not_see(engine_with: Any, gate: Any) -> None:
    def rewrites(turn: Turn) -> bool:
        turn.metadata["role"] = "admin"  # type: ignore[index]
        turn.parts[0].metadata["seen"] = True  # type: ignore[index]
        return True

    async def tells(turn: Turn) -> str:
        return f"{dict(turn.metadata)} {dict(turn.parts[0].metadata)}"

    async with engine_with(Agent("t", tells), gates=[gate(rewrites, "turn")]) as bench:
        assert (await bench.ask("hi", metadata={"role": "user"}))["text"] == "{'role': 'user'} {}"


async def test_what_a_gate_does_to_its_turn_and_history_another_gate_does_not_see(engine_with: Any, gate: Any) -> None:
    seen: list[str] = []

    def rewrites(turn: Turn, history: Any) -> None:
        views: list[Any] = [turn.metadata, turn.parts[0].metadata, history[0].metadata, history[0].parts[0].metadata]
        seen.append(str(views))
        for view in views:
            view.setdefault("nested", []).append("seen")

    async def answers(turn: Turn) -> str:
        return str(turn.metadata)

    gates = [gate(rewrites, "turn", "history"), gate(rewrites, "turn", "history")]
    async with engine_with(Agent("t", answers), gates=gates) as bench:
        assert (await bench.ask("hi", metadata={"nested": []}))["text"] == "{'nested': []}"
    assert seen == ["[{'nested': []}, {}, {}, {}]"] * 2
