"""Whose turn it is."""

from collections.abc import Iterable

from innkeeper.contract.caller import Caller
from innkeeper.ports.store import TurnRecord
from innkeeper.turns.lanes import Lanes


def turn(turn_id: int, session: str, *, tenant: str = "t", caller: str = "alice", task: str = "") -> TurnRecord:
    return TurnRecord(
        id=turn_id,
        tenant=tenant,
        caller=Caller(caller),
        session_id=session,
        task_id=task or f"task-{turn_id}",
        context_id="c",
        ordinal=1,
        message=b"{}",
        message_at_us=0,
        metadata={},
    )


def lanes(*turns: TurnRecord, limit: int = 10, tenant_limit: int = 10) -> Lanes:
    made = Lanes(limit, lambda _: tenant_limit)
    for each in turns:
        made.push(each)
    return made


def taken(from_lanes: Lanes) -> list[int]:
    return [each.id for each in iter(from_lanes.take, None)]


def free(from_lanes: Lanes, turns: Iterable[TurnRecord]) -> None:
    for each in turns:
        from_lanes.free(each)


def test_a_session_has_one_turn_out_and_the_others_wait_in_the_order_of_acceptance() -> None:
    first, second, third = (turn(number, "s") for number in (1, 2, 3))
    made = lanes(first, second, third)
    assert taken(made) == [1]
    made.free(first)
    assert taken(made) == [2]
    made.free(second)
    assert taken(made) == [3]


def test_sessions_run_side_by_side_up_to_the_limit_of_the_host() -> None:
    made = lanes(turn(1, "a"), turn(2, "b"), turn(3, "c"), limit=2)
    assert taken(made) == [1, 2]
    made.free(turn(1, "a"))
    assert taken(made) == [3]


def test_a_tenant_at_its_limit_leaves_the_places_to_others() -> None:
    made = lanes(
        turn(1, "a", tenant="busy"), turn(2, "b", tenant="busy"), turn(3, "c", tenant="calm"), limit=10, tenant_limit=1
    )
    assert taken(made) == [1, 3]


def test_a_flood_of_one_caller_does_not_make_another_wait_behind_it() -> None:
    flood = [turn(number, f"flood-{number}", caller="flood") for number in range(1, 6)]
    made = lanes(*flood, turn(9, "calm", caller="calm"), limit=2)
    assert taken(made) == [1, 9]


def test_a_flood_of_one_tenant_does_not_make_another_wait_behind_it() -> None:
    flood = [turn(number, f"flood-{number}", tenant="flood", caller=f"c{number}") for number in range(1, 6)]
    made = lanes(*flood, turn(9, "calm", tenant="calm"), limit=2)
    assert taken(made) == [1, 9]


def test_withdrawing_takes_the_waiting_turns_of_a_task_and_leaves_the_rest_of_the_session() -> None:
    out = turn(1, "s", task="mine")
    made = lanes(out, turn(2, "s", task="mine"), turn(3, "s", task="other"), turn(4, "s", task="mine"))
    assert taken(made) == [1]
    assert [each.id for each in made.withdraw("s", lambda turn: turn.task_id == "mine")] == [2, 4]
    assert made.waiting("t") == 1
    made.free(out)
    assert taken(made) == [3]


def test_a_lane_emptied_by_withdrawing_can_be_used_again() -> None:
    made = lanes(turn(1, "s", task="mine"), turn(2, "other"))
    assert len(made.withdraw("s", lambda turn: turn.task_id == "mine")) == 1
    made.push(turn(3, "s"))
    assert taken(made) == [2, 3]


def test_withdrawing_from_a_session_that_has_no_lane_finds_nothing() -> None:
    assert lanes().withdraw("s", lambda turn: turn.task_id == "mine") == ()
