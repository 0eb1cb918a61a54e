"""The file of a plugin and the transactions on it, as levels one inside the other.

One at a time speaks at a level; while a transaction is on, that is the transaction. Which level a task speaks at is in
its context, so the tasks that it starts speak at the same one.
"""

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import TypeVar, final

from innkeeper.contract.tables import DatabaseError
from innkeeper.store.fair_lock import FairLock
from innkeeper.store.plugin_file import PluginFile, no_transaction_left
from innkeeper.store.plugin_statements import FORESEEN, Work, answer_to

T = TypeVar("T")

log = logging.getLogger(__name__)

Explain = Callable[[Exception], Exception]
"""What to raise for an error of the database."""

_innermost: ContextVar[Mapping[PluginFile, "Level"]] = ContextVar(
    "innermost transactions", default=MappingProxyType({})
)


@final
class Level:
    """A file (``outer`` is None) or a transaction on it, which is ``over`` once its block has ended.

    ``last`` is what the host has to say at the end of the transaction, after everybody else and before the commit.
    """

    def __init__(self, file: PluginFile, outer: "Level | None" = None) -> None:
        self.file = file
        self.outer = outer
        self._inner: Level | None = None
        self.over = False
        self.begun = False
        self.last: Work[None] = lambda _: None
        self.depth: int = 0 if outer is None else outer.depth + 1
        self._lock = file.lock if outer is None else FairLock()

    def here(self) -> "Level":
        """Find the level at which the current task speaks: the innermost of its transactions that is on in this one."""
        level = _innermost.get().get(self.file)
        while level is not None and level.over:
            level = level.outer
        inside = level
        while inside is not None and inside is not self:
            inside = inside.outer
        return self if level is None or inside is None else level

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Speak alone at this level.

        Raises:
            DatabaseError: the transaction is over.
            Unavailable: the host is shutting down.
        """
        self._refuse_when_over()  # before the lock: it may be held by a transaction inside this one, of the same task
        try:
            async with self._lock.held():
                self._refuse_when_over()
                yield
        finally:
            if self.outer is None:
                await self.file.trim()

    def _refuse_when_over(self) -> None:
        self.file.refuse_when_ended()
        if self.over:
            raise DatabaseError("the transaction is over")

    async def run(self, work: Work[T], explain: Explain = answer_to) -> T:
        """Run the work at this level; the turn is the caller's."""

        def guarded(raw: sqlite3.Connection) -> T:
            if self.outer is None:
                with no_transaction_left(raw):
                    self.file.fence(raw)
                    return work(raw)
            _refuse_when_undone(raw)
            return work(raw)

        return await self._explained(guarded, explain)

    async def _explained(self, work: Work[T], explain: Explain) -> T:
        try:
            return await self.file.run(work)
        except FORESEEN as error:
            self.file.refuse_when_ended()  # it was interrupted for that
            answer = explain(error)
            if answer is error:
                raise
            raise answer from error

    @asynccontextmanager
    async def transaction(self, explain: Explain = answer_to, *, fenced: bool = True) -> AsyncIterator["Level"]:
        """Open a level inside this one for the block; ``explain`` is asked about the errors of begin and commit."""
        async with self.turn():
            loop = asyncio.get_running_loop()
            inner = self._inner = Level(self.file, self)
            before = _innermost.get()
            try:
                await self._explained(lambda raw: inner._begin(raw, fenced=fenced), explain)
                _innermost.set({**before, self.file: inner})
                yield inner
                self._refuse_when_over()
                await self._explained(inner._closed_for_commit(), explain)
            except BaseException:
                if not loop.is_closed():  # else nobody can wait any more: the next one who speaks to the file undoes it
                    await inner._roll_back()
                raise
            finally:
                if _innermost.get().get(self.file) is inner:  # else this ends in somebody else's context
                    _innermost.set(before)

    def _begin(self, raw: sqlite3.Connection, *, fenced: bool) -> None:
        if self.depth > 1:
            _refuse_when_undone(raw)
            raw.execute(f"SAVEPOINT {self.savepoint}")
        else:
            with no_transaction_left(raw):
                if fenced:
                    self.file.fence(raw)
            raw.execute("BEGIN IMMEDIATE")
        self.begun = True

    @property
    def savepoint(self) -> str:
        """The name under which SQLite knows a transaction inside another."""
        return f"level_{self.depth}"

    def close(self) -> None:
        """Refuse whoever still wants to speak at this level or inside it."""
        self.over = True
        if self._inner is not None:
            self._inner.close()

    def _closed_for_commit(self) -> Work[None]:
        unfinished = self._inner if self._inner is not None and not self._inner.over else None
        self.close()

        def commit(raw: sqlite3.Connection) -> None:
            _refuse_when_undone(raw)
            if unfinished is not None and unfinished.begun:  # of a task that the block has started and not awaited
                raw.execute(f"ROLLBACK TO {unfinished.savepoint}")
            self.last(raw)
            raw.execute(f"RELEASE {self.savepoint}" if self.depth > 1 else "COMMIT")

        return commit

    async def _roll_back(self) -> None:
        self.close()
        if self.outer is None or self.outer.over:
            return  # what is outside has been committed or undone, and this with it
        try:
            await self.file.run_to_its_end(self._undo)
        except sqlite3.Error:
            if not self.file.ended:  # else it has been closed meanwhile, which undoes it too
                log.exception("%s: a transaction could not be rolled back, it ends with the connection", self.file.path)
                await self.file.close()

    def _undo(self, raw: sqlite3.Connection) -> None:
        if not (self.begun and raw.in_transaction):
            return
        if self.depth > 1:
            raw.execute(f"ROLLBACK TO {self.savepoint}")
            raw.execute(f"RELEASE {self.savepoint}")
        else:
            raw.rollback()


def _refuse_when_undone(raw: sqlite3.Connection) -> None:
    if not raw.in_transaction:
        raise DatabaseError("the transaction has been undone by a statement that failed or was cancelled")
