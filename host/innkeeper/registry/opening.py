"""Opening tenants: their plugins' tables are brought up to date, their lifespans entered and, at the end, left."""

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from functools import partial
from typing import Final

import anyio

from innkeeper.contract.errors import StartFault, Unavailable
from innkeeper.contract.hooks import HOOKS
from innkeeper.contract.tables import Database, DatabaseError
from innkeeper.ports.plugin_data import PluginData
from innkeeper.registry.assembly import Registry
from innkeeper.registry.blames import Blame
from innkeeper.registry.fanout import HookFailed
from innkeeper.registry.holding import Holding
from innkeeper.registry.tenants import Tenant, own_plugin_barred, without

MIGRATION_SECONDS: Final = HOOKS["ensure_tables"].seconds + 10
"""How long a migration may take in all; the hook itself has its own deadline within that."""

AT_ONCE: Final = 8
"""How many tenants are opened at the same time."""


@asynccontextmanager
async def open_tenants(
    registry: Registry,
    data: PluginData,
    pages: AbstractAsyncContextManager[object] | None = None,
    hurry: asyncio.Event | None = None,
) -> AsyncIterator[Mapping[str, Tenant]]:
    """Open the tenants of a registry, and close them.

    ``pages`` are those of plugins, which use what the tenants have: entered last and left first. ``hurry`` may be set
    to cut short what takes its time when the tenants are closed, which is at all of them at the same time.

    Gives the tenants that are served: with quarantine, without the plugins and tenants that could not be opened.

    Raises:
        StartFault: one line for each plugin and tenant that could not be opened; what had been opened is closed.
    """
    held: dict[str, list[Holding]] = {tenant_id: [] for tenant_id in registry.tenants}
    try:
        await _each(registry.tenants.values(), lambda tenant: _migrate(registry, tenant, data))
        await _each(_served(registry), lambda tenant: _enter(registry, tenant, held[tenant.id]))
        async with pages or nullcontext():
            registry.blames.settle()
            served = {tenant.id: tenant for tenant in _served(registry)}
            _note_the_rest(registry, served)
            await _each(
                registry.tenants.values(), lambda tenant: _leave_unserved(held[tenant.id], served.get(tenant.id))
            )
            try:
                yield served
            finally:
                with anyio.CancelScope(shield=True):
                    await _each(served.values(), lambda tenant: tenant.hooks.close(), at_once=math.inf)
    finally:
        with anyio.CancelScope(shield=True):
            leave = partial(_leave, held, hurry or asyncio.Event())
            await _each(registry.tenants.values(), leave, at_once=math.inf)


async def _each(tenants: Iterable[Tenant], step: Callable[[Tenant], Awaitable[None]], at_once: float = AT_ONCE) -> None:
    """Take a step at every tenant, at several at the same time."""
    room = anyio.CapacityLimiter(at_once)

    async def take(tenant: Tenant) -> None:
        async with room:
            await step(tenant)

    async with anyio.create_task_group() as steps:
        for tenant in tenants:
            steps.start_soon(take, tenant)


def _served(registry: Registry) -> list[Tenant]:
    """Return the tenants as they are without what has been barred meanwhile."""
    tenants = (without(tenant, registry.stock, registry.blames) for tenant in registry.tenants.values())
    return [tenant for tenant in tenants if tenant is not None]


def _note_the_rest(registry: Registry, served: Mapping[str, Tenant]) -> None:
    """List the tenants that are left out, and put what is not served out of the reach of pages."""
    for tenant in registry.tenants.values():
        if tenant.id not in served:
            registry.left_out[tenant.id] = own_plugin_barred(tenant.plugin.name)
        kept = served[tenant.id].plugins if tenant.id in served else ()
        for name in set(tenant.plugins).difference(kept):
            registry.stock.contexts.drop(name, tenant.id)


async def _migrate(registry: Registry, tenant: Tenant, data: PluginData) -> None:
    """Bring the tables of a tenant's plugins up to date, one plugin after the other in the order of their hooks."""
    for each in tenant.hooks.implementations:
        declared = registry.stock.plugins[each.plugin].schema_version
        if each.hook != "ensure_tables" or declared is None:
            continue

        async def ensure(db: Database, version: int, plugin: str = each.plugin) -> None:
            await tenant.hooks.ensure_tables(plugin, db, version)

        try:
            with anyio.fail_after(MIGRATION_SECONDS):
                await data.migrate(each.plugin, tenant.id, declared, ensure)
        except HookFailed as failed:
            for fault in failed.faults:
                registry.blames.add(Blame(f"hook {fault.hook!r} {fault.reason}", each.plugin, tenant.id))
        except (StartFault, DatabaseError, Unavailable) as error:
            registry.blames.add(Blame(str(error), each.plugin, tenant.id))
        except TimeoutError:
            reason = f"its tables are not up to date after {MIGRATION_SECONDS:g} s, rolled back"
            registry.blames.add(Blame(reason, each.plugin, tenant.id))


async def _enter(registry: Registry, tenant: Tenant, held: list[Holding]) -> None:
    """Enter the lifespans of a tenant; a plugin whose lifespan cannot be entered is not served there."""
    for holding in tenant.hooks.lifespan():
        if fault := await holding.enter():
            registry.blames.add(Blame(f"hook {fault.hook!r} {fault.reason}", fault.plugin, tenant.id))
        else:
            held.append(holding)


async def _leave_unserved(held: list[Holding], tenant: Tenant | None) -> None:
    """Leave the lifespans of plugins that turned out not to be served at a tenant, or of a whole one that is not."""
    served = () if tenant is None else tenant.plugins
    for holding in reversed([each for each in held if each.plugin not in served]):
        held.remove(holding)
        await holding.leave(asyncio.Event())


async def _leave(held: Mapping[str, list[Holding]], hurry: asyncio.Event, tenant: Tenant) -> None:
    for holding in reversed(held[tenant.id]):
        await holding.leave(hurry)
