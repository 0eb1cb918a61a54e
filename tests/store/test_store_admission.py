"""Accepting a message: once, in the right place, and all of it or nothing."""

from dataclasses import replace

import pytest

from innkeeper.contract.caller import Caller
from innkeeper.contract.errors import InvalidParams, TaskNotFound, Unavailable, UnsupportedOperation
from innkeeper.ports.events import TERMINAL, Committed, Event, State
from innkeeper.ports.store import Admitted, TaskRecord, TurnRecord

pytestmark = pytest.mark.anyio

BOB = Caller("bob")


async def test_a_new_task_is_stored_with_its_message_its_turn_and_its_event(house):
    told = []
    admission = house.admission(metadata={"depth": [1, {"x": None}]})
    admitted = await house.store.admit(admission, told.append)
    assert admitted == Admitted(
        TaskRecord("task-1", "hello", "alice", "session-1", "context-1", State.SUBMITTED, b"submitted", 1, 1),
        TurnRecord(
            id=1,
            tenant="hello",
            caller=Caller("alice", "Alice", "person", 7),
            session_id="session-1",
            task_id="task-1",
            context_id="context-1",
            ordinal=1,
            message=b"user 1",
            message_at_us=1,
            metadata={"depth": [1, {"x": None}]},
        ),
    )
    assert told == [admitted]
    assert house.events == [Committed("task-1", 1, b"opens task-1", State.SUBMITTED)]
    assert await house.store.unfinished() == (admitted.turn,)
    view = await house.store.own_tasks("hello", "alice").find("task-1")
    assert (view.task, view.history, view.artifacts, view.pieces) == (admitted.task, (b"user 1",), b"[]", ())


async def test_a_message_to_a_task_is_its_next_turn(house):
    first = await house.turn()
    accepted = Event("message", 9)
    admitted = await house.admit(task_id=first.task_id, accepted=accepted)
    turn = admitted.turn
    assert (turn.task_id, turn.session_id, turn.context_id, turn.ordinal) == ("task-1", "session-1", "context-1", 2)
    assert turn.id > first.id
    assert (admitted.task.state, admitted.task.status, admitted.task.seq) == (State.SUBMITTED, b"submitted", 2)
    assert house.events[-1] == Committed("task-1", 2, b"", None)


async def test_an_accepted_message_may_change_the_status(house):
    turn = await house.running()
    assert await house.complete(turn, state=State.INPUT_REQUIRED, says="what?")
    admitted = await house.admit(task_id=turn.task_id, accepted=house.status(State.SUBMITTED))
    assert (admitted.task.state, admitted.task.status) == (State.SUBMITTED, b"submitted")


@pytest.mark.parametrize(
    ("named", "scope_is_context", "context", "session"),
    [
        (None, True, "context-2", "session-2"),
        ("context-1", True, "context-1", "session-1"),
        ("a name of the caller's", True, "a name of the caller's", "session-2"),
        (None, False, "context-2", "session-2"),
    ],
)
async def test_a_context_has_one_session(house, named, scope_is_context, context, session):
    await house.admit()
    admitted = await house.admit(context_id=named, session_per_context=scope_is_context)
    assert (admitted.task.context_id, admitted.task.session_id) == (context, session)


async def test_a_session_per_caller_spans_contexts_and_keeps_them(house):
    one = await house.admit(session_per_context=False)
    two = await house.admit(session_per_context=False, context_id="other")
    assert one.task.session_id == two.task.session_id == "session-1"
    assert (one.task.context_id, two.task.context_id) == ("context-1", "other")


@pytest.mark.parametrize("other", [{"caller": BOB}, {"tenant": "goodbye"}])
async def test_the_same_context_id_of_another_owner_is_another_session(house, other):
    await house.admit(context_id="shared")
    admitted = await house.admit(context_id="shared", **other)
    assert admitted.task.session_id == "session-2"


async def test_the_same_message_again_answers_its_task_and_writes_nothing(house):
    admission = house.admission()
    first = await house.store.admit(admission, lambda _: None)
    again = replace(admission, new_task_id="unused", new_context_id="unused", new_session_id="unused")
    before, events = house.dump(), list(house.events)
    assert await house.store.admit(again, lambda _: None) == Admitted(first.task, None)
    assert (house.dump(), house.events) == (before, events)


async def test_the_same_message_again_answers_its_task_even_when_that_has_ended(house):
    turn = await house.running(message_id="m")
    await house.complete(turn)
    again = await house.admit(message_id="m", task_id=turn.task_id)
    assert (again.task.state, again.turn) == (State.COMPLETED, None)


