"""What the statements of plugins may do, asked of SQLite's authorizer (https://sqlite.org/c3ref/c_alter_table.html)."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, TypeAlias

from innkeeper.contract.tables import StatementDenied

VERSIONS: Final = "plugin_migrations"
"""The table that holds the version of a plugin's tables: the host's alone to write."""

_TABLE_PRAGMAS: Final = frozenset(
    {
        "defer_foreign_keys",  # ends with the transaction
        "foreign_key_check",
        "foreign_key_list",
        "index_info",
        "index_list",
        "index_xinfo",
        "table_info",
        "table_list",
        "table_xinfo",
    }
)
"""Pragmas whose argument is a harmless one."""

_VALUE_PRAGMAS: Final = frozenset({"data_version", "foreign_keys", "page_size", "user_version"})
"""Pragmas that read without an argument; FTS5 and R-trees ask for some of them."""

_MODULES: Final = frozenset({"fts5", "fts5vocab", "rtree"})
"""Virtual tables that stay inside the file and take no code."""

_FOREIGN_FUNCTIONS: Final = frozenset({"load_extension", "fts3_tokenizer"})
"""Functions that bring code into the process."""

_RAW_PAGES: Final = "sqlite_dbpage"
"""A virtual table of some builds of SQLite: a write to it goes past every table."""

Rule: TypeAlias = Callable[[str, str | None], str | None]
"""What is denied, in words, from the two arguments of an action; None where it is allowed."""


def _anything(_first: str, _second: str | None) -> str | None:
    return None


def _table(first: str, _second: str | None) -> str | None:
    return f"a change of {first}" if first.lower() in {VERSIONS, _RAW_PAGES} else None


def _on_table(_first: str, second: str | None) -> str | None:
    return _table(second or "", None)


def _module(first: str, second: str | None) -> str | None:
    if second is None or second.lower() not in _MODULES:
        return f"a virtual table of {second}"
    return _table(first, None)


def _pragma(first: str, second: str | None) -> str | None:
    allowed = _TABLE_PRAGMAS if second is not None else _TABLE_PRAGMAS | _VALUE_PRAGMAS
    return None if first.lower() in allowed else f"PRAGMA {first}"


def _function(_first: str, second: str | None) -> str | None:
    return f"the function {second}" if second is None or second.lower() in _FOREIGN_FUNCTIONS else None


_RULES: Final[Mapping[int, Rule]] = {
    sqlite3.SQLITE_SELECT: _anything,
    sqlite3.SQLITE_READ: _anything,
    sqlite3.SQLITE_RECURSIVE: _anything,
    sqlite3.SQLITE_ANALYZE: _anything,
    sqlite3.SQLITE_REINDEX: _anything,
    sqlite3.SQLITE_INSERT: _table,
    sqlite3.SQLITE_UPDATE: _table,
    sqlite3.SQLITE_DELETE: _table,
    sqlite3.SQLITE_CREATE_TABLE: _table,
    sqlite3.SQLITE_DROP_TABLE: _table,
    sqlite3.SQLITE_CREATE_VIEW: _table,
    sqlite3.SQLITE_DROP_VIEW: _table,
    sqlite3.SQLITE_ALTER_TABLE: _on_table,  # its new name is not told: a table of that name is in the way
    sqlite3.SQLITE_CREATE_INDEX: _on_table,
    sqlite3.SQLITE_DROP_INDEX: _on_table,
    sqlite3.SQLITE_CREATE_TRIGGER: _on_table,
    sqlite3.SQLITE_DROP_TRIGGER: _on_table,
    sqlite3.SQLITE_CREATE_VTABLE: _module,
    sqlite3.SQLITE_DROP_VTABLE: _table,
    sqlite3.SQLITE_PRAGMA: _pragma,
    sqlite3.SQLITE_FUNCTION: _function,
}
"""The actions that may be allowed. Temporary tables are not among them: a file may be closed between two statements."""

_WORDS: Final[Mapping[int, str]] = {
    sqlite3.SQLITE_ATTACH: "ATTACH or VACUUM",  # VACUUM is seen as what it does first: attaching a file to copy into
    sqlite3.SQLITE_DETACH: "DETACH",
    sqlite3.SQLITE_TRANSACTION: "BEGIN, COMMIT or ROLLBACK: use db.transaction()",
    sqlite3.SQLITE_SAVEPOINT: "SAVEPOINT or RELEASE: use db.transaction()",
    sqlite3.SQLITE_CREATE_TEMP_TABLE: "a temporary table",
    sqlite3.SQLITE_CREATE_TEMP_INDEX: "a temporary index",
    sqlite3.SQLITE_CREATE_TEMP_VIEW: "a temporary view",
    sqlite3.SQLITE_CREATE_TEMP_TRIGGER: "a temporary trigger",
}


def _denial(action: int, first: str | None, second: str | None) -> str | None:
    rule = _RULES.get(action)
    if rule is None:
        return _WORDS.get(action, f"action {action}")
    return rule(first or "", second)


@contextmanager
def handed_over(connection: sqlite3.Connection) -> Iterator[None]:
    """Hold the statements of the block to the rules. Reading their rows belongs in the block: rows are made late.

    Setting an authorizer makes SQLite compile every statement anew before it runs, those that are kept compiled too:
    a statement of the host's is not allowed to a plugin because the host has said it before.

    Raises:
        StatementDenied: a statement was denied, and with it undone.
    """
    denied: list[str] = []

    def authorize(action: int, first: str | None, second: str | None, _database: str | None, _by: str | None) -> int:
        denial = _denial(action, first, second)
        if denial is None:
            return sqlite3.SQLITE_OK
        denied.append(denial)
        return sqlite3.SQLITE_DENY

    connection.set_authorizer(authorize)
    try:
        yield
    except sqlite3.Error as error:
        if denied:
            raise StatementDenied(f"not allowed to plugins: {denied[0]}") from error
        raise
    finally:
        connection.set_authorizer(None)
