"""The ids of streamed events, by which a reader says what it has seen (WHATWG HTML §9.2, ``Last-Event-ID``)."""

import re
from typing import Final

from innkeeper.edge.http import Exchange

_EVENT_ID: Final = re.compile(r"(?P<task>.+):(?P<seq>[1-9]\d{0,17})", re.ASCII)


def event_id(task_id: str, seq: int) -> str:
    """Return the id of a task's event."""
    return f"{task_id}:{seq}"


def last_event_id(exchange: Exchange) -> str:
    """Return the id of the event that the reader has seen last, as it says; empty if it says none, or more than one."""
    said = exchange.header(b"last-event-id")
    return said[0] if len(said) == 1 else ""


def find_seq(said: str, task_id: str) -> int | None:
    """Return the number of the event that was meant; None unless it looks like one of this task."""
    match = _EVENT_ID.fullmatch(said)
    return int(match["seq"]) if match and match["task"] == task_id else None
