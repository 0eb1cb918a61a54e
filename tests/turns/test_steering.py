"""Messages to a running task, for an agent that takes them up while it runs."""

import asyncio
from typing import Any

import pytest

from innkeeper import Agent, Ask, InnkeeperError, Turn, TurnOver
from innkeeper.contract.errors import Unavailable
from innkeeper.ports.events import Event
from innkeeper.ports.steering import Steering

pytestmark = pytest.mark.anyio


class Listens:
    """Takes what was sent to it meanwhile whenever it is told to, and answers with all that it was told."""

    def __init__(self) -> None:
        self.runs = 0
        self.begun = asyncio.Event()
        self.go = asyncio.Event()

    async def __call__(self, turn: Turn) -> str:
        self.runs += 1
        self.begun.set()
        await self.go.wait()
        more = [message.text for message in await turn.claim_steering()]
        return " + ".join([turn.text, *more])


@pytest.fixture
def listens() -> Listens:
    return Listens()


def kinds(bench: Any, task_id: str) -> list[tuple[str, Any]]:
    events = [event.source.event for event in bench.events if event.task_id == task_id]
    return [(event.kind, dict(event.data)) for event in events if event.kind in ("message", "taken")]


async def test_what_is_sent_meanwhile_is_part_of_the_turn(engine_with: Any, listens: Listens) -> None:
    async with engine_with(Agent("t", listens, steers=True)) as bench:
        first = await bench.say("one")
        await listens.begun.wait()
        for text in ("two", "three"):
            await bench.say(text, task_id=first.task.id)
        listens.go.set()
        task = await bench.settled(first)
        assert (task["state"], task["text"], listens.runs) == ("completed", "one + two + three", 1)
        assert task["history"] == ["one", "two", "three"]
        assert kinds(bench, first.task.id) == [("message", {}), ("message", {}), ("taken", {"ordinals": [2, 3]})]
        session = bench.engine.session(first.task.session_id, "t", first.turn.caller, "c")
        assert [message.text for message in await session.history()] == ["one", "two", "three", task["text"]]
        assert (await bench.ask("next"))["text"] == "next"


async def test_what_is_not_taken_is_the_next_turn_of_the_task(engine_with: Any, listens: Listens) -> None:
    async def deaf(turn: Turn) -> str:
        listens.begun.set()
        await listens.go.wait()
        return turn.text.upper()

    async with engine_with(Agent("t", deaf, steers=True)) as bench:
        first = await bench.say("one")
        await listens.begun.wait()
        await bench.say("two", task_id=first.task.id)
        listens.go.set()
        task = await bench.settled(first)
        assert (task["state"], task["text"], task["history"]) == ("completed", "TWO", ["one", "two", "ONE"])


async def test_messages_of_other_tasks_and_sessions_are_not_taken(engine_with: Any, listens: Listens) -> None:
    async with engine_with(Agent("t", listens, steers=True)) as bench:
        first = await bench.say("one", context_id="c")
        await listens.begun.wait()
        same_session = await bench.say("other task", context_id="c")
        listens.go.set()
        assert (await bench.settled(first))["text"] == "one"
        assert (await bench.settled(same_session))["text"] == "other task"


async def test_what_was_taken_before_a_stop_is_there_again_after_it(engine_with: Any) -> None:
    taken, runs = asyncio.Event(), []

    async def hangs_once(turn: Turn) -> str:
        runs.append(turn.text)
        begun.set()
        await go.wait()
        more = [message.text for message in await turn.claim_steering()]
        taken.set()
        if len(runs) == 1:
            await asyncio.Event().wait()
        return " + ".join([turn.text, *more])

    begun, go = asyncio.Event(), asyncio.Event()
    async with engine_with(Agent("t", hangs_once, steers=True)) as bench:
        first = await bench.say("one")
        await begun.wait()
        await bench.say("two", task_id=first.task.id)
        go.set()
        await taken.wait()
    async with engine_with(Agent("t", hangs_once, steers=True)) as bench:
        task = await bench.settled(first)
        assert (task["text"], task["history"], runs) == ("one + two", ["one", "two"], ["one", "one"])


async def test_what_was_taken_before_a_crash_is_there_again_after_it(engine_with: Any, listens: Listens) -> None:
    listens.go.set()
    async with engine_with(Agent("t", listens, steers=True), max_concurrent_turns=0) as bench:
        first = await bench.say("one")
        await bench.say("two", task_id=first.task.id)
        working = next(event for event in bench.events if event.task_id == first.task.id).source.event
        assert await bench.store.claim(first.turn, "dead")
        assert await bench.store.begin(first.turn, 1, working)
        assert await bench.store.take_waiting(first.turn, 1, lambda _: working, lambda _: None)
        assert [turn.ordinal for turn in await bench.store.unfinished()] == [1]
    async with engine_with(Agent("t", listens, steers=True)) as bench:
        assert (await bench.settled(first))["text"] == "one + two"


