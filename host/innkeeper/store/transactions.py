"""Many pieces of work in one transaction, each of them all or nothing."""

import logging
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeAlias, TypeVar

T = TypeVar("T")

log = logging.getLogger(__name__)

Work: TypeAlias = Callable[[sqlite3.Connection], T]
"""Reads and writes. It may be run again after a run that was undone, so it changes nothing but the database; it lets
errors of the database through, and transactions are not its to begin or end."""

_CONTROL: Final = frozenset({sqlite3.SQLITE_TRANSACTION, sqlite3.SQLITE_SAVEPOINT})

# The authorizer is asked when a statement is compiled, and compiled ones are kept by their text: the comment keeps
# work from ever getting one of these from the cache.
_BEGIN: Final = "BEGIN IMMEDIATE /* writer */"
_COMMIT: Final = "COMMIT /* writer */"
_ROLLBACK: Final = "ROLLBACK /* writer */"
_SAVEPOINT: Final = "SAVEPOINT work /* writer */"
_UNDO: Final = "ROLLBACK TO work /* writer */"
_RELEASE: Final = "RELEASE work /* writer */"


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """The work is on disk."""

    answer: T


@dataclass(frozen=True, slots=True)
class Failed:
    """Nothing of the work is on disk."""

    error: BaseException


Outcome: TypeAlias = Done[T] | Failed


class _Broken(Exception):
    """The transaction is gone; ``at`` is the place of the work that broke it, None where it was the commit."""

    def __init__(self, at: int | None, error: BaseException) -> None:
        self.at = at
        self.error = error


class Transactions:
    """The transactions of one connection; to be used on its thread only."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._working = False
        connection.set_authorizer(self._authorize)

    def _authorize(self, action: int, *_: str | None) -> int:
        return sqlite3.SQLITE_DENY if self._working and action in _CONTROL else sqlite3.SQLITE_OK

    def run(self, works: Sequence[Work[T]]) -> list[Outcome[T]]:
        """Run all of them in one transaction and commit; on return every ``Done`` is on disk.

        Work that raises is undone alone. Where the transaction itself is lost (a full disk may do that, and a commit
        that fails), what broke it has failed and all the rest is run again, each in a transaction of its own.
        """
        if len(works) == 1:
            return self._one_by_one(works)
        try:
            self._begin()
            return self._together(works)
        except sqlite3.Error as error:
            return [Failed(error) for _ in works]
        except _Broken as broken:
            self._roll_back()
            if broken.at is None:
                return self._one_by_one(works)
            rest = self._one_by_one([*works[: broken.at], *works[broken.at + 1 :]])
            return [*rest[: broken.at], Failed(broken.error), *rest[broken.at :]]

    def _together(self, works: Sequence[Work[T]]) -> list[Outcome[T]]:
        outcomes: list[Outcome[T]] = []
        for at, work in enumerate(works):
            try:
                self._execute(_SAVEPOINT)
                outcome = self._attempt(work)
                if not self._connection.in_transaction:
                    raise _Broken(at, _error_of(outcome))
                if isinstance(outcome, Failed):
                    self._execute(_UNDO)
                self._execute(_RELEASE)
            except sqlite3.Error as error:
                raise _Broken(at, error) from error
            outcomes.append(outcome)
        try:
            self._execute(_COMMIT)
        except sqlite3.Error as error:
            raise _Broken(None, error) from error
        return outcomes

    def _one_by_one(self, works: Sequence[Work[T]]) -> list[Outcome[T]]:
        outcomes: list[Outcome[T]] = []
        for work in works:
            try:
                self._begin()
            except sqlite3.Error as error:  # a lock: nobody waits for it once per piece of work
                return [*outcomes, *(Failed(error) for _ in works[len(outcomes) :])]
            outcomes.append(self._alone(work))
            self._roll_back()
        return outcomes

    def _alone(self, work: Work[T]) -> Outcome[T]:
        outcome = self._attempt(work)
        if not self._connection.in_transaction:
            return Failed(_error_of(outcome))
        if isinstance(outcome, Done):
            try:
                self._execute(_COMMIT)
            except sqlite3.Error as error:
                return Failed(error)
        return outcome

    def _attempt(self, work: Work[T]) -> Outcome[T]:
        self._working = True
        try:
            return Done(work(self._connection))
        except BaseException as error:  # noqa: BLE001 - it goes to whoever submitted the work; the others must not suffer
            return Failed(error)
        finally:
            self._working = False

    def _begin(self) -> None:
        self._roll_back()
        self._execute(_BEGIN)

    def _roll_back(self) -> None:
        """Leave no transaction open, whatever has happened."""
        if self._connection.in_transaction:
            try:
                self._execute(_ROLLBACK)
            except sqlite3.Error:
                log.exception("a transaction could not be rolled back properly")

    def _execute(self, statement: str) -> None:
        self._connection.execute(statement)


def _error_of(outcome: Outcome[T]) -> BaseException:
    if isinstance(outcome, Failed):
        return outcome.error
    return sqlite3.ProgrammingError("the work went on after an error that had undone its transaction")
