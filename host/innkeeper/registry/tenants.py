"""Tenants: served agents, each with its settings, its plugins in their order, and a context per plugin."""

import dataclasses
import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from innkeeper.contract.agent import Agent, Skill
from innkeeper.contract.plugin import PluginContext
from innkeeper.registry.blames import Blame, Blames
from innkeeper.registry.charges import Charges
from innkeeper.registry.contexts import Contexts
from innkeeper.registry.facade import Hooks
from innkeeper.registry.fanout import Implementation
from innkeeper.registry.foreign import Strays
from innkeeper.registry.loading import LoadedPlugin
from innkeeper.registry.workspaces import Workspaces
from innkeeper.settings import Settings, TenantSettings, Turns

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Tenant:
    """An agent under a tenant id.

    ``agent`` has the tenant's overrides applied. ``plugins`` are the names of its plugins in the order in which their
    hooks are asked, ``plugin`` is the context of the one that registered the agent.
    """

    id: str
    agent: Agent
    plugins: tuple[str, ...]
    plugin: PluginContext
    hooks: Hooks
    workspaces: Workspaces
    turn_timeout: timedelta
    max_concurrent_turns: int
    queue_per_session: int
    queue_per_tenant: int
    allow_overrides: bool = True


@dataclass(frozen=True, slots=True)
class Stock:
    """What tenants are made of.

    ``agents`` holds each agent with the plugin that registered it, ``plugins`` the loaded ones in the order of their
    names, ``installed`` every name that is on the path, loaded or not. ``complete`` unless an agent may be missing for
    a reason that has been reported already.
    """

    agents: Mapping[str, tuple[str, Agent]]
    plugins: Mapping[str, LoadedPlugin]
    installed: Sequence[str]
    contexts: Contexts
    strays: Strays
    charges: Charges
    complete: bool = True


def implementations_at(
    plugins: Iterable[LoadedPlugin], contexts: Mapping[str, PluginContext]
) -> tuple[Implementation, ...]:
    """Give the implementations of plugins their contexts, in the order of ``contexts``."""
    by_name = {plugin.name: plugin for plugin in plugins}
    return tuple(
        Implementation(each.hook, name, each.function, each.argnames, each.options, context)
        for name, context in contexts.items()
        for each in by_name[name].hooks
    )


def hooks_at(contexts: Mapping[str, PluginContext], stock: Stock) -> Hooks:
    """Make the hooks of plugins with these contexts."""
    return Hooks(implementations_at(stock.plugins.values(), contexts), stock.strays, stock.charges)


def build_tenants(settings: Settings, stock: Stock, blames: Blames) -> tuple[dict[str, Tenant], dict[str, str]]:
    """Make the tenants of the settings, or one for each agent where there is no table of tenants.

    Returns the tenants by id, and for those that are left out the reason.
    """
    wanted = settings.tenants
    if wanted is None:
        wanted = {agent_id: TenantSettings() for agent_id in sorted(stock.agents)}
    for fault in _unknown_names(settings, wanted, stock.installed):
        blames.add(Blame(fault))
    tenants: dict[str, Tenant] = {}
    left_out: dict[str, str] = {}
    for tenant_id, own in wanted.items():
        agent_id = own.agent or tenant_id
        if agent_id not in stock.agents:
            left_out[tenant_id] = f"no plugin registers agent {agent_id!r}"
            if stock.complete:
                blames.add(Blame(_absent(tenant_id, agent_id, stock.agents)))
            continue
        plugin, agent = stock.agents[agent_id]
        contexts = _contexts(tenant_id, plugin, own, stock, blames)
        if plugin in contexts:
            tenants[tenant_id] = _tenant(
                tenant_id,
                contexts,
                plugin=plugin,
                agent=_overridden(agent, own),
                own=own,
                turns=settings.turns,
                stock=stock,
            )
        else:
            left_out[tenant_id] = own_plugin_barred(plugin)
    return tenants, left_out


def own_plugin_barred(plugin: str) -> str:
    """Say why a tenant is left out."""
    return f"plugin {plugin!r}, which brings its agent, is not served"


def without(tenant: Tenant, stock: Stock, blames: Blames) -> Tenant | None:
    """Take the plugins away that are barred from a tenant; None if the one that brings its agent is."""
    served = tuple(name for name in tenant.plugins if not blames.barred(name, tenant.id))
    if tenant.plugin.name not in served:
        return None
    if served == tenant.plugins:
        return tenant
    contexts = {each.plugin: each.context for each in tenant.hooks.implementations}
    hooks = hooks_at({name: contexts[name] for name in served}, stock)
    return dataclasses.replace(tenant, plugins=served, hooks=hooks, workspaces=Workspaces(hooks))


