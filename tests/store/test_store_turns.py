"""What a turn may write, when, and what nobody may write any more."""

import sqlite3
from contextlib import closing

import pytest

from innkeeper.contract.errors import TaskNotCancelable, TaskNotFound
from innkeeper.ports.events import TERMINAL, Committed, State
from innkeeper.ports.store import Ending

pytestmark = pytest.mark.anyio


def turn_row(house, turn):
    """State, attempt, gated and holder of a turn."""
    return house.rows("SELECT state, attempt, gated, holder FROM turns WHERE id = ?", turn.id)[0]


async def queued(house):
    return await house.turn()


async def claimed(house):
    turn = await house.turn()
    await house.store.claim(turn, "host")
    return turn


async def running(house):
    return await house.running()


async def ended(house):
    turn = await house.running()
    await house.complete(turn, state=State.WORKING)
    return turn


async def withdrawn(house):
    turn = await house.running()
    await house.store.own_tasks("hello", "alice").cancel(turn.task_id, house.status(State.CANCELED))
    return turn


STEPS = {
    "claim": lambda house, turn, attempt: house.store.claim(turn, "other"),
    "start": lambda house, turn, attempt: house.store.start(turn, "other", house.status(State.WORKING)),
    "begin": lambda house, turn, attempt: house.store.begin(turn, attempt, house.status(State.WORKING)),
    "append": lambda house, turn, attempt: house.store.append(turn, attempt, house.piece("x")),
    "append status": lambda house, turn, attempt: house.store.append(turn, attempt, house.status(State.WORKING, "hm")),
    "end": lambda house, turn, attempt: house.store.end(turn, attempt, house.ending(says="bye", artifacts=b"[1]")),
    "end silently": lambda house, turn, attempt: house.store.end(turn, attempt, Ending(lambda _: None, b"[1]")),
}
ALLOWED = {
    queued: {"claim", "start"},
    claimed: {"begin", "append", "append status", "end", "end silently"},
    running: {"append", "append status", "end", "end silently"},
    ended: set(),
    withdrawn: set(),
}


async def test_a_start_is_a_claim_and_a_begin(house):
    one, other = await house.turn(), await house.turn()
    assert await house.store.start(one, "host", house.status(State.WORKING))
    assert await house.store.claim(other, "host")
    assert await house.store.begin(other, 1, house.status(State.WORKING))
    assert turn_row(house, one) == turn_row(house, other) == ("running", 1, 1, "host")


@pytest.mark.parametrize("state", list(ALLOWED))
@pytest.mark.parametrize("step", list(STEPS))
async def test_a_step_is_taken_in_its_states_only_and_else_writes_nothing(house, state, step):
    turn = await state(house)
    before, events = house.dump(), list(house.events)
    taken = bool(await STEPS[step](house, turn, 1))
    assert taken is (step in ALLOWED[state])
    assert (house.dump() != before) is taken
    if not taken:
        assert house.events == events


@pytest.mark.parametrize(
    ("state", "step"), [(s, step) for s, steps in ALLOWED.items() for step in steps - {"claim", "start"}]
)
@pytest.mark.parametrize("attempt", [0, 2])
async def test_another_attempt_than_the_current_one_writes_nothing(house, state, step, attempt):
    turn = await state(house)
    before = house.dump()
    assert not await STEPS[step](house, turn, attempt)
    assert house.dump() == before


@pytest.mark.parametrize("state", [claimed, running])
@pytest.mark.parametrize("step", ["begin", "append", "append status", "end"])
async def test_a_task_that_has_ended_takes_no_event_even_of_a_turn_that_goes_on(house, state, step):
    turn = await state(house)
    with closing(sqlite3.connect(house.data_dir / "innkeeper.db")) as other:
        other.execute("UPDATE tasks SET state = 'completed'")  # no step of the store leaves a turn behind like this
        other.commit()
    before = house.dump()
    assert not await STEPS[step](house, turn, 1)
    assert house.dump() == before


async def test_a_claim_begins_an_attempt_for_its_holder(house):
    turn = await claimed(house)
    assert turn_row(house, turn) == ("claimed", 1, 0, "host")
    assert [(turn.attempt, turn.running) for turn in await house.store.unfinished()] == [(1, False)]


async def test_a_turn_that_begins_is_gated_and_tells(house):
    turn = await claimed(house)
    assert await house.store.begin(turn, 1, house.status(State.WORKING))
    assert turn_row(house, turn) == ("running", 1, 1, "host")
    assert house.events[-1] == Committed("task-1", 2, b"is working", State.WORKING)
    assert [turn.running for turn in await house.store.unfinished()] == [True]


async def test_a_queued_turn_that_nobody_will_run_again_can_be_ended(house):
    turn = await running(house)
    await house.store.release(turn, count_attempt=True)
    assert await house.complete(turn, state=State.FAILED)
    assert await house.store.unfinished() == ()


@pytest.mark.parametrize("state", [claimed, running])
@pytest.mark.parametrize("count", [True, False])
async def test_a_released_turn_waits_again_with_its_gates_passed(house, state, count):
    turn = await state(house)
    assert await house.store.release(turn, count_attempt=count) is None
    assert turn_row(house, turn) == ("queued", int(count), int(state is running), "")
    assert not await house.store.append(turn, 1, house.piece("late"))
    assert await house.store.claim(turn, "other")
    assert turn_row(house, turn) == ("claimed", 1 + count, int(state is running), "other")


@pytest.mark.parametrize("state", [queued, ended, withdrawn])
async def test_a_turn_that_nobody_holds_is_not_released(house, state):
    turn = await state(house)
    before = house.dump()
    await house.store.release(turn, count_attempt=False)
    assert house.dump() == before


