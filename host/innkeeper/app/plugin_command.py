"""The commands of one plugin, with what a host would hand to it, and without a host."""

import asyncio
import dataclasses
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import click

from innkeeper.contract.errors import StartFault
from innkeeper.contract.names import ID_PATTERN
from innkeeper.contract.plugin import PluginContext, UnknownTenant
from innkeeper.registry.charges import Charges
from innkeeper.registry.config import remember_references
from innkeeper.registry.contexts import Contexts
from innkeeper.registry.discovery import PluginRecord
from innkeeper.registry.facade import Hooks
from innkeeper.registry.fanout import HookFailed
from innkeeper.registry.foreign import Strays
from innkeeper.registry.loading import IMPORT_SECONDS, LoadedPlugin, load_plugins
from innkeeper.registry.outgoing import Clients
from innkeeper.registry.secrets import Secrets
from innkeeper.registry.tenants import implementations_at
from innkeeper.settings import Settings
from innkeeper.store.plugin_databases import PluginDatabases

log = logging.getLogger(__name__)


@contextmanager
def plugin_command(
    record: PluginRecord,
    settings: Settings,
    environ: Mapping[str, str],
    *,
    secrets: Secrets | None = None,
    import_seconds: float = IMPORT_SECONDS,
) -> Iterator[click.Group]:
    """Import a plugin, ask it for its commands, and close what they have used at the end; no event loop may run.

    ``secrets`` hears of those of the plugin.

    Raises:
        StartFault: a line for each thing that is wrong with the plugin.
    """
    strays = Strays(secrets)
    remember_references(settings, environ, strays.secrets)
    plugin = asyncio.run(_loaded(record, environ, strays, import_seconds))
    data, clients = PluginDatabases(settings.host.data_dir), Clients()
    try:
        contexts = Contexts(settings, environ, clients, data, strays.secrets)
        context = dataclasses.replace(_context(contexts, plugin, None), tenants=_on_demand(contexts, plugin, settings))
        try:
            commands = Hooks(
                implementations_at((plugin,), {plugin.name: context}), strays, Charges(strays.secrets)
            ).cli()
        except HookFailed as failed:
            raise StartFault(*(f"{record}: hook {each.hook!r} {each.reason}" for each in failed.faults)) from failed
        yield commands
    finally:
        asyncio.run(_closed(data, clients))


async def _loaded(
    record: PluginRecord, environ: Mapping[str, str], strays: Strays, import_seconds: float
) -> LoadedPlugin:
    loaded = await load_plugins([record], strays, deadline=import_seconds)
    if loaded.broken:
        raise StartFault(*map(str, loaded.broken))
    (plugin,) = loaded.plugins
    if not plugin.has("cli"):
        raise StartFault(f"{record}: it brings no commands")
    if lacking := [name for name in plugin.requires if not environ.get(name)]:
        raise StartFault(f"{record}: requires {', '.join(lacking)} in the environment")
    return plugin


def _context(contexts: Contexts, plugin: LoadedPlugin, tenant: str | None) -> PluginContext:
    context, faults = contexts.make(plugin, tenant)
    if context is None:
        at = f" at tenant {tenant!r}" if tenant else ""
        raise StartFault(*(f"{plugin.record}{at}: {fault}" for fault in faults))
    return context


def _on_demand(contexts: Contexts, plugin: LoadedPlugin, settings: Settings) -> Callable[[str], PluginContext]:
    """Make the contexts at tenants as they are asked for; without a table of tenants any well-formed id may be one."""
    made: dict[str, PluginContext] = {}

    def find(tenant: str) -> PluginContext:
        known = ID_PATTERN.fullmatch(tenant) if settings.tenants is None else tenant in settings.tenants
        if not known:
            raise UnknownTenant(tenant)
        if tenant not in made:
            made[tenant] = _context(contexts, plugin, tenant)
        return made[tenant]

    return find


async def _closed(data: PluginDatabases, clients: Clients) -> None:
    await data.aclose()
    try:
        await clients.end()
    except RuntimeError as error:
        log.debug("connections of a loop that is closed: %s", error)  # they ended with it