async def test_an_agent_that_does_not_steer_takes_nothing(engine_with: Any) -> None:
    async def asks(turn: Turn) -> str:
        for call in (turn.claim_steering(), turn.steer("more")):
            with pytest.raises(InnkeeperError, match="does not steer"):
                await call
        return "done"

    async with engine_with(Agent("t", asks)) as bench:
        assert (await bench.ask("go"))["text"] == "done"


async def test_a_turn_that_is_canceled_takes_nothing_and_what_waits_is_withdrawn(engine_with: Any) -> None:
    raised: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()
    begun = asyncio.Event()

    async def stubborn(turn: Turn) -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            try:
                await turn.claim_steering()
            except TurnOver as error:
                raised.set_result(error)
        return "late"

    async with engine_with(Agent("t", stubborn, steers=True)) as bench:
        first = await bench.say("one")
        await begun.wait()
        await bench.say("two", task_id=first.task.id)
        await bench.engine.cancel("t", first.turn.caller, first.task.id)
        assert "has ended" in str(await raised)
        task = await bench.task(first.task.id)
        assert (task["state"], task["history"]) == ("canceled", ["one", "two"])


async def test_plugins_object_to_the_end_of_a_turn_until_they_are_content(engine_with: Any, hook: Any) -> None:
    async def says(turn: Turn) -> str:
        return turn.text

    async def wants_three_words(turn: Turn) -> None:
        if len(turn.text.split()) < 3:
            await turn.steer(turn.text + " word")

    async with engine_with(
        Agent("t", says, steers=True), gates=[hook("on_turn_stopping", wants_three_words, "turn")]
    ) as bench:
        task = await bench.ask("word")
        assert (task["state"], task["text"]) == ("completed", "word word word")
        assert task["history"] == ["word", "word word", "word", "word word word", "word word"]


async def test_listeners_are_asked_in_order_and_only_at_the_end_of_a_turn_that_completes(
    engine_with: Any, hook: Any
) -> None:
    asked: list[str] = []

    async def either(turn: Turn) -> str | Ask:
        return Ask("well?") if turn.text == "ask" else "done"

    async def slow(turn: Turn) -> None:
        await asyncio.sleep(0)
        asked.append(f"slow {turn.text}")

    def quick(turn: Turn) -> None:
        asked.append(f"quick {turn.text}")

    listeners = [hook("on_turn_stopping", slow, "turn"), hook("on_turn_stopping", quick, "turn")]
    async with engine_with(Agent("t", either, steers=True), gates=listeners) as bench:
        await bench.ask("go")
        assert (await bench.ask("ask"))["state"] == "input-required"
    async with engine_with(Agent("t", either), gates=listeners) as bench:
        await bench.ask("not asked of an agent that does not steer", message_id="other")
    assert asked == ["slow go", "quick go"]


async def test_a_listener_that_raises_fails_the_turn(engine_with: Any, hook: Any, caplog: Any) -> None:
    async def says(turn: Turn) -> str:
        return turn.text

    def raises() -> None:
        raise ValueError("no")

    async with engine_with(Agent("t", says, steers=True), gates=[hook("on_turn_stopping", raises)]) as bench:
        task = await bench.ask("go")
        assert (task["state"], "error" in task["text"]) == ("failed", True)
    assert "on_turn_stopping of plugin 'gate' at tenant 't' raised ValueError: no" in caplog.text


async def test_a_rerun_does_not_send_the_same_steering_again(engine_with: Any) -> None:
    async def working(turn: Turn) -> str:
        return turn.text

    async with engine_with(Agent("t", working, steers=True), max_concurrent_turns=0) as bench:
        first = await bench.say("one")
        event = next(event for event in bench.events if event.task_id == first.task.id).source.event
        assert await bench.store.claim(first.turn, "dead")
        assert await bench.store.begin(first.turn, 1, event)
        said = [None, None]
        for number in range(2):
            said[number] = await bench.store.steer(first.turn, 1, steering(bench, first.turn), lambda _: None)
        assert said[0].ordinal == 2
        assert said[1] == first.turn


async def test_a_session_that_is_full_takes_no_steering(engine_with: Any) -> None:
    async def eager(turn: Turn) -> str:
        if turn.text != "more":
            await turn.steer("more")
            with pytest.raises(Unavailable, match="Too many messages wait"):
                await turn.steer("more")
        return turn.text

    async with engine_with(Agent("t", eager, steers=True), queue_per_session=1) as bench:
        assert (await bench.ask("go"))["text"] == "more"


def steering(bench: Any, turn: Any) -> Any:
    body = bench.submission("more").body
    return Steering(f"{turn.task_id}:t1:steer:1", body, Event("message", 1), 8)


def test_an_executor_cannot_steer() -> None:
    class Executor:
        async def execute(self, context: Any, event_queue: Any) -> None: ...

        async def cancel(self, context: Any, event_queue: Any) -> None: ...

    with pytest.raises(TypeError, match="does not steer"):
        Agent("t", Executor(), steers=True)