async def test_events_are_numbered_per_task_without_gaps(house):
    one, two = await running(house), await running(house)
    for turn in (one, two, one):
        assert await house.store.append(turn, 1, house.piece("x"))
        assert not await house.store.append(turn, 2, house.piece("fenced"))
    await house.complete(one)
    for turn, numbers in ((one, [1, 2, 3, 4, 5]), (two, [1, 2, 3])):
        assert [event.seq for event in house.events if event.task_id == turn.task_id] == numbers
        stored = await house.store.events_after(turn.task_id, 0, 100)
        assert stored == tuple(event for event in house.events if event.task_id == turn.task_id)


async def test_events_are_read_after_a_number_and_up_to_a_limit(house):
    turn = await running(house)
    assert [event.seq for event in await house.store.events_after(turn.task_id, 1, 5)] == [2]
    assert [event.seq for event in await house.store.events_after(turn.task_id, 0, 1)] == [1]
    assert await house.store.events_after(turn.task_id, 2, 5) == ()
    assert await house.store.events_after("nowhere", 0, 5) == ()


async def test_a_turn_that_ends_hears_whether_another_waits(house):
    first = await running(house)
    second = await house.turn(task_id=first.task_id)
    await house.turn()  # of another task: does not count
    heard = []

    def event(more):
        heard.append(more)

    assert await house.store.end(first, 1, Ending(event))
    assert await house.store.claim(second, "host")
    assert await house.store.end(second, 1, Ending(event))
    assert heard == [True, False]
    assert len([event for event in house.events if event.task_id == first.task_id]) == 3


@pytest.mark.parametrize("state", sorted(TERMINAL))
async def test_an_end_that_ends_the_task_withdraws_what_waits(house, state):
    first = await running(house)
    second = await house.turn(task_id=first.task_id)
    assert await house.complete(first, state=state)
    assert turn_row(house, first)[0] == "ended"
    assert turn_row(house, second)[0] == "withdrawn"
    assert not await house.store.claim(second, "host")


async def test_cancel_ends_the_task_and_withdraws_every_turn(house):
    turns = [await running(house)]
    turns += [await house.turn(task_id=turns[0].task_id) for _ in range(2)]
    await house.store.claim(turns[1], "host")
    record = await house.store.own_tasks("hello", "alice").cancel("task-1", house.status(State.CANCELED, at_us=99))
    assert (record.state, record.status, record.status_at_us, record.seq) == (State.CANCELED, b"canceled", 99, 5)
    assert house.events[-1] == Committed("task-1", 5, b"is canceled", State.CANCELED)
    assert {turn_row(house, turn)[0] for turn in turns} == {"withdrawn"}
    assert await house.store.unfinished() == ()


async def test_cancel_twice_gives_the_same_task(house):
    await running(house)
    own = house.store.own_tasks("hello", "alice")
    first = await own.cancel("task-1", house.status(State.CANCELED))
    before, events = house.dump(), list(house.events)
    assert await own.cancel("task-1", house.status(State.CANCELED)) == first
    assert (house.dump(), house.events) == (before, events)


@pytest.mark.parametrize("state", sorted(TERMINAL - {State.CANCELED}))
async def test_a_task_that_ended_otherwise_is_not_canceled(house, state):
    turn = await running(house)
    await house.complete(turn, state=state)
    before = house.dump()
    with pytest.raises(TaskNotCancelable, match=f"task-1 is {state}"):
        await house.store.own_tasks("hello", "alice").cancel("task-1", house.status(State.CANCELED))
    assert house.dump() == before


@pytest.mark.parametrize(("tenant", "caller"), [("hello", "bob"), ("goodbye", "alice")])
async def test_the_task_of_another_is_not_canceled(house, tenant, caller):
    await running(house)
    before = house.dump()
    with pytest.raises(TaskNotFound):
        await house.store.own_tasks(tenant, caller).cancel("task-1", house.status(State.CANCELED))
    assert house.dump() == before


@pytest.mark.parametrize("cancel_first", [True, False])
async def test_of_a_cancel_and_an_end_in_one_batch_the_first_wins(house, cancel_first):
    turn = await running(house)
    own = house.store.own_tasks("hello", "alice")
    steps = [
        lambda: own.cancel("task-1", house.status(State.CANCELED)),
        lambda: house.store.end(turn, 1, house.ending()),
    ]
    ordered = steps if cancel_first else steps[::-1]
    futures = [step() for step in ordered]
    if cancel_first:
        assert (await futures[0]).state is State.CANCELED
        assert await futures[1] is False
    else:
        assert await futures[0] is True
        with pytest.raises(TaskNotCancelable):
            await futures[1]
    view = await own.find("task-1")
    assert view.task.state is (State.CANCELED if cancel_first else State.COMPLETED)
    assert view.task.seq == 3


async def test_unfinished_turns_are_read_in_the_order_of_acceptance(house):
    first = await house.turn(metadata={"a": {"b": 1}})
    second = await house.turn(task_id=first.task_id)
    third = await house.turn(tenant="goodbye")
    done = await house.running()
    await house.complete(done)
    assert await house.store.unfinished() == (first, second, third)


async def test_a_rerun_says_again_what_it_had_said_and_history_has_it_once(house):
    turn = await running(house)
    await house.store.append(turn, 1, house.status(State.WORKING, "half"))
    await house.store.release(turn, count_attempt=True)
    await house.store.claim(turn, "host")
    await house.store.begin(turn, 2, house.status(State.WORKING))
    await house.store.append(turn, 2, house.status(State.WORKING, "half"))
    await house.store.end(turn, 2, house.ending(says="done"))
    history = await house.store.history(turn.session_id, until_turn=turn.id, limit=None)
    assert [body for body, _ in history] == [b"user 1", b"agent half", b"agent done"]
