"""What happens to a task, before it is encoded and after."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from innkeeper.contract.message import JSON, Message, Part

if TYPE_CHECKING:
    from innkeeper.ports.store import TaskView


class State(StrEnum):
    """The states of a task (A2A v1.0 §4.1.3)."""

    SUBMITTED = "submitted"
    WORKING = "working"
    INPUT_REQUIRED = "input-required"
    AUTH_REQUIRED = "auth-required"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"
    REJECTED = "rejected"


TERMINAL: Final = frozenset({State.COMPLETED, State.FAILED, State.CANCELED, State.REJECTED})
"""States that refuse every later write."""

INTERRUPTED: Final = frozenset({State.INPUT_REQUIRED, State.AUTH_REQUIRED})
"""States in which the task waits for its caller: streams end and blocking callers return."""

SETTLED: Final = TERMINAL | INTERRUPTED


@dataclass(frozen=True, slots=True)
class Status:
    """A status of a task; ``at_us`` is microseconds since the Unix epoch."""

    state: State
    at_us: int
    message: Message | None = None


@dataclass(frozen=True, slots=True)
class ArtifactPiece:
    """A piece of an artifact: the whole of it, or with ``append`` more parts of it."""

    artifact_id: str
    parts: tuple[Part, ...]
    name: str = ""
    description: str = ""
    append: bool = False
    last: bool = True


@dataclass(frozen=True, slots=True)
class Event:
    """An encoded event, ready to be stored and sent.

    ``body`` is the JSON of an A2A ``StreamResponse``; empty for an event that no stream carries. ``state`` is set when
    the event changes the task's status: ``status`` is then the JSON of the ``TaskStatus``, and ``message_id`` and
    ``message`` the id and JSON of the agent's message where that becomes part of the history. ``data`` is what the
    host notes about the event beside what streams carry.
    """

    kind: str
    at_us: int
    body: bytes = b""
    state: State | None = None
    status: bytes = b""
    message_id: str = ""
    message: bytes = b""
    data: Mapping[str, JSON] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Source:
    """Where a committed event comes from, and the event as it was written."""

    tenant: str
    session_id: str
    event: Event


@dataclass(frozen=True, slots=True)
class Committed:
    """An event on disk: the task it belongs to, its number there (from 1, without gaps), and what streams send.

    ``source`` is there when the event is told after its commit, not when it is read again from the log; so is
    ``whole``, the task as it can be read now, where whoever wrote the event knew.
    """

    task_id: str
    seq: int
    body: bytes
    state: State | None
    source: Source | None = field(default=None, compare=False)
    whole: "TaskView | None" = field(default=None, compare=False, repr=False)


def committed_from_event(task_id: str, seq: int, event: Event, *, tenant: str, session_id: str) -> Committed:
    """Return an event as it is told after its commit."""
    return Committed(task_id, seq, event.body, event.state, Source(tenant, session_id, event))


EventSink = Callable[[Committed], None]
"""Called on the event loop after the commit, once per event, in the order of the commits."""
