"""How a turn ends, as the event that says so."""

from datetime import timedelta
from typing import Final

from innkeeper.contract.message import Message, Part
from innkeeper.ports.events import INTERRUPTED, Event, State, Status
from innkeeper.ports.running import Outcome
from innkeeper.ports.store import Ending, TaskRecord, TaskView, TurnRecord
from innkeeper.turns.means import Means
from innkeeper.turns.names import Names
from innkeeper.turns.outlet import status_event

INTERRUPTED_TEXT: Final = "The turn was interrupted and is not run again"


def closing(means: Means, record: TurnRecord, outcome: Outcome, *, more: bool) -> Event | None:
    """Encode how a turn closes; while further messages to its task wait, what was said is only progress."""
    if more and not outcome.parts:
        return None
    names = Names(record)
    asks = outcome.state in INTERRUPTED
    now = means.world.now_us()
    message = None
    if outcome.parts:
        message_id = names.ask if asks else names.reply if more else names.final
        message = Message(message_id, "agent", outcome.parts, means.world.datetime_from_us(now))
    state = State.WORKING if more else outcome.state
    return status_event(means.codec, Status(state, now, message), record, keep=True)


def whole_task(record: TurnRecord, last: Event, artifacts: bytes | None) -> TaskView | None:
    """Return the task of one turn as its last event leaves it; its number is not known yet."""
    if last.state is None:
        return None
    task = TaskRecord(
        id=record.task_id,
        tenant=record.tenant,
        caller_key=record.caller.key,
        session_id=record.session_id,
        context_id=record.context_id,
        state=last.state,
        status=last.status,
        status_at_us=last.at_us,
        seq=0,
    )
    return TaskView(task, (record.message,), artifacts or b"[]")


def interrupted(means: Means, record: TurnRecord) -> Ending:
    """Return the ending of a turn that a crash cut short and that is not run again."""
    return Ending(lambda more: closing(means, record, failed(INTERRUPTED_TEXT), more=more))


def failed(text: str) -> Outcome:
    """Return the outcome of a turn that fails with these words."""
    return Outcome(State.FAILED, (Part(text=text, media_type="text/plain"),))


def timed_out(limit: timedelta) -> Outcome:
    """Return the outcome of a turn that took longer than its limit."""
    return failed(f"The turn took longer than {limit.total_seconds():g} s and was stopped")
