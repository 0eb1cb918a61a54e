"""What comes in: a message from the edge, and what becomes of it on its way to the store."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from innkeeper.contract.caller import Caller
from innkeeper.contract.message import JSON
from innkeeper.ports.events import Event, State, Status
from innkeeper.ports.push import PushConfig
from innkeeper.ports.store import Admission
from innkeeper.registry.tenants import Tenant
from innkeeper.turns.means import Means


def nobody(uri: str) -> None:
    """Stand for nobody who waits to hear of extensions."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A message as it comes from the edge.

    ``body`` is what is stored of it, ``digest`` identifies it as it was sent, ``task_id`` and ``context_id`` are those
    the caller named, ``metadata`` that of the request overlaid by that of the message. ``push`` is to be kept with the
    task. ``extensions`` are those that the caller asks for, ``activated`` is told which of them the turn follows.
    """

    message_id: str
    digest: bytes
    body: bytes
    task_id: str | None = None
    context_id: str | None = None
    metadata: Mapping[str, JSON] = field(default_factory=dict)
    push: PushConfig | None = None
    extensions: tuple[str, ...] = ()
    activated: Callable[[str], None] = field(default=nobody, repr=False, compare=False)


def admission_from_submission(means: Means, tenant: Tenant, caller: Caller, submission: Submission) -> Admission:
    """Make what the store is asked to accept: the message, fresh ids, and the event that opens a new task."""
    now = means.world.now_us()

    def submitted(task_id: str, context_id: str) -> Event:
        status = means.codec.status(Status(State.SUBMITTED, now), task_id, context_id)
        body = means.codec.opening(status, task_id, context_id, submission.body)
        return Event("task", now, body, State.SUBMITTED, status)

    return Admission(
        tenant=tenant.id,
        caller=caller,
        message_id=submission.message_id,
        digest=submission.digest,
        message=submission.body,
        at_us=now,
        task_id=submission.task_id,
        context_id=submission.context_id,
        new_task_id=means.world.new_id(),
        new_context_id=means.world.new_id(),
        new_session_id=means.world.new_id(),
        submitted=submitted,
        accepted=Event("message", now),
        metadata=submission.metadata,
        session_per_context=tenant.agent.session_scope == "context",
        idempotent=tenant.agent.idempotent_messages,
        queue_per_session=tenant.queue_per_session,
        push=submission.push,
        extensions=tuple(each.uri for each in tenant.agent.extensions if each.uri in submission.extensions),
    )