def _absent(tenant_id: str, agent_id: str, agents: Iterable[str]) -> str:
    return f"tenants.{tenant_id}.agent: no plugin registers {agent_id!r}{_hint(agent_id, agents)}"


def _unknown_names(settings: Settings, wanted: Mapping[str, TenantSettings], installed: Sequence[str]) -> Iterator[str]:
    """Say which plugins the settings name that are not there, or not used."""
    for name in settings.plugins:
        if name not in installed:
            yield f"plugins.{name}: no plugin {name!r} is installed{_hint(name, installed)}"
    for tenant_id, own in wanted.items():
        for name in own.use or ():
            if name not in installed:
                yield f"tenants.{tenant_id}.use: no plugin {name!r} is installed{_hint(name, installed)}"
        for name in own.plugins:
            if name not in installed:
                yield f"tenants.{tenant_id}.plugins.{name}: no plugin {name!r} is installed{_hint(name, installed)}"


def _contexts(
    tenant_id: str, own_plugin: str, own: TenantSettings, stock: Stock, blames: Blames
) -> dict[str, PluginContext]:
    """Make the contexts of the tenant's plugins, in the order in which their hooks are asked."""
    used = tuple(stock.plugins) if own.use is None else tuple(name for name in own.use if name in stock.plugins)
    names = used if own_plugin in used else (own_plugin, *used)
    for name in own.plugins:
        if stock.complete and name in stock.installed and name not in names:
            blames.add(Blame(f"tenants.{tenant_id}.plugins.{name}: the tenant does not use this plugin"))
    contexts: dict[str, PluginContext] = {}
    for name in names:
        context, faults = stock.contexts.make(stock.plugins[name], tenant_id)
        for fault in faults:
            blames.add(Blame(fault, name, tenant_id))
        if context is not None:
            contexts[name] = context
    _count_providers(tenant_id, [name for name in contexts if stock.plugins[name].has("workspace_backing")], blames)
    return {name: context for name, context in contexts.items() if not blames.barred(name, tenant_id)}


def _tenant(
    tenant_id: str,
    contexts: Mapping[str, PluginContext],
    *,
    plugin: str,
    agent: Agent,
    own: TenantSettings,
    turns: Turns,
    stock: Stock,
) -> Tenant:
    hooks = hooks_at(contexts, stock)
    return Tenant(
        id=tenant_id,
        agent=agent,
        plugins=tuple(contexts),
        plugin=contexts[plugin],
        hooks=hooks,
        workspaces=Workspaces(hooks),
        turn_timeout=agent.turn_timeout or turns.turn_timeout,
        max_concurrent_turns=_first(own.max_concurrent_turns, turns.max_concurrent_turns),
        queue_per_session=_first(own.queue_per_session, turns.queue_per_session),
        queue_per_tenant=_first(own.queue_per_tenant, turns.queue_per_tenant),
        allow_overrides=_first(own.allow_overrides, turns.allow_overrides),
    )


def _count_providers(tenant_id: str, providers: Sequence[str], blames: Blames) -> None:
    """Bar all providers of workspaces where there is more than one: none of them may win silently."""
    if len(providers) > 1:
        for name in providers:
            others = " and ".join(repr(other) for other in providers if other != name)
            reason = f"hook 'workspace_backing' may have one provider, and plugin {others} has it too"
            blames.add(Blame(reason, name, tenant_id))


def _overridden(agent: Agent, own: TenantSettings) -> Agent:
    """Apply the tenant's values to the agent; what was made of its name follows the new one."""
    fields = {field.name for field in dataclasses.fields(agent)}
    changes = {name: value for name in own.model_fields_set & fields if (value := getattr(own, name)) is not None}
    if "name" in changes and agent.description == agent.name:
        changes.setdefault("description", "")
    if agent.skills == (Skill(agent.id, name=agent.name, description=agent.description),):
        changes["skills"] = ()
    return dataclasses.replace(agent, **changes) if changes else agent


def _first(own: V | None, default: V) -> V:
    return default if own is None else own


def _hint(name: str, known: Iterable[str]) -> str:
    known = sorted(known)
    close = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; there are: {', '.join(known) or 'none'}"
