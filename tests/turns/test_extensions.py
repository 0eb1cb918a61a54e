"""What a turn gets to know of extensions, and what it says of them."""

from typing import Any

import pytest

from innkeeper import Agent, Extension, Turn

pytestmark = pytest.mark.anyio

TRACE, CITE = "https://a2a.example/trace/v1", "urn:cite"


async def follows_all(turn: Turn) -> str:
    for uri in turn.requested_extensions:
        turn.activate_extension(uri)
    with pytest.raises(ValueError, match="was not asked for"):
        turn.activate_extension("urn:other")
    return " ".join(turn.requested_extensions)


AGENT = Agent("t", follows_all, extensions=[Extension(TRACE), Extension(CITE)])


async def test_a_turn_sees_those_that_its_agent_knows_and_whoever_waits_hears_which_it_follows(
    engine_with: Any,
) -> None:
    heard: list[str] = []
    async with engine_with(AGENT) as bench:
        task = await bench.ask("hi", extensions=("urn:other", CITE, TRACE), activated=heard.append)
    assert task["text"] == f"{TRACE} {CITE}"
    assert heard == [TRACE, CITE]


async def test_after_a_restart_the_turn_still_knows_what_was_asked_for(engine_with: Any) -> None:
    heard: list[str] = []
    async with engine_with(AGENT, max_concurrent_turns=0) as bench:
        admitted = await bench.say("hi", extensions=(CITE,), activated=heard.append)
    async with engine_with(AGENT) as bench:
        assert (await bench.settled(admitted))["text"] == CITE
    assert heard == []
