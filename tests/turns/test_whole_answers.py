"""Who waits for a task gets it as it can be read from then on."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from innkeeper import Agent, Ask, Part, Refuse, Turn

pytestmark = pytest.mark.anyio


async def silent(turn: Turn) -> None: ...


async def says(turn: Turn) -> str:
    await turn.progress("on it")
    return "é " + turn.text


async def shows(turn: Turn) -> list[Part]:
    await turn.artifact("table", Part(data={"a": [1.5, None]}), last=False)
    await turn.artifact("table", Part(text="more"), append=True)
    return [Part(text="see"), Part(url="https://example.com/x")]


async def streams(turn: Turn) -> AsyncIterator[str]:
    for piece in ("a", "b"):
        yield piece


async def asks(turn: Turn) -> Ask:
    return Ask("which?")


async def refuses(turn: Turn) -> str:
    raise Refuse("no")


async def fails(turn: Turn) -> str:
    raise ValueError("no")


@pytest.mark.parametrize("handler", [silent, says, shows, streams, asks, refuses, fails])
async def test_what_is_answered_is_what_is_on_disk(engine_with: Any, handler: Any) -> None:
    async with engine_with(Agent("t", handler)) as bench:
        admitted = await bench.say("hi")
        answered = await bench.engine.until_settled(admitted.task.id)
        read = await bench.view(admitted.task.id)
        folded = bench.means.codec.fold_artifacts(read.artifacts, read.pieces)
        assert answered is not None
        assert (answered.task, answered.history, answered.artifacts) == (read.task, read.history, folded)
        assert answered.pieces == ()


async def test_of_a_task_with_more_turns_the_disk_is_asked(engine_with: Any) -> None:
    async with engine_with(Agent("t", asks)) as bench:
        first = await bench.say("hi")
        await bench.engine.until_settled(first.task.id)
        again = await bench.say("this", task_id=first.task.id)
        assert await bench.engine.until_settled(again.task.id) is None


async def test_of_a_turn_that_was_cut_short_before_the_disk_is_asked(engine_with: Any) -> None:
    async with engine_with(Agent("t", says), max_concurrent_turns=0) as bench:
        admitted = await bench.say("hi")
        assert await bench.store.claim(admitted.turn, "dead")
    async with engine_with(Agent("t", says)) as bench:
        assert await bench.engine.until_settled(admitted.task.id) is None
        assert (await bench.task(admitted.task.id))["text"] == "é hi"
