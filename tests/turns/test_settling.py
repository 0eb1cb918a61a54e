"""A status that settles ends the turn, whatever the executor does afterwards."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import anyio
import pytest
from a2a.server.tasks import TaskUpdater
from a2a.types import a2a_pb2

from innkeeper import Agent

pytestmark = pytest.mark.anyio

STATES = {
    "completed": a2a_pb2.TASK_STATE_COMPLETED,
    "rejected": a2a_pb2.TASK_STATE_REJECTED,
    "input-required": a2a_pb2.TASK_STATE_INPUT_REQUIRED,
}


class Settles:
    """An executor that puts out a status and goes on with ``after``; it notes how that ended."""

    def __init__(self, state: str, after: Callable[[Any, TaskUpdater], Awaitable[None]]) -> None:
        self.ends: list[str] = []
        self.canceled = 0
        self.over = asyncio.Semaphore(0)
        self._state = state
        self._after = after

    async def execute(self, context: Any, event_queue: Any) -> None:
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await updater.update_status(STATES[self._state], updater.new_agent_message([a2a_pb2.Part(text="so")]))
        try:
            await self._after(event_queue, updater)
            self.ends.append("returned")
        except BaseException as error:
            self.ends.append(type(error).__name__)
            raise
        finally:
            self.over.release()

    async def cancel(self, context: Any, event_queue: Any) -> None:
        self.canceled += 1


async def lingers(*_: Any) -> None:
    await asyncio.Event().wait()


async def tidies_up(*_: Any) -> None:
    await asyncio.sleep(0.01)


async def raises(*_: Any) -> None:
    raise LookupError("broken")


async def speaks_on(queue: Any, _: TaskUpdater) -> None:
    while True:
        await queue.enqueue_event(a2a_pb2.TaskStatusUpdateEvent(status=a2a_pb2.TaskStatus(state=2)))


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize(
    ("after", "end"),
    [
        (lingers, "CancelledError"),
        (speaks_on, "CancelledError"),
        (tidies_up, "returned"),
        (raises, "LookupError"),
    ],
)
async def test_the_turn_ends_with_its_status_and_what_is_left_is_canceled_once(
    engine_with: Any, state: str, after: Any, end: str
) -> None:
    executor = Settles(state, after)
    async with engine_with(Agent("t", executor), turn_timeout=timedelta(hours=1)) as bench:
        with anyio.fail_after(10):
            for _ in range(2):  # the session goes on once the grace is over
                task = await bench.ask("hi", context_id="c")
                assert (task["state"], task["text"]) == (state, "so")
            for _ in range(2):
                await executor.over.acquire()
        assert (executor.ends, executor.canceled, bench.strays.count) == ([end, end], 0, 0)


async def test_an_executor_that_ignores_its_cancel_after_the_final_status_is_left_behind(engine_with: Any) -> None:
    released = asyncio.Event()

    async def stays(*_: Any) -> None:
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue

    async with engine_with(Agent("t", Settles("completed", stays))) as bench:
        with anyio.fail_after(10):
            assert (await bench.ask("1", context_id="c"))["state"] == "completed"
            assert (await bench.ask("2", context_id="c"))["state"] == "completed"
            assert bench.strays.count >= 1
            released.set()


async def test_a_question_is_answered_in_a_turn_of_its_own_although_its_asker_lingers(engine_with: Any) -> None:
    executor = Settles("input-required", lingers)
    async with engine_with(Agent("t", executor)) as bench:
        with anyio.fail_after(10):
            asked = await bench.ask("hi", context_id="c")
            answered = await bench.say("yes", context_id="c", task_id=asked["id"])
            assert answered.task.id == asked["id"]
            for _ in range(2):
                await executor.over.acquire()
            assert (await bench.settled(answered))["state"] == "input-required"


@pytest.mark.parametrize("after", [lingers, speaks_on])
async def test_a_stop_of_the_host_does_not_wait_for_what_is_left(engine_with: Any, after: Any) -> None:
    async with engine_with(Agent("t", Settles("completed", after))) as bench:
        with anyio.fail_after(10):
            task = await bench.say("hi")
            await bench.engine.until_settled(task.task.id)
            await bench.engine.stop(timedelta(0), asyncio.Event())
            assert (await bench.task(task.task.id))["state"] == "completed"
