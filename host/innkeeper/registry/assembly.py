"""The registry of a host: everything from entry points to tenants, or every reason why not."""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint
from types import MappingProxyType
from typing import Any, Final

from innkeeper.contract.agent import Agent
from innkeeper.contract.plugin import PluginContext
from innkeeper.ports.plugin_data import PluginData
from innkeeper.registry.blames import Blame, Blames
from innkeeper.registry.charges import Charges
from innkeeper.registry.config import remember_references
from innkeeper.registry.contexts import Contexts
from innkeeper.registry.discovery import HOST, RESERVED, Discovery, PluginRecord, discover
from innkeeper.registry.facade import Hooks
from innkeeper.registry.fanout import Fault
from innkeeper.registry.foreign import Strays
from innkeeper.registry.loading import IMPORT_SECONDS, LoadedPlugin, load_plugins
from innkeeper.registry.outgoing import Clients
from innkeeper.registry.requirements import unmet
from innkeeper.registry.tenants import Stock, Tenant, build_tenants, implementations_at
from innkeeper.settings import Settings

log = logging.getLogger(__name__)

HOST_HOOKS: Final = frozenset({"register_agents", "web_app"})
"""The hooks that are asked at host scope when a host starts."""


@dataclass(frozen=True, slots=True)
class Registry:
    """What a host serves, and what it does not.

    ``notes`` are what is probably meant otherwise, or may not work, by plugin; "" stands for what is no plugin.
    ``records`` are the installed plugins, ``loaded`` those that were imported and found to be plugins, ``stock`` what
    is served of them and the agents they bring, ``web_apps`` the ASGI applications of plugins by plugin. ``left_out``
    are the tenants of the settings that are not served, with the reason; opening the tenants may add to these, and to
    the ``blames``.
    """

    records: tuple[PluginRecord, ...]
    loaded: Mapping[str, LoadedPlugin]
    stock: Stock
    web_apps: Mapping[str, Callable[..., Any]]
    tenants: Mapping[str, Tenant]
    left_out: dict[str, str]
    blames: Blames
    notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def strays(self) -> Strays:
        """Foreign code that had to be left behind."""
        return self.stock.strays


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the host hands to its plugins.

    ``environ`` is what ``${NAME}``, ``requires`` and ``plugin.env`` read, ``data`` where plugins keep their tables.
    """

    environ: Mapping[str, str]
    clients: Clients
    data: PluginData


async def load_registry(
    settings: Settings,
    surroundings: Surroundings,
    *,
    safe_mode: bool = False,
    entry_points: Iterable[EntryPoint] | None = None,
    reserved: frozenset[str] = RESERVED,
    import_seconds: float = IMPORT_SECONDS,
    strays: Strays | None = None,
    settle: bool = True,
) -> Registry:
    """Find, load and ask the installed plugins, and build the tenants.

    In safe mode none is loaded. ``entry_points`` are those of the path by default; ``reserved`` are names that no
    plugin may have. ``strays`` is the list of what is left behind, a new one by default. Unless it is to
    ``settle`` whatever is wrong, that is only in the registry's blames.

    Raises:
        StartFault: one line for each thing that is wrong, all of them at once; with ``on_broken_plugin`` "quarantine"
            only for what is no plugin's fault.
    """
    strays = strays or Strays()
    charges = Charges(strays.secrets)
    blames = Blames(quarantine=settings.host.on_broken_plugin == "quarantine", secrets=strays.secrets)
    contexts = Contexts(settings, surroundings.environ, surroundings.clients, surroundings.data, strays.secrets)
    remember_references(settings, surroundings.environ, strays.secrets)
    found = discover(entry_points, reserved=reserved)
    blames.know({record.name: record.brought_by for record in found.plugins})
    loaded = {} if safe_mode else await _load(found, surroundings.environ, strays, blames, import_seconds)
    at_host = _host_contexts(loaded.values(), contexts, blames)
    hooks = Hooks(implementations_at(loaded.values(), at_host), strays, charges)
    agents = await _agents(hooks, blames)
    web_apps = await _web_apps(hooks, blames)
    stock = Stock(
        agents={agent.id: (plugin, agent) for plugin, agent in agents if not blames.barred(plugin)},
        plugins={name: plugin for name, plugin in loaded.items() if not blames.barred(name)},
        installed=sorted({record.name for record in _records(found)}),
        contexts=contexts,
        strays=strays,
        charges=charges,
        complete=not (blames.any or safe_mode),
    )
    tenants, left_out = build_tenants(settings, stock, blames)
    notes = _notes(found, loaded)
    if settle:
        blames.settle()
        _log(notes)
    served = {name: app for name, app in web_apps.items() if not blames.barred(name)}
    return Registry(_records(found), loaded, stock, served, MappingProxyType(tenants), left_out, blames, notes)


def _log(notes: Mapping[str, Iterable[str]]) -> None:
    for plugin, noted in notes.items():
        for note in noted:
            log.warning("%s", f"plugin {plugin!r}: {note}" if plugin else note)


def _notes(found: Discovery, loaded: Mapping[str, LoadedPlugin]) -> dict[str, tuple[str, ...]]:
    notes = {"": tuple(map(str, found.strangers))}
    for plugin in loaded.values():
        lacking = (f"its distribution {reason}" for reason in unmet(found.requires.get(plugin.record, ()), HOST))
        notes[plugin.name] = (*lacking, *plugin.notes)
    return {name: noted for name, noted in notes.items() if noted}


async def _load(
    found: Discovery, environ: Mapping[str, str], strays: Strays, blames: Blames, import_seconds: float
) -> dict[str, LoadedPlugin]:
    """Load what can be loaded, and blame the rest."""
    loaded = await load_plugins(found.plugins, strays, deadline=import_seconds)
    for refused in (*found.refused, *loaded.broken):
        record = refused.record
        blames.add(Blame(refused.reason, record.name, distribution=record.brought_by))
    for plugin in loaded.plugins:
        if lacking := [name for name in dict.fromkeys(plugin.requires) if not environ.get(name)]:
            blames.add(Blame(f"requires {', '.join(lacking)} in the environment", plugin.name))
    return {plugin.name: plugin for plugin in loaded.plugins if not blames.barred(plugin.name)}


def _host_contexts(plugins: Iterable[LoadedPlugin], contexts: Contexts, blames: Blames) -> dict[str, PluginContext]:
    """Make the contexts at host scope, of the plugins that have something to be asked there.

    A configuration that none of that looks at may be complete at each tenant only.
    """
    made: dict[str, PluginContext] = {}
    for plugin in plugins:
        asked = [each for each in plugin.hooks if each.hook in HOST_HOOKS]
        if asked:
            looked_at = any("plugin" in each.argnames for each in asked)
            context, faults = contexts.make(plugin, None, needs_config=looked_at)
            for fault in faults:
                blames.add(Blame(fault, plugin.name))
            if context is not None:
                made[plugin.name] = context
    return made


async def _agents(hooks: Hooks, blames: Blames) -> list[tuple[str, Agent]]:
    """Collect the agents, each with its plugin; an id that several register is nobody's."""
    asked = await hooks.register_agents()
    _blame(asked.faults, blames)
    agents = [(plugin, agent) for plugin, brought in asked.answers for agent in brought]
    claims: dict[str, list[str]] = {}
    for plugin, agent in agents:
        claims.setdefault(agent.id, []).append(plugin)
    for agent_id, plugins in claims.items():
        if len(plugins) > 1:
            for name in dict.fromkeys(plugins):
                rest = " and ".join(f"plugin {other!r}" for other in plugins if other != name) or "itself again"
                blames.add(Blame(f"it registers agent {agent_id!r}, and so does {rest}", name))
    return agents


async def _web_apps(hooks: Hooks, blames: Blames) -> dict[str, Callable[..., Any]]:
    asked = await hooks.web_app()
    _blame(asked.faults, blames)
    return dict(asked.answers)


def _blame(faults: Iterable[Fault], blames: Blames) -> None:
    for fault in faults:
        blames.add(Blame(f"hook {fault.hook!r} {fault.reason}", fault.plugin))


def _records(found: Discovery) -> tuple[PluginRecord, ...]:
    return tuple(sorted((*found.plugins, *(refused.record for refused in found.refused))))
