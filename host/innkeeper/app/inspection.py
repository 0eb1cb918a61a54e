"""The registry of a host that is not started: for commands that look at plugins."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

from innkeeper.registry.assembly import Registry, Surroundings, load_registry
from innkeeper.registry.outgoing import Clients
from innkeeper.settings import Settings
from innkeeper.store.plugin_databases import PluginDatabases


@asynccontextmanager
async def surroundings_of(settings: Settings, environ: Mapping[str, str]) -> AsyncIterator[Surroundings]:
    """Give plugins what a host gives them, and take it back."""
    async with AsyncExitStack() as owned:
        clients = Clients()
        owned.push_async_callback(clients.end)
        data = PluginDatabases(settings.host.data_dir)
        owned.push_async_callback(data.aclose)
        yield Surroundings(environ, clients, data)


async def inspect(settings: Settings, environ: Mapping[str, str], *, settle: bool = True) -> Registry:
    """Load the plugins and build the tenants as a host would, without opening them.

    Raises:
        StartFault: as ``load_registry`` says; none unless it is to ``settle`` what is wrong.
    """
    async with surroundings_of(settings, environ) as surroundings:
        return await load_registry(settings, surroundings, settle=settle)
