"""Whatever is asked of the store in whatever order, what it holds fits together."""

import asyncio
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from innkeeper.contract.errors import Answerable
from innkeeper.ports.events import TERMINAL, State
from innkeeper.ports.store import Ending, TaskQuery
from innkeeper.store import open_store

STATES = st.sampled_from([State.WORKING, State.INPUT_REQUIRED, *sorted(TERMINAL)])


class Machine(RuleBasedStateMachine):
    turns = Bundle("turns")
    house_class: type

    def __init__(self):
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory()
        self.events = []
        self.ended = {}
        self.runner.run(self.open())

    async def open(self):
        self.owned = AsyncExitStack()
        store = await self.owned.enter_async_context(open_store(Path(self.folder.name), self.events.append))
        self.house = self.house_class(store, Path(self.folder.name), self.events)

    def teardown(self):
        self.runner.run(self.owned.aclose())
        self.runner.close()
        self.folder.cleanup()

    def ask(self, awaitable):
        async def answer():
            try:
                return await awaitable()
            except Answerable:
                return None

        return self.runner.run(answer())

    @rule(target=turns, known=st.none() | turns, message=st.integers(0, 5), scope=st.booleans())
    def admit(self, known, message, scope):
        admitted = self.ask(
            lambda: self.house.admit(
                task_id=known and known.task_id,
                message_id=f"m{message}",
                session_per_context=scope,
                idempotent=message > 2,
            )
        )
        return (admitted and admitted.turn) or known

    @rule(turn=turns)
    def claim(self, turn):
        if turn:
            self.ask(lambda: self.house.store.claim(turn, "host"))

    @rule(turn=turns, attempt=st.integers(1, 2), state=STATES)
    def begin(self, turn, attempt, state):
        if turn:
            self.ask(lambda: self.house.store.begin(turn, attempt, self.house.status(State.WORKING)))

    @rule(turn=turns, attempt=st.integers(1, 2), state=STATES, says=st.sampled_from(["", "a", "b"]))
    def append(self, turn, attempt, state, says):
        if turn:
            self.ask(lambda: self.house.store.append(turn, attempt, self.house.status(state, says)))

    @rule(turn=turns, attempt=st.integers(1, 2), state=STATES, silent=st.booleans())
    def end(self, turn, attempt, state, silent):
        if turn:
            event = None if silent else self.house.status(state, "end")
            self.ask(lambda: self.house.store.end(turn, attempt, Ending(lambda _: event, b"[1]")))

    @rule(turn=turns, count=st.booleans())
    def release(self, turn, count):
        if turn:
            self.ask(lambda: self.house.store.release(turn, count_attempt=count))

    @rule(turn=turns)
    def cancel(self, turn):
        if turn:
            own = self.house.store.own_tasks("hello", "alice")
            self.ask(lambda: own.cancel(turn.task_id, self.house.status(State.CANCELED)))

    @rule()
    def reopen(self):
        self.runner.run(self.owned.aclose())
        numbers = self.house.numbers
        self.runner.run(self.open())
        self.house.numbers = numbers

    @invariant()
    def of_a_session_one_turn_is_out(self):
        out = self.house.rows("SELECT count(*) FROM turns WHERE state IN ('claimed', 'running') GROUP BY session")
        assert {count for (count,) in out} <= {1}

    @invariant()
    def numbers_have_no_gaps_and_everything_published_is_stored(self):
        stored = self.house.rows(
            "SELECT t.id, e.seq FROM events e JOIN tasks t ON t.key = e.task ORDER BY e.task, e.seq"
        )
        assert sorted(stored) == sorted((event.task_id, event.seq) for event in self.events)
        for task in {task for task, _ in stored}:
            numbers = [seq for known, seq in stored if known == task]
            assert numbers == list(range(1, len(numbers) + 1))
            assert [event.seq for event in self.events if event.task_id == task] == numbers

    @invariant()
    def totals_count_what_is_there(self):
        counted = {state: n for state, n in self.house.rows("SELECT state, n FROM task_counts") if n}
        assert counted == dict(self.house.rows("SELECT state, count(*) FROM tasks GROUP BY state"))
        page = self.ask(lambda: self.house.store.own_tasks("hello", "alice").list(TaskQuery(limit=100)))
        assert page.total == len(page.tasks)

    @invariant()
    def a_task_that_has_ended_never_changes(self):
        now = {
            row[0]: row
            for row in self.house.rows(
                "SELECT t.id, t.*, (SELECT max(seq) FROM events WHERE task = t.key) FROM tasks t"
            )
        }
        for task_id, row in self.ended.items():
            assert now[task_id] == row
        states = dict(self.house.rows("SELECT id, state FROM tasks"))
        self.ended = {task_id: row for task_id, row in now.items() if states[task_id] in TERMINAL}

    @invariant()
    def only_tasks_that_go_on_have_turns_that_go_on(self):
        for turn in self.ask(self.house.store.unfinished):
            assert turn.task_id not in self.ended

    @invariant()
    def the_database_is_sound(self):
        assert self.house.rows("PRAGMA foreign_key_check") == []


def test_what_the_store_holds_fits_together(house_class):
    Machine.house_class = house_class
    run_state_machine_as_test(Machine, settings=settings(max_examples=15, stateful_step_count=30, deadline=None))
