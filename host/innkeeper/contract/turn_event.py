"""What ``on_turn_event`` tells of a turn."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Final

from innkeeper.contract.message import JSON

TURN_EVENTS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "task": ("state",),
        "message": (),
        "taken": ("ordinals",),
        "status": ("state", "message_id", "withdrawn"),
        "artifact": ("artifact_id", "name", "append", "last"),
        "declined": ("by", "state"),
        "fault": ("plugin", "hook", "reason"),
    }
)
"""Every kind of event with the keys that its data may have.

``task``: a message has opened a task. ``message``: another message has been accepted for it.
``taken``: its running turn has taken the messages of waiting turns, by their ordinals. ``status``: it has another
status; ``message_id`` where that carries a message, ``withdrawn`` where a cancellation withdrew waiting turns, by their
ordinals. ``artifact``: a piece of an artifact. ``declined``: gates declined the turn; ``state`` where that ended the
task. ``fault``: a plugin's hook did not do what it should while the turn ran. The list may grow; what is in it stays.
"""


@dataclass(frozen=True, slots=True)
class TurnEvent:
    """An event on disk.

    ``seq`` counts the events of the task ``task_id`` from 1, without gaps; ``session_id`` is the session of that task.
    ``kind`` is one of ``TURN_EVENTS``, which says what ``data`` may have; ``at`` is timezone-aware UTC.
    """

    seq: int
    task_id: str
    session_id: str
    kind: str
    at: datetime
    data: Mapping[str, JSON]
