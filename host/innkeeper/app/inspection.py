"""The registry of a host that is not started: for commands that look at plugins."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

from innkeeper.registry.assembly import Registry, Surroundings, load_registry
from innkeeper.registry.config import remember_values
from innkeeper.registry.discovery import discover
from innkeeper.registry.foreign import Strays
from innkeeper.registry.loading import load_plugins
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


async def faults_without_settings(written: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Say what is wrong with the plugins whatever the settings are: that they cannot be loaded.

    ``written`` is the file of settings, whatever it holds: what it takes from the environment may be secret.
    """
    strays, found = Strays(), discover()
    remember_values(written, environ, strays.secrets)
    loaded = await load_plugins(found.plugins, strays)
    return tuple(map(str, (*found.refused, *loaded.broken)))
