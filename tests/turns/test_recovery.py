"""What becomes of turns when the host ends, in an orderly way or not."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import anyio
import pytest

from innkeeper import Agent, Caller, Part, Turn
from innkeeper.contract.errors import Unavailable
from innkeeper.ports.events import ArtifactPiece, Event, State
from innkeeper.turns.patience import Stop
from innkeeper.turns.run import Run
from innkeeper.turns.runners import runner_from_handler

pytestmark = pytest.mark.anyio

PARKED = {"max_concurrent_turns": 0}
"""Accepts messages and runs none: what is done to the turns by hand is what a host did before it was killed."""


async def attempt(turn: Turn) -> str:
    return f"{turn.text} at {turn.attempt}"


def working(bench: Any, turn: Any) -> Event:
    codec = bench.means.codec
    status = b'{"state":"TASK_STATE_WORKING"}'
    return Event("status", 1, codec.status_update(status, turn.task_id, turn.context_id), State.WORKING, status)


async def begun(bench: Any, turn: Any, attempts: int = 1) -> None:
    """Leave a turn behind as a host does that dies while the handler runs, for the ``attempts``-th time."""
    for number in range(1, attempts + 1):
        assert await bench.store.claim(turn, "dead")
        assert await bench.store.begin(turn, number, working(bench, turn))
        if number < attempts:
            await bench.store.release(turn, count_attempt=True)


async def test_a_turn_that_was_accepted_and_not_begun_runs_after_the_restart(engine_with: Any) -> None:
    async with engine_with(Agent("t", attempt), **PARKED) as bench:
        admitted = await bench.say("hi")
    async with engine_with(Agent("t", attempt)) as bench:
        assert (await bench.settled(admitted))["text"] == "hi at 1"


async def test_a_turn_cut_short_runs_again_and_is_not_judged_again(engine_with: Any, gate: Any) -> None:
    async with engine_with(Agent("t", attempt), **PARKED) as bench:
        admitted = await bench.say("hi")
        await begun(bench, admitted.turn)
    async with engine_with(Agent("t", attempt), gates=[gate(lambda: False)]) as bench:
        assert (await bench.settled(admitted))["text"] == "hi at 2"


async def test_a_turn_that_is_stopped_before_its_handler_runs_is_put_back_even_if_it_cannot_resume(
    engine_with: Any,
) -> None:
    called: list[str] = []

    async def notes(turn: Turn) -> str:
        called.append(turn.text)
        return "done"

    agent = Agent("t", notes, resumable=False)
    async with engine_with(agent, **PARKED) as bench:
        admitted = await bench.say("hi")
        run = Run(bench.means, bench.tenants["t"], runner_from_handler(agent), admitted.turn, stuck=lambda *_: None)
        run.stop(Stop.SHUTDOWN)
        await run.execute()
        assert called == []
    async with engine_with(agent) as bench:
        assert (await bench.settled(admitted))["text"] == "done"


async def test_a_turn_cut_short_while_it_was_judged_is_judged_again(engine_with: Any, gate: Any) -> None:
    async with engine_with(Agent("t", attempt), **PARKED) as bench:
        admitted = await bench.say("hi")
        assert await bench.store.claim(admitted.turn, "dead")
    async with engine_with(Agent("t", attempt), gates=[gate(lambda: False)]) as bench:
        task = await bench.settled(admitted)
        assert (task["state"], task["text"]) == ("completed", "")


@pytest.mark.parametrize(("agent", "attempts"), [(Agent("t", attempt, resumable=False), 1), (Agent("t", attempt), 3)])
async def test_a_turn_that_is_not_run_again_fails_once_as_interrupted(
    engine_with: Any, agent: Agent, attempts: int
) -> None:
    async with engine_with(agent, **PARKED) as bench:
        admitted = await bench.say("hi")
        await begun(bench, admitted.turn, attempts)
    for _ in range(2):
        async with engine_with(agent) as bench:
            task = await bench.settled(admitted)
            assert (task["state"], task["text"]) == ("failed", "The turn was interrupted and is not run again")
            assert task["message_id"] == f"{task['id']}:final"
            assert (await bench.view(task["id"])).task.seq == 2 + attempts


async def test_a_message_that_waits_behind_an_interrupted_turn_is_still_answered(engine_with: Any) -> None:
    agent = Agent("t", attempt, resumable=False)
    async with engine_with(agent, **PARKED) as bench:
        admitted = await bench.say("1")
        await bench.say("2", task_id=admitted.task.id)
        await begun(bench, admitted.turn)
    async with engine_with(agent) as bench:
        task = await bench.settled(admitted)
        assert (task["state"], task["text"]) == ("completed", "2 at 1")
        assert "The turn was interrupted and is not run again" in task["history"]


async def test_the_order_of_a_session_survives(engine_with: Any) -> None:
    order: list[str] = []

    async def notes(turn: Turn) -> str:
        order.append(turn.text)
        return ""

    async with engine_with(Agent("t", notes), **PARKED) as bench:
        admitted = [await bench.say(text, context_id="c") for text in ("1", "2", "3")]
        await begun(bench, admitted[0].turn)
    async with engine_with(Agent("t", notes)) as bench:
        for each in admitted:
            await bench.settled(each)
    assert order == ["1", "2", "3"]


async def test_a_turn_of_a_tenant_that_is_not_served_is_left_as_it_is(engine_with: Any) -> None:
    async with engine_with(Agent("t", attempt), **PARKED) as bench:
        admitted = await bench.say("hi")
    async with engine_with(Agent("other", attempt)) as bench:
        assert (await bench.task(admitted.task.id))["state"] == "submitted"
    async with engine_with(Agent("t", attempt)) as bench:
        assert (await bench.settled(admitted))["text"] == "hi at 1"


async def test_a_rerun_begins_its_artifacts_anew(engine_with: Any) -> None:
    async def streams(turn: Turn) -> AsyncIterator[str]:
        yield "new"
        yield "er"

    async with engine_with(Agent("t", streams), **PARKED) as bench:
        admitted = await bench.say("hi")
        await begun(bench, admitted.turn)
        piece = ArtifactPiece(f"{admitted.task.id}:reply", (Part(text="old"),), name="reply", last=False)
        body = bench.means.codec.artifact_update(piece, admitted.task.id, admitted.task.context_id)
        assert await bench.store.append(admitted.turn, 1, Event("artifact", 1, body))
    async with engine_with(Agent("t", streams)) as bench:
        assert (await bench.settled(admitted))["artifacts"] == {"reply": "newer"}


async def test_an_orderly_stop_waits_for_turns_that_end_in_time(engine_with: Any) -> None:
    entered, go = asyncio.Event(), asyncio.Event()

    async def waits(turn: Turn) -> str:
        entered.set()
        await go.wait()
        return "in time"

    async with engine_with(Agent("t", waits)) as bench:
        admitted = await bench.say("hi")
        await entered.wait()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(bench.engine.stop, timedelta(seconds=30), asyncio.Event())
            await anyio.wait_all_tasks_blocked()
            with pytest.raises(Unavailable):
                await bench.say("too late")
            go.set()
        assert (await bench.task(admitted.task.id))["text"] == "in time"


@pytest.mark.parametrize("hurried", [False, True])
async def test_an_orderly_stop_puts_back_what_does_not_end_and_gives_its_attempt_back(
    engine_with: Any, hurried: bool
) -> None:
    entered = asyncio.Event()

    async def waits_once(turn: Turn) -> str:
        if not entered.is_set():
            entered.set()
            await asyncio.Event().wait()
        return f"{turn.text} at {turn.attempt}"

    async with engine_with(Agent("t", waits_once)) as bench:
        admitted, watch = await bench.engine.submit_and_watch(
            bench.tenants["t"], Caller("alice"), bench.submission("hi")
        )
        await entered.wait()
        hurry = asyncio.Event()
        if hurried:
            hurry.set()
        await bench.engine.stop(timedelta(seconds=30) if hurried else timedelta(0), hurry)
        assert (await bench.task(admitted.task.id))["state"] == "working"
        assert [str(event.state) async for event in watch] == ["submitted", "working"]
    async with engine_with(Agent("t", waits_once)) as bench:
        assert (await bench.settled(admitted))["text"] == "hi at 1"


async def test_a_stop_ends_a_turn_that_is_not_resumable_as_a_crash_does(engine_with: Any) -> None:
    runs: list[str] = []
    entered = asyncio.Event()

    async def hangs(turn: Turn) -> str:
        runs.append(turn.text)
        entered.set()
        await asyncio.Event().wait()
        return ""

    agent = Agent("t", hangs, resumable=False)
    async with engine_with(agent) as bench:
        admitted = await bench.say("hi")
        await entered.wait()
        await bench.engine.stop(timedelta(0), asyncio.Event())
    async with engine_with(agent) as bench:
        task = await bench.settled(admitted)
        assert (task["state"], task["text"]) == ("failed", "The turn was interrupted and is not run again")
    assert runs == ["hi"]


async def test_those_who_wait_for_a_task_are_told_that_the_host_stops(engine_with: Any) -> None:
    entered = asyncio.Event()

    async def hangs(turn: Turn) -> str:
        entered.set()
        await asyncio.Event().wait()
        return ""

    async with engine_with(Agent("t", hangs)) as bench:
        admitted = await bench.say("hi")
        await entered.wait()
        refused: list[str] = []

        async def wait() -> None:
            with pytest.raises(Unavailable, match="stopping"):
                await bench.engine.until_settled(admitted.task.id)
            refused.append("yes")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            await bench.engine.stop(timedelta(0), asyncio.Event())
        assert refused == ["yes"]
