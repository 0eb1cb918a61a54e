"""Accepting a message: what it repeats, the task it goes to, and all that is written of it."""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from innkeeper.contract.caller import Caller
from innkeeper.contract.errors import InvalidParams, TaskNotFound, Unavailable, UnsupportedOperation
from innkeeper.contract.message import JSON
from innkeeper.ports.events import TERMINAL, Event, State, committed_from_event
from innkeeper.ports.store import Admission, Admitted, TaskRecord, TurnRecord
from innkeeper.store import push_configs
from innkeeper.store.event_log import add_message, append_to_task, apply_status
from innkeeper.store.records import task_from_row, text_from_caller, text_from_object
from innkeeper.store.writer import Written


@dataclass(frozen=True, slots=True)
class Target:
    """The task that a message goes to: its keys and ids, and whether the message opened it."""

    task: int
    session: int
    session_id: str
    task_id: str
    context_id: str
    opened: bool


def admit(connection: sqlite3.Connection, admission: Admission) -> Written[Admitted]:
    """Accept the message, as ``Store.admit`` says."""
    owner = _owner(connection, admission)
    if admission.idempotent and (known := _find_repeated(connection, owner, admission)):
        return Written(Admitted(known, None))
    if admission.task_id is None:
        target, event = _open_task(connection, owner, admission)
    else:
        target, event = _get_open_task(connection, owner, admission.task_id, admission.context_id), admission.accepted
    check_room(connection, target.session, admission.queue_per_session)
    logged = append_to_task(connection, target.task, event)
    if logged is None:
        raise UnsupportedOperation(f"Task {target.task_id} has ended")
    turn = add_turn(
        connection,
        target,
        tenant=admission.tenant,
        caller=admission.caller,
        message_id=admission.message_id,
        message=admission.message,
        at_us=admission.at_us,
        metadata=admission.metadata,
        extensions=admission.extensions,
    )
    if not target.opened:
        apply_status(connection, logged, event, turn=turn.id)
    if admission.push is not None:
        push_configs.put(connection, target.task, target.task_id, admission.push)
    if admission.idempotent:
        connection.execute(
            "INSERT INTO receipts (owner, message_id, digest, task) VALUES (?, ?, ?, ?)",
            (owner, admission.message_id, admission.digest, target.task),
        )
    _, seq = logged
    told = committed_from_event(target.task_id, seq, event, tenant=admission.tenant, session_id=target.session_id)
    return Written(Admitted(_get_task(connection, target.task), turn), (told,))


def _owner(connection: sqlite3.Connection, admission: Admission) -> int:
    names = (admission.tenant, admission.caller.key)
    row = connection.execute("SELECT key FROM owners WHERE tenant = ? AND caller = ?", names).fetchone()
    if row is None:
        row = connection.execute("INSERT INTO owners (tenant, caller) VALUES (?, ?) RETURNING key", names).fetchone()
    return int(row[0])


def _find_repeated(connection: sqlite3.Connection, owner: int, admission: Admission) -> TaskRecord | None:
    row = connection.execute(
        "SELECT digest, task FROM receipts WHERE owner = ? AND message_id = ?", (owner, admission.message_id)
    ).fetchone()
    if row is None:
        return None
    digest, task = row
    if digest != admission.digest:
        raise InvalidParams(f"message.messageId: {admission.message_id} was used for another message")
    return _get_task(connection, task)


def _get_task(connection: sqlite3.Connection, task: int) -> TaskRecord:
    return task_from_row(connection.execute("SELECT * FROM task_records WHERE key = ?", (task,)).fetchone())


def _get_open_task(connection: sqlite3.Connection, owner: int, task_id: str, context_id: str | None) -> Target:
    row = connection.execute(
        "SELECT key, session, session_id, context_id, state FROM task_records WHERE id = ? AND owner = ?",
        (task_id, owner),
    ).fetchone()
    if row is None:
        raise TaskNotFound
    task, session, session_id, own_context_id, state = row
    if state in TERMINAL:
        raise UnsupportedOperation(f"Task {task_id} has ended")
    if context_id is not None and context_id != own_context_id:
        raise InvalidParams(f"message.contextId: task {task_id} does not belong to context {context_id}")
    return Target(task, session, session_id, task_id, own_context_id, opened=False)


def _open_task(connection: sqlite3.Connection, owner: int, admission: Admission) -> tuple[Target, Event]:
    context_id = admission.new_context_id if admission.context_id is None else admission.context_id
    session, session_id = _session(
        connection, owner, context_id if admission.session_per_context else "", admission.new_session_id
    )
    task_id = admission.new_task_id
    event = admission.submitted(task_id, context_id)
    (task,) = connection.execute(
        "INSERT INTO tasks (id, owner, session, context_id, state, status, status_at_us, status_seq, created_at_us)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?) RETURNING key",
        (
            task_id,
            owner,
            session,
            context_id,
            event.state or State.SUBMITTED,
            event.status,
            event.at_us,
            admission.at_us,
        ),
    ).fetchone()
    return Target(task, session, session_id, task_id, context_id, opened=True), event


def _session(connection: sqlite3.Connection, owner: int, context_id: str, new_id: str) -> tuple[int, str]:
    row: tuple[int, str] | None = connection.execute(
        "SELECT key, id FROM sessions WHERE owner = ? AND context_id = ?", (owner, context_id)
    ).fetchone()
    if row is not None:
        return row
    (key,) = connection.execute(
        "INSERT INTO sessions (id, owner, context_id) VALUES (?, ?, ?) RETURNING key", (new_id, owner, context_id)
    ).fetchone()
    return key, new_id


def check_room(connection: sqlite3.Connection, session: int, room: int) -> None:
    """Refuse what waits where too much waits already.

    Raises:
        Unavailable: as many turns of the session wait as may.
    """
    # Both conditions on the state: the index is chosen by the first.
    (waiting,) = connection.execute(
        "SELECT count(*) FROM turns"
        " WHERE session = ? AND state IN ('queued', 'claimed', 'running') AND state = 'queued'",
        (session,),
    ).fetchone()
    if waiting >= room:
        raise Unavailable("Too many messages wait in this conversation")


def add_turn(
    connection: sqlite3.Connection,
    target: Target,
    *,
    tenant: str,
    caller: Caller,
    message_id: str,
    message: bytes,
    at_us: int,
    metadata: Mapping[str, JSON],
    extensions: tuple[str, ...] = (),
) -> TurnRecord:
    """Queue a turn of the task for a message, which becomes the next of its history."""
    turn_id, ordinal = connection.execute(
        "INSERT INTO turns (task, session, ordinal, caller, metadata, extensions)"
        " VALUES (:task, :session, 1 + coalesce((SELECT max(ordinal) FROM turns WHERE task = :task), 0), :caller,"
        " :metadata, :extensions) RETURNING id, ordinal",
        {
            "task": target.task,
            "session": target.session,
            "caller": text_from_caller(caller),
            "metadata": text_from_object(metadata),
            "extensions": " ".join(extensions),
        },
    ).fetchone()
    add_message(connection, target.task, turn_id, role="user", message_id=message_id, body=message, at_us=at_us)
    return TurnRecord(
        id=turn_id,
        tenant=tenant,
        caller=caller,
        session_id=target.session_id,
        task_id=target.task_id,
        context_id=target.context_id,
        ordinal=ordinal,
        message=message,
        message_at_us=at_us,
        metadata=metadata,
        extensions=extensions,
    )
