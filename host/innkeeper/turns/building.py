"""The turn as its handler gets it."""

from copy import deepcopy

from innkeeper.contract.turn import Outlet, Turn
from innkeeper.ports.store import Choice, TurnRecord
from innkeeper.registry.tenants import Tenant
from innkeeper.turns.means import Means
from innkeeper.turns.plugins import TurnPlugins
from innkeeper.turns.session import TurnSession


def build_turn(
    means: Means,
    tenant: Tenant,
    record: TurnRecord,
    plugins: TurnPlugins,
    *,
    outlet: Outlet,
    choice: Choice,
    attempt: int,
) -> Turn:
    """Make the turn of an attempt; what one who gets it changes, nobody else sees."""
    return Turn(
        message=means.codec.message_from_body(record.message, record.message_at_us),
        task_id=record.task_id,
        context_id=record.context_id,
        tenant=record.tenant,
        caller=record.caller,
        metadata=deepcopy(record.metadata),
        attempt=attempt,
        session=TurnSession(record.session_id, record.tenant, record.caller, record.context_id, record.id, means),
        plugin=tenant.plugin,
        workspace=plugins.workspace(),
        capabilities=plugins.capabilities,
        outlet=outlet,
        preset=next((preset for preset in tenant.agent.presets if preset.id == choice.preset), None),
        model=choice.model or None,
        provider=choice.provider or None,
        requested_extensions=record.extensions,
    )
