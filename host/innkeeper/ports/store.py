"""What the engine and the edge need from a store.

A write is queued when its method is called and runs whether or not anybody awaits the answer; writes take effect in
the order of the calls. Each is one atomic step. After the commit the store hands the events of the step to its
``EventSink``, then calls ``then`` with the answer, then resolves the awaitable: so nothing is published that is not on
disk, and a caller that went away does not keep an accepted turn from running.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from innkeeper.contract.caller import Caller
from innkeeper.contract.message import JSON
from innkeeper.ports.events import Committed, Event, State
from innkeeper.ports.push import OwnPushConfigs, PushConfig
from innkeeper.ports.steering import Steering, Taken


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """A task as stored; ``status`` is TaskStatus JSON, ``seq`` the number of its last event, times are microseconds."""

    id: str
    tenant: str
    caller_key: str
    session_id: str
    context_id: str
    state: State
    status: bytes
    status_at_us: int
    seq: int


@dataclass(frozen=True, slots=True)
class TaskView:
    """A task as read in one moment.

    ``history``: message bodies (JSON without contextId and taskId), oldest first, without the message that the status
    carries. ``artifacts``: JSON array folded so far; ``pieces``: artifact events (StreamResponse JSON) since then.
    """

    task: TaskRecord
    history: tuple[bytes, ...] = ()
    artifacts: bytes = b"[]"
    pieces: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """An accepted turn. ``id`` grows in the order of acceptance; ``ordinal`` counts the turns of its task from 1.

    ``attempt`` is the number of runs begun so far, ``gated`` whether its gates have let it pass, ``running`` whether
    a run had begun and not ended when this was read. ``message`` is the body of the message (JSON).
    """

    id: int
    tenant: str
    caller: Caller
    session_id: str
    task_id: str
    context_id: str
    ordinal: int
    message: bytes
    message_at_us: int
    metadata: Mapping[str, JSON]
    extensions: tuple[str, ...] = ()
    attempt: int = 0
    gated: bool = False
    running: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """What the caller has chosen for a session: a preset, a model and its provider; empty where nothing."""

    preset: str = ""
    model: str = ""
    provider: str = ""


@dataclass(frozen=True, slots=True)
class Admission:
    """A message that asks to be accepted.

    ``digest`` identifies the message as it was sent. ``task_id`` and ``context_id`` are those the caller named, or
    None; the ``new_…`` ids are used where the message opens a task, a context or a session. ``submitted`` encodes
    the opening event of a new task from its task id and context id; ``accepted`` is the event of a message to an
    existing one. ``queue_per_session`` is how many turns of a session may wait. ``push`` is kept with the task.
    """

    tenant: str
    caller: Caller
    message_id: str
    digest: bytes
    message: bytes
    at_us: int
    task_id: str | None
    context_id: str | None
    new_task_id: str
    new_context_id: str
    new_session_id: str
    submitted: Callable[[str, str], Event]
    accepted: Event
    metadata: Mapping[str, JSON] = field(default_factory=dict)
    extensions: tuple[str, ...] = ()
    session_per_context: bool = True
    idempotent: bool = True
    queue_per_session: int = 32
    push: PushConfig | None = None


@dataclass(frozen=True, slots=True)
class Admitted:
    """An accepted message: its task, and its turn unless the message had been accepted before."""

    task: TaskRecord
    turn: TurnRecord | None


@dataclass(frozen=True, slots=True)
class Ending:
    """How a turn ends.

    ``event`` gives the event for the case that another accepted turn of the task waits (True) or not (False); None
    writes none. ``artifacts`` is the folded JSON array to keep with the task, None to leave it as it is. ``whole`` is
    the task as it can be read once no other turn waits, but for ``seq``, where that is known: it goes with the event.
    """

    event: Callable[[bool], Event | None]
    artifacts: bytes | None = None
    whole: TaskView | None = None


@dataclass(frozen=True, slots=True)
class TaskQuery:
    """Which tasks to list: newest status first, ``limit`` at most, after the position ``(status_at_us, id)``."""

    context_id: str | None = None
    state: State | None = None
    status_since_us: int | None = None
    after: tuple[int, str] | None = None
    limit: int = 50
    history_length: int | None = 0
    artifacts: bool = False


@dataclass(frozen=True, slots=True)
class TaskPage:
    """A page of tasks; ``total`` counts all that fit the filters."""

    tasks: tuple[TaskView, ...]
    more: bool
    total: int


class OwnTasks(Protocol):
    """One caller's tasks at one tenant: the only object that reads or cancels tasks on behalf of a caller."""

    @property
    def push_configs(self) -> OwnPushConfigs:
        """Where the events of these tasks are to be pushed."""
        ...

    async def find(self, task_id: str, *, history_length: int | None = None, artifacts: bool = True) -> TaskView | None:
        """Read a task with its last ``history_length`` messages (None: all), or None if the owner has no such task."""
        ...

    async def list(self, query: TaskQuery) -> TaskPage:
        """Read a page of the owner's tasks."""
        ...

    def cancel(self, task_id: str, event: Event) -> Awaitable[TaskRecord]:
        """Make the task canceled and withdraw its turns; a task canceled before is answered as it is.

        The ordinals of the turns that waited are noted in the event's data under "withdrawn".

        Raises:
            TaskNotFound: the owner has no such task.
            TaskNotCancelable: the task ended in another way.
        """
        ...


