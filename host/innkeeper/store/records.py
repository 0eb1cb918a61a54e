"""Rows of the database as records of the ports, and back."""

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from innkeeper.contract.caller import Caller
from innkeeper.contract.message import JSON
from innkeeper.ports.events import State
from innkeeper.ports.store import TaskRecord, TurnRecord

Row = tuple[Any, ...]


def task_from_row(row: Row) -> TaskRecord:
    """Read a row that begins like ``task_records``."""
    task_id, tenant, caller_key, session_id, context_id, state, status, status_at_us, seq = row[:9]
    return TaskRecord(task_id, tenant, caller_key, session_id, context_id, State(state), status, status_at_us, seq)


def turn_from_row(row: Row) -> TurnRecord:
    """Read a row of ``unfinished_turns``."""
    (turn_id, tenant, caller, session_id, task_id, context_id, ordinal, body, at_us) = row[:9]
    metadata, extensions, attempt, gated, state = row[9:]
    return TurnRecord(
        id=turn_id,
        tenant=tenant,
        caller=Caller(**json.loads(caller)),
        session_id=session_id,
        task_id=task_id,
        context_id=context_id,
        ordinal=ordinal,
        message=body,
        message_at_us=at_us,
        metadata=json.loads(metadata),
        extensions=tuple(extensions.split()),
        attempt=attempt,
        gated=bool(gated),
        running=state == "running",
    )


def text_from_caller(caller: Caller) -> str:
    """Write the caller as JSON."""
    return json.dumps({field.name: getattr(caller, field.name) for field in fields(caller)})


def text_from_object(value: Mapping[str, JSON]) -> str:
    """Write an object as JSON, whatever kind of mappings it is made of."""
    return json.dumps(value, default=dict) if value else "{}"
