"""Who hears what."""

import anyio
import pytest

from innkeeper.contract.errors import Unavailable
from innkeeper.ports.events import Committed, State
from innkeeper.turns.bus import TAIL, Bus, Watch

pytestmark = pytest.mark.anyio


class Log:
    """A durable log of one task, as the store would hold it."""

    def __init__(self) -> None:
        self.events: list[Committed] = []
        self.reads = 0
        self.bus = Bus(self.read)

    async def read(self, task_id: str, seq: int, limit: int) -> tuple[Committed, ...]:
        self.reads += 1
        await anyio.lowlevel.checkpoint()
        return tuple(event for event in self.events if event.seq > seq)[:limit]

    def publish(self, count: int, *, last: State | None = None) -> None:
        for number in range(count):
            state = last if number == count - 1 else None
            event = Committed("task", len(self.events) + 1, b"{}", state)
            self.events.append(event)
            self.bus.publish(event)


async def numbers(watch: Watch) -> list[int]:
    return [event.seq async for event in watch]


async def test_a_watch_gets_every_event_once_in_order_and_ends_with_the_settled_state() -> None:
    log = Log()
    watch = log.bus.watch("task")
    log.publish(3, last=State.INPUT_REQUIRED)
    log.publish(1)
    assert await numbers(watch) == [1, 2, 3]
    assert log.bus.open_watches == 0


@pytest.mark.parametrize("count", [TAIL, TAIL + 1, 3 * TAIL + 7])
async def test_a_watch_that_reads_late_misses_nothing(count: int) -> None:
    log = Log()
    watch = log.bus.watch("task")
    log.publish(count, last=State.COMPLETED)
    assert await numbers(watch) == list(range(1, count + 1))
    assert (log.reads > 0) == (count > TAIL)


async def test_a_watch_that_catches_up_while_events_go_on_misses_nothing_and_repeats_nothing() -> None:
    log = Log()
    watch = log.bus.watch("task")
    log.publish(TAIL + 5)
    seen: list[int] = []
    async for event in watch:
        seen.append(event.seq)
        if len(seen) % 100 == 0 and len(log.events) < 4 * TAIL:
            log.publish(TAIL // 2)
        elif len(seen) == len(log.events) and event.state is None:
            log.publish(1, last=State.COMPLETED)
    assert seen == list(range(1, len(log.events) + 1))


async def test_a_watch_of_another_task_hears_nothing() -> None:
    log = Log()
    watch = log.bus.watch("another")
    log.publish(2, last=State.COMPLETED)
    log.bus.end("another")
    assert await numbers(watch) == []


async def test_a_watch_ends_when_its_task_has_no_turn_left_after_it_has_given_what_was_there() -> None:
    log = Log()
    watch = log.bus.watch("task")
    log.publish(2)
    log.bus.end("task")
    assert await numbers(watch) == [1, 2]


async def test_a_lasting_watch_goes_on_while_the_task_waits_and_ends_with_it() -> None:
    log = Log()
    watch = log.bus.watch("task", lasting=True)
    log.publish(2, last=State.INPUT_REQUIRED)
    log.bus.end("task")
    log.publish(2, last=State.COMPLETED)
    assert await numbers(watch) == [1, 2, 3, 4]
    assert log.bus.open_watches == 0


async def test_a_lasting_watch_ends_when_the_host_stops() -> None:
    log = Log()
    watch = log.bus.watch("task", lasting=True)
    log.publish(1, last=State.INPUT_REQUIRED)
    log.bus.close()
    assert await numbers(watch) == [1]


async def test_a_watch_is_resumed_after_any_event_and_goes_on_with_what_is_new() -> None:
    log = Log()
    log.publish(2, last=State.INPUT_REQUIRED)
    log.publish(2)
    watch = log.bus.watch("task")
    watch.resume(1, known=4)
    log.publish(1, last=State.COMPLETED)
    assert await numbers(watch) == [2, 3, 4, 5]
    assert log.bus.open_watches == 0


async def test_a_watch_resumed_at_a_settled_state_ends_with_that() -> None:
    log = Log()
    log.publish(3, last=State.INPUT_REQUIRED)
    watch = log.bus.watch("task")
    watch.resume(1, known=3)
    assert await numbers(watch) == [2, 3]


async def test_a_finished_watch_gives_the_tail_after_its_place_however_long() -> None:
    log = Log()
    log.publish(3000, last=State.COMPLETED)
    for seen in (1, 2999, 3000):
        watch = log.bus.watch("task", lasting=True)
        watch.resume(seen, known=3000)
        watch.finish()
        assert await numbers(watch) == list(range(seen + 1, 3001))
        watch.close()


async def test_events_without_a_body_are_not_for_streams() -> None:
    log = Log()
    watch = log.bus.watch("task")
    log.bus.publish(Committed("task", 1, b"", None))
    log.bus.end("task")
    assert await numbers(watch) == []


async def test_closing_a_watch_twice_is_no_fault() -> None:
    log = Log()
    watch = log.bus.watch("task")
    await watch.aclose()
    watch.close()
    assert log.bus.open_watches == 0


@pytest.mark.parametrize("state", [State.COMPLETED, State.FAILED, State.CANCELED, State.REJECTED, State.AUTH_REQUIRED])
async def test_waiting_for_a_task_to_settle_ends_with_its_settled_state(state: State) -> None:
    log = Log()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(log.bus.until_settled, "task")
            await anyio.wait_all_tasks_blocked()
            log.publish(1, last=state)


async def test_waiting_ends_when_no_turn_is_left_although_nothing_settled() -> None:
    log = Log()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(log.bus.until_settled, "task")
            await anyio.wait_all_tasks_blocked()
            log.bus.end("task")


async def test_a_stopping_host_ends_watches_and_refuses_those_who_wait() -> None:
    log = Log()
    watch = log.bus.watch("task")
    refused: list[str] = []

    async def wait() -> None:
        with pytest.raises(Unavailable) as caught:
            await log.bus.until_settled("task")
        refused.append(caught.value.message)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            log.bus.close()
    assert len(refused) == 1
    assert await numbers(watch) == []


async def test_a_waiter_that_goes_away_leaves_nothing_behind() -> None:
    log = Log()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(log.bus.until_settled, "task")
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    log.publish(1, last=State.COMPLETED)
    assert not log.bus._waiters


async def test_events_without_a_body_are_passed_over_in_the_log_too() -> None:
    log = Log()
    watch = log.bus.watch("task")
    log.publish(TAIL + 1)
    log.events[3:3] = [Committed("task", 0, b"", None)] * (2 * TAIL)
    log.events[:] = [Committed("task", number, event.body, event.state) for number, event in enumerate(log.events, 1)]
    log.publish(1, last=State.COMPLETED)
    bodies = [event async for event in watch]
    assert len(bodies) == TAIL + 2
    assert all(event.body for event in bodies)


async def test_who_comes_after_the_host_has_stopped_does_not_wait() -> None:
    log = Log()
    log.bus.close()
    with pytest.raises(Unavailable):
        await log.bus.until_settled("task")
    assert await numbers(log.bus.watch("task")) == []