class Store(Protocol):
    """The whole need of the engine."""

    @property
    def failing(self) -> bool:
        """Whether the last write could not be stored: a full or broken disk, or a store that has ended."""
        ...

    def own_tasks(self, tenant: str, caller_key: str) -> OwnTasks:
        """Return the tasks of one caller at one tenant."""
        ...

    def admit(self, admission: Admission, then: Callable[[Admitted], None]) -> Awaitable[Admitted]:
        """Accept a message: task, message, turn and event in one step.

        A message id that the caller used before at this tenant, with the same digest, answers its task and no turn.

        Raises:
            TaskNotFound: the named task is not this caller's at this tenant.
            UnsupportedOperation: the named task has ended.
            InvalidParams: the named context contradicts the task; the message id was used for another message; the
                task has too many push configurations.
            Unavailable: the message cannot be stored, or too many turns of its session wait.
        """
        ...

    def claim(self, turn: TurnRecord, holder: str) -> Awaitable[Choice | None]:
        """Begin an attempt, attempt + 1 and a lease for ``holder``, and answer what has been chosen for its session.

        None if the turn was withdrawn meanwhile, or another turn of its session is out.
        """
        ...

    def start(self, turn: TurnRecord, holder: str, event: Event) -> Awaitable[Choice | None]:
        """Claim a turn and let it run, in one step: what ``claim`` and ``begin`` do where nothing is asked in between.

        None, and nothing written, if the turn was withdrawn meanwhile, or another turn of its session is out.
        """
        ...

    async def begun_before(self, turn: TurnRecord) -> bool:
        """Tell whether an earlier turn of the session has begun to run."""
        ...

    def begin(self, turn: TurnRecord, attempt: int, event: Event, choice: Choice | None = None) -> Awaitable[bool]:
        """Let the claimed turn run: gated, with its ``working`` event, and with what it chooses for its session.

        False if the turn was withdrawn meanwhile.
        """
        ...

    def append(self, turn: TurnRecord, attempt: int, event: Event) -> Awaitable[bool]:
        """Write an event of the attempt that is out. False, and nothing written, if that attempt is out no longer."""
        ...

    def end(self, turn: TurnRecord, attempt: int, ending: Ending) -> Awaitable[bool]:
        """End the attempt, whatever it has come to, and with it the turn.

        False, and nothing written, if that attempt is no longer the turn's current one.
        """
        ...

    async def steps(self, turn: TurnRecord) -> Mapping[str, str]:
        """Read what the turn has done for good: key and result (JSON) of each step."""
        ...

    def add_step(self, turn: TurnRecord, attempt: int, key: str, result: str) -> Awaitable[bool]:
        """Keep the result of a step until the turn ends. False, and nothing written, if that attempt is out no more."""
        ...

    def take_waiting(
        self,
        turn: TurnRecord,
        attempt: int,
        taken: Callable[[Sequence[int]], Event],
        then: Callable[[Taken | None], None],
    ) -> Awaitable[Taken | None]:
        """Make what waits for the task part of the attempt that is out; the turns it came with have ended.

        ``taken`` gives the event from their ordinals. None, and nothing written, if that attempt is out no longer.
        """
        ...

    def steer(
        self, turn: TurnRecord, attempt: int, said: Steering, then: Callable[[TurnRecord | None], None]
    ) -> Awaitable[TurnRecord | None]:
        """Let a message wait for the task of the attempt that is out; a turn of its own is queued for it.

        The turn itself is answered if the message has been accepted before, None if that attempt is out no longer.

        Raises:
            Unavailable: it cannot be stored, or too many turns of the session wait.
        """
        ...

    def release(self, turn: TurnRecord, *, count_attempt: bool) -> Awaitable[None]:
        """Put an unfinished turn back into the queue, its attempt counted or given back; so is what it has taken."""
        ...

    async def unfinished(self) -> tuple[TurnRecord, ...]:
        """Read every turn that is accepted and not ended, in the order of acceptance."""
        ...

    async def history(self, session_id: str, *, until_turn: int, limit: int | None) -> tuple[tuple[bytes, int], ...]:
        """Read the last messages of a session as (body, at_us), oldest first.

        Messages of turns accepted after ``until_turn`` are left out: they have not been heard yet.
        """
        ...

    async def events_after(self, task_id: str, seq: int, limit: int) -> tuple[Committed, ...]:
        """Read at most ``limit`` events of a task after number ``seq``, in order."""
        ...
