"""The archive of a tenant: messages in a table, their words in a full-text index beside it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from innkeeper import Database, Message, Scalar, Session

_TABLES: Final = (
    """
    CREATE TABLE archived (
      number INTEGER PRIMARY KEY,
      session TEXT NOT NULL,
      id TEXT NOT NULL,      -- of the message: its sender's choice, so unique in its session only
      caller TEXT NOT NULL,
      role TEXT NOT NULL,
      text TEXT NOT NULL,
      at TEXT NOT NULL,      -- ISO 8601, UTC
      UNIQUE (session, id)
    ) STRICT""",
    "CREATE INDEX archived_of_caller ON archived (caller)",
    """
    CREATE VIRTUAL TABLE words USING fts5 (
      text, content = 'archived', content_rowid = 'number', tokenize = 'porter unicode61 remove_diacritics 2'
    )""",
    """
    CREATE TRIGGER archived_anew AFTER INSERT ON archived BEGIN
      INSERT INTO words (rowid, text) VALUES (new.number, new.text);
    END""",
    """
    CREATE TRIGGER archived_again AFTER UPDATE ON archived BEGIN
      INSERT INTO words (words, rowid, text) VALUES ('delete', old.number, old.text);
      INSERT INTO words (rowid, text) VALUES (new.number, new.text);
    END""",
)

_KEEP: Final = """
INSERT INTO archived (session, id, caller, role, text, at) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (session, id) DO UPDATE SET role = excluded.role, text = excluded.text, at = excluded.at"""

_WITHIN: Final[Mapping[str, str]] = MappingProxyType(
    {"session": "caller = :caller AND session = :session", "caller": "caller = :caller"}
)

_WORD: Final = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Found:
    """A message that matches; the higher the score, the better."""

    role: str
    text: str
    at: str
    score: float


@dataclass(frozen=True, slots=True)
class Archive:
    """Everything that has left the contexts of a tenant's sessions."""

    db: Database

    async def make(self) -> None:
        """Make the tables."""
        for statement in _TABLES:
            await self.db.execute(statement)

    async def keep(self, session: Session, messages: Sequence[Message], *, characters: int) -> None:
        """Keep the first ``characters`` of each message; one that is kept already is overwritten, a blank one dropped.

        The index holds what is kept, so a word after the cut is not found.
        """
        spoken = [message for message in messages if message.text.strip()]
        await self.db.executemany(
            _KEEP,
            [
                (session.id, each.id, session.caller.key, each.role, each.text[:characters], each.at.isoformat())
                for each in spoken
            ],
        )

    def reach(self, session: Session, scope: str) -> "Reach":
        """Return what may be found from a session: its own past, or with "caller" that of its caller."""
        return Reach(self.db, _WITHIN[scope], {"caller": session.caller.key, "session": session.id})


@dataclass(frozen=True, slots=True)
class Reach:
    """The part of an archive that one session may search."""

    db: Database
    within: str
    whose: Mapping[str, Scalar]

    async def holds_anything(self) -> bool:
        """Tell whether there is anything to find."""
        sql = f"SELECT 1 FROM archived WHERE {self.within} LIMIT 1"  # noqa: S608 - one of _WITHIN
        return await self.db.fetch_one(sql, self.whose) is not None

    async def search(self, query: str, limit: int) -> list[Found]:
        """Return the messages with any of the words of the query, the best first."""
        words = expression_from_query(query)
        if not words:
            return []
        rows = await self.db.fetch_all(
            "SELECT role, archived.text AS text, at, -words.rank AS score"  # noqa: S608 - one of _WITHIN
            " FROM words JOIN archived ON number = words.rowid"
            f" WHERE words MATCH :words AND {self.within} ORDER BY words.rank, number DESC LIMIT :limit",
            {**self.whose, "words": words, "limit": limit},
        )
        return [Found(str(role), str(text), str(at), float(score or 0)) for role, text, at, score in rows]


def expression_from_query(query: str) -> str:
    """Make an FTS5 expression of a query in anybody's words: each word a quoted string, any of them will do.

    Nothing of FTS5's syntax is left in it: words hold letters and digits only. Empty where there is no word.
    """
    return " OR ".join(f'"{word}"' for word in dict.fromkeys(_WORD.findall(query)))
