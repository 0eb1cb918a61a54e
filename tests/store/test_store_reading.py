"""Reading tasks and histories: an owner's own, of one moment, in one order."""

import asyncio
import itertools
import threading

import pytest

from innkeeper.ports.events import State
from innkeeper.ports.store import TaskQuery
from innkeeper.store import views

pytestmark = pytest.mark.anyio


@pytest.fixture
def own(house):
    return house.store.own_tasks("hello", "alice")


@pytest.mark.parametrize(("tenant", "caller"), [("hello", "bob"), ("goodbye", "alice"), ("", "")])
async def test_nobody_sees_the_tasks_of_another(house, tenant, caller):
    await house.admit()
    others = house.store.own_tasks(tenant, caller)
    assert await others.find("task-1") is None
    assert await others.list(TaskQuery()) == await others.list(TaskQuery(context_id="context-1"))
    page = await others.list(TaskQuery())
    assert (page.tasks, page.more, page.total) == ((), False, 0)


async def test_a_task_that_is_not_there_is_none(own):
    assert await own.find("nowhere") is None


async def test_a_read_sees_one_moment_whatever_is_written_meanwhile(house):
    entered, leave = threading.Event(), threading.Event()

    def count_twice(connection):
        (before,) = connection.execute("SELECT count(*) FROM tasks").fetchone()
        entered.set()
        assert leave.wait(timeout=30)
        return before, connection.execute("SELECT count(*) FROM tasks").fetchone()[0]

    reading = asyncio.ensure_future(house.store._readers.read(count_twice))
    await asyncio.to_thread(entered.wait)
    await house.admit()
    leave.set()
    assert await reading == (0, 0)
    assert len((await house.store.own_tasks("hello", "alice").list(TaskQuery())).tasks) == 1


async def test_reads_do_not_wait_for_each_other(house, own):
    entered, leave = threading.Event(), threading.Event()

    def slow(connection):
        entered.set()
        assert leave.wait(timeout=30)

    reading = asyncio.ensure_future(house.store._readers.read(slow))
    await asyncio.to_thread(entered.wait)
    for _ in range(10):
        assert await own.find("nowhere") is None
    leave.set()
    await reading


# --- one task


async def conversation(house):
    """A user's message, two remarks, an answer that waits for more, and the next message."""
    turn = await house.running()
    await house.store.append(turn, 1, house.status(State.WORKING, "one"))
    await house.store.append(turn, 1, house.status(State.WORKING, "two"))
    await house.complete(turn, state=State.INPUT_REQUIRED, says="what?")
    return turn


async def test_the_message_that_the_status_carries_is_not_in_the_history_until_the_next(house, own):
    turn = await conversation(house)
    assert (await own.find(turn.task_id)).history == (b"user 1", b"agent one", b"agent two")
    second = await house.turn(task_id=turn.task_id)
    said = (b"user 1", b"agent one", b"agent two", second.message)
    assert (await own.find(turn.task_id)).history == said  # the question is still the status
    await house.store.claim(second, "host")
    await house.store.begin(second, 1, house.status(State.WORKING))
    assert (await own.find(turn.task_id)).history == (*said[:3], b"agent what?", said[3])


async def test_a_message_id_that_the_caller_chose_hides_nothing(house, own):
    turn = await house.running(message_id="same")
    await house.store.append(turn, 1, house.status(State.WORKING, "same"))
    assert (await own.find(turn.task_id)).history == (b"user 1",)


@pytest.mark.parametrize(
    ("length", "history"),
    [
        (0, ()),
        (1, (b"agent two",)),
        (2, (b"agent one", b"agent two")),
        (9, (b"user 1", b"agent one", b"agent two")),
        (None, (b"user 1", b"agent one", b"agent two")),
    ],
)
async def test_the_last_messages_are_read(house, own, length, history):
    turn = await conversation(house)
    assert (await own.find(turn.task_id, history_length=length)).history == history
    (listed,) = (await own.list(TaskQuery(history_length=length))).tasks
    assert listed.history == history


async def test_an_event_without_a_message_adds_nothing_to_the_history(house, own):
    turn = await house.running()
    await house.store.append(turn, 1, house.piece("x"))
    await house.store.append(turn, 1, house.status(State.WORKING))
    assert (await own.find(turn.task_id)).history == (b"user 1",)


async def test_artifacts_are_what_was_folded_and_the_pieces_since(house, own):
    turn = await house.running()
    for text in ("a", "b"):
        await house.store.append(turn, 1, house.piece(text))
    await house.store.append(turn, 1, house.status(State.WORKING))
    view = await own.find(turn.task_id)
    assert (view.artifacts, view.pieces) == (b"[]", (b"a", b"b"))

    await house.complete(turn, state=State.WORKING, artifacts=b"[a, b]")
    view = await own.find(turn.task_id)
    assert (view.artifacts, view.pieces) == (b"[a, b]", ())

    second = await house.running(task_id=turn.task_id)
    await house.store.append(second, 1, house.piece("c"))
    view = await own.find(turn.task_id)
    assert (view.artifacts, view.pieces) == (b"[a, b]", (b"c",))
    (listed,) = (await own.list(TaskQuery(artifacts=True))).tasks
    assert listed.pieces == (b"c",)

    await house.complete(second)  # leaves them as they are
    view = await own.find(turn.task_id)
    assert (view.artifacts, view.pieces) == (b"[a, b]", (b"c",))
    await house.running(task_id=(await house.admit()).task.id)
    assert (await own.find(turn.task_id, artifacts=False)).pieces == ()