async def test_a_message_id_is_not_used_for_another_message(house):
    await house.admit(message_id="m")
    before = house.dump()
    with pytest.raises(InvalidParams, match=r"messageId: m was used"):
        await house.admit(message_id="m", digest=b"another")
    assert house.dump() == before


@pytest.mark.parametrize("other", [{"caller": BOB}, {"tenant": "goodbye"}])
async def test_message_ids_of_another_owner_do_not_count(house, other):
    await house.admit(message_id="m")
    assert (await house.admit(message_id="m", digest=b"another", **other)).turn is not None


async def test_without_idempotence_every_send_is_a_new_message(house):
    first = await house.admit(message_id="m", idempotent=False)
    second = await house.admit(message_id="m", idempotent=False, digest=b"another")
    third = await house.admit(message_id="m", idempotent=False, task_id=second.task.id)
    assert [admitted.turn.ordinal for admitted in (first, second, third)] == [1, 1, 2]


@pytest.mark.parametrize(
    "other",
    [{"task_id": "nowhere"}, {"caller": BOB}, {"tenant": "goodbye"}, {"caller": BOB, "context_id": "context-1"}],
)
async def test_a_task_that_is_not_the_callers_is_not_found(house, other):
    await house.admit()
    before = house.dump()
    with pytest.raises(TaskNotFound):
        await house.admit(**{"task_id": "task-1", **other})
    assert house.dump() == before


@pytest.mark.parametrize("state", sorted(TERMINAL))
async def test_a_task_that_has_ended_takes_no_message(house, state):
    turn = await house.running()
    await house.complete(turn, state=state)
    before = house.dump()
    with pytest.raises(UnsupportedOperation, match="task-1 has ended"):
        await house.admit(task_id=turn.task_id)
    assert house.dump() == before


@pytest.mark.parametrize("state", [State.INPUT_REQUIRED, State.AUTH_REQUIRED, State.WORKING])
async def test_a_task_that_has_not_ended_takes_messages(house, state):
    turn = await house.running()
    await house.complete(turn, state=state)
    assert (await house.admit(task_id=turn.task_id, context_id=turn.context_id)).turn.ordinal == 2


async def test_a_context_that_contradicts_the_task_is_refused_by_name(house):
    await house.admit()
    before = house.dump()
    with pytest.raises(InvalidParams, match=r"contextId: task task-1 does not belong to context elsewhere"):
        await house.admit(task_id="task-1", context_id="elsewhere")
    assert house.dump() == before


@pytest.mark.parametrize(
    ("then", "error"),
    [
        ({"message_id": "m", "digest": b"x", "task_id": "nowhere"}, InvalidParams),
        ({"task_id": "nowhere", "context_id": "elsewhere"}, TaskNotFound),
        ({"task_id": "ended", "context_id": "elsewhere"}, UnsupportedOperation),
        ({"task_id": "task-1", "context_id": "elsewhere", "queue_per_session": 0}, InvalidParams),
    ],
)
async def test_refusals_have_an_order(house, then, error):
    await house.admit(message_id="m")
    await house.complete(await house.running(new_task_id="ended"))
    with pytest.raises(error):
        await house.admit(**then)


async def test_only_so_many_turns_of_a_session_wait(house):
    claimed = await house.turn(queue_per_session=2)
    await house.store.claim(claimed, "host")
    for _ in range(2):
        await house.admit(task_id="task-1", queue_per_session=2)
    before = house.dump()
    with pytest.raises(Unavailable, match="Too many messages wait"):
        await house.admit(context_id="context-1", queue_per_session=2)
    assert house.dump() == before
    await house.admit(queue_per_session=1)  # another session has room
    await house.complete(claimed, state=State.WORKING)
    with pytest.raises(Unavailable):
        await house.admit(context_id="context-1", queue_per_session=2)  # the end of a running turn makes no room
    await house.admit(context_id="context-1", queue_per_session=3)


async def test_an_event_that_cannot_be_encoded_leaves_nothing_behind(house):
    def submitted(task, context):
        raise ValueError("no such encoding")

    before = house.dump()
    with pytest.raises(ValueError, match="no such encoding"):
        await house.admit(submitted=submitted)
    assert house.dump() == before


async def test_a_message_that_does_not_fit_the_disk_is_refused_and_the_host_lives_on(house):
    def fill(connection):
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages + 2}")

    await house.store._writer._connection.run(fill)
    with pytest.raises(Unavailable, match="cannot store"):
        await house.admit(message=b"x" * 100_000)
    assert (await house.admit()).turn is not None
