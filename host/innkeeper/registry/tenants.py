"""Tenants: served agents, each with its settings, its plugins in their order, and a context per plugin."""

import dataclasses
import difflib
import logging
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType
from typing import Any, TypeVar

from innkeeper.contract.agent import Agent, Skill
from innkeeper.contract.plugin import PluginContext
from innkeeper.registry.facade import Hooks
from innkeeper.registry.fanout import Implementation
from innkeeper.registry.foreign import Strays
from innkeeper.registry.loading import Loaded
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
    turn_timeout: timedelta
    max_concurrent_turns: int
    queue_per_session: int
    queue_per_tenant: int


@dataclass(frozen=True, slots=True)
class Stock:
    """What tenants are made of.

    ``agents`` holds each agent with the plugin that registered it, ``plugins`` the loaded ones in the order of their
    names, ``installed`` every name that is on the path, loaded or not. ``complete`` unless some plugin could not bring
    its agents.
    """

    agents: Sequence[tuple[str, Agent]]
    plugins: Sequence[str]
    installed: Sequence[str]
    implementations: Sequence[Loaded]
    strays: Strays
    complete: bool = True


class PluginLog(logging.LoggerAdapter[logging.Logger]):
    """Names plugin and tenant in front of each message, and as fields of the record."""

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        """Add the names; a record's own extra fields stay."""
        names = dict(self.extra or {})
        kwargs["extra"] = {**(kwargs.get("extra") or {}), **names}
        return f"[{'@'.join(str(name) for name in names.values() if name)}] {msg}", kwargs


def context_for(plugin: str, tenant: str | None) -> PluginContext:
    """Make the context of a plugin at a tenant, or at host scope."""
    logger = logging.getLogger(f"innkeeper.plugins.{plugin}")
    return PluginContext(plugin, tenant, PluginLog(logger, {"plugin": plugin, "tenant": tenant}))


def implementations_at(loaded: Iterable[Loaded], contexts: Mapping[str, PluginContext]) -> tuple[Implementation, ...]:
    """Give the implementations of these plugins their contexts, in the order of ``contexts``."""
    loaded = tuple(loaded)
    return tuple(
        Implementation(each.hook, each.plugin, each.function, each.argnames, each.options, context)
        for plugin, context in contexts.items()
        for each in loaded
        if each.plugin == plugin
    )


def build_tenants(settings: Settings, stock: Stock) -> tuple[Mapping[str, Tenant], tuple[str, ...]]:
    """Make the tenants of the settings, or one for each agent where there is no table of tenants.

    Returns the tenants by id, and a line for each fault.
    """
    faults = list(_clashes(stock.agents))
    agents = {agent.id: (plugin, agent) for plugin, agent in stock.agents}
    wanted = settings.tenants
    if wanted is None:
        wanted = {agent_id: TenantSettings() for agent_id in sorted(agents)}
    tenants: dict[str, Tenant] = {}
    for tenant_id, own in wanted.items():
        faults.extend(
            f"tenants.{tenant_id}.use: no plugin {name!r} is installed{_hint(name, stock.installed)}"
            for name in own.use or ()
            if name not in stock.installed
        )
        agent_id = own.agent or tenant_id
        if agent_id in agents:
            tenants[tenant_id] = _tenant(tenant_id, own, settings.turns, agents[agent_id], stock)
        elif stock.complete:  # else the agent may be missing for a reason that is reported already
            faults.append(f"tenants.{tenant_id}.agent: no plugin registers {agent_id!r}{_hint(agent_id, agents)}")
    return MappingProxyType(tenants), tuple(faults)


def _clashes(agents: Iterable[tuple[str, Agent]]) -> Iterable[str]:
    owners: dict[str, list[str]] = {}
    for plugin, agent in agents:
        owners.setdefault(agent.id, []).append(plugin)
    for agent_id, plugins in owners.items():
        if len(plugins) > 1:
            yield f"agent {agent_id!r} is registered by more than one: {', '.join(map(repr, plugins))}"


def _tenant(tenant_id: str, own: TenantSettings, turns: Turns, origin: tuple[str, Agent], stock: Stock) -> Tenant:
    plugin, agent = origin
    used = stock.plugins if own.use is None else tuple(name for name in own.use if name in stock.plugins)
    names = tuple(used) if plugin in used else (plugin, *used)
    contexts = {name: context_for(name, tenant_id) for name in names}
    served = _overridden(agent, own)
    return Tenant(
        id=tenant_id,
        agent=served,
        plugins=names,
        plugin=contexts[plugin],
        hooks=Hooks(implementations_at(stock.implementations, contexts), stock.strays),
        turn_timeout=served.turn_timeout or turns.turn_timeout,
        max_concurrent_turns=_first(own.max_concurrent_turns, turns.max_concurrent_turns),
        queue_per_session=_first(own.queue_per_session, turns.queue_per_session),
        queue_per_tenant=_first(own.queue_per_tenant, turns.queue_per_tenant),
    )


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