async def test_the_artifacts_of_a_task_are_folded_once_more(house, own):
    turn = await house.running()
    await house.complete(turn, state=State.WORKING, artifacts=b"[1]")
    second = await house.running(task_id=turn.task_id)
    await house.complete(second, artifacts=b"[1, 2]")
    assert (await own.find(turn.task_id)).artifacts == b"[1, 2]"


# --- lists


async def many(house):
    """Tasks t0 to t9: states and status times repeat, contexts alternate. As [(time, id, state, context)]."""
    tasks = []
    states = [State.WORKING, State.COMPLETED, State.FAILED, State.INPUT_REQUIRED]
    for n in range(10):
        turn = await house.running(new_task_id=f"t{n}", context_id=f"c{n % 2}")
        state, at_us = states[n % 4], 1000 + n // 3
        event = house.status(state, at_us=at_us)
        await house.store.append(turn, 1, event)
        await house.store.release(turn, count_attempt=True)
        tasks.append((at_us, f"t{n}", state, f"c{n % 2}"))
    await house.admit(tenant="goodbye", context_id="c0")
    return sorted(tasks, reverse=True)


FILTERS = [
    {name: value for name, value in zip(("context_id", "state", "status_since_us"), values, strict=True) if value}
    for values in itertools.product((None, "c1", "none"), (None, State.COMPLETED, State.CANCELED), (None, 1001, 9999))
]


@pytest.mark.parametrize("filters", FILTERS, ids=str)
@pytest.mark.parametrize("limit", [1, 3, 50])
async def test_pages_cover_all_that_fits_once_newest_status_first(house, own, filters, limit):
    expected = [
        (at_us, task_id)
        for at_us, task_id, state, context in await many(house)
        if context == filters.get("context_id", context)
        and state == filters.get("state", state)
        and at_us >= filters.get("status_since_us", 0)
    ]
    seen, after, more = [], None, True
    while more:
        page = await own.list(TaskQuery(**filters, after=after, limit=limit))
        assert page.total == len(expected)
        assert len(page.tasks) == min(limit, len(expected) - len(seen))
        seen += [(view.task.status_at_us, view.task.id) for view in page.tasks]
        after, more = seen[-1] if seen else None, page.more
        assert more == (len(seen) < len(expected))
    assert seen == expected


async def test_a_list_shows_each_task_as_finding_it_does(house, own):
    await many(house)
    page = await own.list(TaskQuery(history_length=None, artifacts=True))
    assert len(page.tasks) == 10
    assert page.tasks == tuple([await own.find(view.task.id) for view in page.tasks])


async def test_totals_follow_the_states(house, own):
    turn = await house.turn()
    await house.admit()

    async def totals():
        return [(await own.list(TaskQuery(state=state))).total for state in (State.SUBMITTED, State.COMPLETED, None)]

    assert await totals() == [2, 0, 2]
    await house.store.claim(turn, "host")
    await house.complete(turn)
    assert await totals() == [1, 1, 2]


BY_STATE = "SEARCH tasks USING COVERING INDEX tasks_by_state"


@pytest.mark.parametrize(
    ("sql", "plan"),
    [
        (
            views._POSITIONS,
            f"{BY_STATE} (owner=? AND state=? AND status_at_us>? AND (status_at_us,id)<(?,?))",
        ),
        (views._COUNT, f"{BY_STATE} (owner=? AND state=? AND status_at_us>?)"),
        (views._COUNTED, "SEARCH task_counts USING PRIMARY KEY (owner=? AND state=?)"),
        (views._IN_CONTEXT, "SEARCH tasks USING INDEX tasks_by_context (owner=? AND context_id=?)"),
        ("SELECT * FROM unfinished_turns ORDER BY id", "SCAN r USING INDEX turns_unfinished"),
    ],
)
async def test_what_is_read_often_reads_no_more_than_it_shows(house, sql, plan):
    steps = [row[3] for row in house.rows(f"EXPLAIN QUERY PLAN {sql}", *("1" * sql.count("?")))]
    assert steps[0] == plan
    assert [step for step in steps[1:] if step.startswith("SCAN") and "json_each" not in step] == []


# --- sessions


async def test_a_session_is_read_turn_by_turn_up_to_the_turn_that_is_heard(house):
    first = await house.running(context_id="c")
    second = await house.turn(context_id="c")
    third = await house.turn(task_id=first.task_id)
    await house.admit(context_id="another")
    await house.complete(first, state=State.WORKING, says="reply to the first")

    async def history(turn, limit=None):
        return [body for body, _ in await house.store.history("session-1", until_turn=turn.id, limit=limit)]

    one = [first.message, b"agent reply to the first"]
    assert await history(first) == one
    assert await history(second) == [*one, second.message]
    assert await history(third) == [*one, second.message, third.message]
    assert await history(third, 2) == [second.message, third.message]
    assert await history(third, 0) == []


async def test_messages_come_with_their_times(house):
    turn = await house.turn()
    assert await house.store.history("session-1", until_turn=turn.id, limit=None) == ((b"user 1", 1),)


async def test_what_was_canceled_stays_in_the_history(house, own):
    turn = await house.turn(context_id="c")
    await own.cancel(turn.task_id, house.status(State.CANCELED))
    later = await house.turn(context_id="c")
    assert len(await house.store.history("session-1", until_turn=later.id, limit=None)) == 2


async def test_a_session_that_is_not_there_has_no_history(house):
    assert await house.store.history("nowhere", until_turn=9, limit=None) == ()
