"""The journal of a tenant: one row per event."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from innkeeper import JSON, Database, TurnEvent

_TABLES: Final = (
    """
    CREATE TABLE entries (
      number INTEGER PRIMARY KEY,
      at INTEGER NOT NULL,    -- microseconds since the Unix epoch
      session TEXT NOT NULL,
      task TEXT NOT NULL,
      seq INTEGER NOT NULL,
      kind TEXT NOT NULL,
      data TEXT NOT NULL,     -- a JSON object
      UNIQUE (task, seq)
    ) STRICT""",
    "CREATE INDEX entries_by_age ON entries (at)",
)

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Entry:
    """What happened to a task; ``at`` is UTC."""

    at: datetime
    session: str
    task: str
    seq: int
    kind: str
    data: Mapping[str, JSON]

    def as_json(self) -> dict[str, JSON]:
        """Return the entry as JSON can carry it."""
        return {
            "at": self.at.isoformat(),
            "session": self.session,
            "task": self.task,
            "seq": self.seq,
            "kind": self.kind,
            "data": self.data,
        }


@dataclass(frozen=True, slots=True)
class Journal:
    """The entries of one tenant."""

    db: Database

    async def make(self) -> None:
        """Make the tables."""
        for statement in _TABLES:
            await self.db.execute(statement)

    async def write(self, event: TurnEvent) -> None:
        """Add an event; one that is there already stays as it is."""
        row = (_us(event.at), event.session_id, event.task_id, event.seq, event.kind, json.dumps(dict(event.data)))
        await self.db.execute(
            "INSERT INTO entries (at, session, task, seq, kind, data) VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (task, seq) DO NOTHING",
            row,
        )

    async def last(self, limit: int) -> list[Entry]:
        """Return the entries written last, the newest first."""
        rows = await self.db.fetch_all(
            "SELECT at, session, task, seq, kind, data FROM entries ORDER BY number DESC LIMIT ?", (limit,)
        )
        return [
            Entry(
                _EPOCH + int(at or 0) * _MICROSECOND,
                str(session),
                str(task),
                int(seq or 0),
                str(kind),
                json.loads(str(data)),
            )
            for at, session, task, seq, kind, data in rows
        ]

    async def prune(self, before: datetime) -> int:
        """Remove what happened before, and return how many entries that were."""
        return await self.db.execute("DELETE FROM entries WHERE at < ?", (_us(before),))


def _us(at: datetime) -> int:
    return (at - _EPOCH) // _MICROSECOND
