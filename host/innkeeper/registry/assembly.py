"""The registry of a host: everything from entry points to tenants, or every reason why not."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint

from innkeeper.contract.errors import StartFault
from innkeeper.registry.discovery import RESERVED, PluginRecord, discover
from innkeeper.registry.facade import Hooks
from innkeeper.registry.foreign import Strays
from innkeeper.registry.loading import load_plugins
from innkeeper.registry.tenants import Stock, Tenant, build_tenants, context_for, implementations_at
from innkeeper.settings import Settings


@dataclass(frozen=True, slots=True)
class Registry:
    """What a host serves: its plugins, its tenants by id, and the list of foreign code that it had to leave behind."""

    plugins: tuple[PluginRecord, ...]
    tenants: Mapping[str, Tenant]
    strays: Strays


async def load_registry(
    settings: Settings,
    *,
    entry_points: Iterable[EntryPoint] | None = None,
    reserved: frozenset[str] = RESERVED,
) -> Registry:
    """Find, load and ask the installed plugins, and build the tenants.

    ``entry_points`` are those of the path by default; ``reserved`` are names that no plugin may have.

    Raises:
        StartFault: one line for each thing that is wrong, all of them at once.
    """
    strays = Strays()
    found = discover(entry_points, reserved=reserved)
    loaded = load_plugins(found.plugins)
    names = [record.name for record in loaded.plugins]
    contexts = {name: context_for(name, None) for name in names}
    registered = await Hooks(implementations_at(loaded.implementations, contexts), strays).register_agents()
    broken = (*map(str, found.refused), *map(str, loaded.broken), *registered.faults)
    stock = Stock(
        agents=registered.agents,
        plugins=names,
        installed=sorted(
            {record.name for record in found.plugins} | {refused.record.name for refused in found.refused}
        ),
        implementations=loaded.implementations,
        strays=strays,
        complete=not broken,
    )
    tenants, misfits = build_tenants(settings, stock)
    if broken or misfits:
        raise StartFault(*broken, *misfits)
    return Registry(loaded.plugins, tenants, strays)
