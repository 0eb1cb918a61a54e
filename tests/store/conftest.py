"""A store on a real file, and builders of what is written to it."""

import itertools
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from innkeeper.contract.caller import Caller
from innkeeper.ports.events import Committed, Event, State
from innkeeper.ports.store import Admission, Admitted, Ending, Store, TurnRecord
from innkeeper.store import open_store


@dataclass
class House:
    """A store under test, and the short words that tests use to talk to it."""

    store: Store
    data_dir: Path
    events: list[Committed]
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def admission(self, **changes: Any) -> Admission:
        """A message of alice to hello that opens a task; ids and times are of the house's own counter."""
        n = next(self.numbers)
        admission = Admission(
            tenant="hello",
            caller=Caller("alice", "Alice", "person", 7),
            message_id=f"message-{n}",
            digest=b"digest",
            message=f"user {n}".encode(),
            at_us=n,
            task_id=None,
            context_id=None,
            new_task_id=f"task-{n}",
            new_context_id=f"context-{n}",
            new_session_id=f"session-{n}",
            submitted=lambda task, context: Event("task", n, f"opens {task}".encode(), State.SUBMITTED, b"submitted"),
            accepted=Event("message", n),
        )
        return replace(admission, **changes)

    async def admit(self, **changes: Any) -> Admitted:
        return await self.store.admit(self.admission(**changes), lambda _: None)

    async def turn(self, **changes: Any) -> TurnRecord:
        turn = (await self.admit(**changes)).turn
        assert turn is not None
        return turn

    async def running(self, **changes: Any) -> TurnRecord:
        turn = await self.turn(**changes)
        assert await self.store.claim(turn, "host")
        assert await self.store.begin(turn, 1, self.status(State.WORKING))
        return turn

    def status(self, state: State, says: str = "", at_us: int | None = None) -> Event:
        n = next(self.numbers) if at_us is None else at_us
        return Event(
            "status", n, f"is {state}".encode(), state, state.encode(), says, f"agent {says}".encode() * bool(says)
        )

    def piece(self, text: str) -> Event:
        return Event("artifact", next(self.numbers), text.encode())

    def ending(self, state: State = State.COMPLETED, says: str = "", artifacts: bytes | None = None) -> Ending:
        event = self.status(state, says)
        return Ending(lambda _: event, artifacts)

    async def complete(self, turn: TurnRecord, **ending: Any) -> bool:
        return await self.store.end(turn, 1, self.ending(**ending))

    def rows(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        """Ask the file by a connection of its own."""
        with closing(sqlite3.connect(self.data_dir / "innkeeper.db")) as connection:
            return connection.execute(sql, parameters).fetchall()

    def dump(self) -> list[str]:
        """Everything that is stored."""
        with closing(sqlite3.connect(self.data_dir / "innkeeper.db")) as connection:
            return list(connection.iterdump())


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
async def house(data_dir: Path) -> AsyncIterator[House]:
    events: list[Committed] = []
    async with open_store(data_dir, events.append) as store:
        yield House(store, data_dir, events)


@pytest.fixture
def house_class() -> type[House]:
    """For tests that open stores of their own."""
    return House
