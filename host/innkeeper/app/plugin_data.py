"""The data of a plugin at a tenant, looked at and removed without a host."""

import difflib
from pathlib import Path

from innkeeper.contract.errors import StartFault
from innkeeper.contract.names import ID_PATTERN
from innkeeper.ports.plugin_data import PluginDataFile
from innkeeper.registry.discovery import discover
from innkeeper.settings import Settings
from innkeeper.store.data_dir import sole_use
from innkeeper.store.plugin_databases import PluginDatabases


async def look_at_data(settings: Settings, plugin: str, tenant: str, *, purge: bool) -> PluginDataFile:
    """Describe the data of a plugin at a tenant; with ``purge`` it is removed after that.

    Raises:
        StartFault: there is no such plugin, installed or with data, or it has no data there; the data cannot be read;
            it is to be removed and a host uses it.
    """
    data = PluginDatabases(settings.host.data_dir)
    try:
        installed = {record.name for record in discover().plugins}
        tenants = data.tenants_of(plugin) if ID_PATTERN.fullmatch(plugin) else ()
        if plugin not in installed and not tenants:
            close = difflib.get_close_matches(plugin, installed, n=1)
            meant = f"; did you mean {close[0]!r}?" if close else ""
            raise StartFault(f"there is no plugin {plugin!r}, neither installed nor with data{meant}")
        described = await data.describe(plugin, tenant) if tenant in tenants else None
        if described is None:
            has = f"it has some at: {', '.join(tenants)}" if tenants else "it has none at all"
            raise StartFault(f"plugin {plugin!r} has no data at tenant {tenant!r}; {has}")
        if purge:
            await _purge(data, settings.host.data_dir, plugin, tenant)
        return described
    finally:
        await data.aclose()


async def _purge(data: PluginDatabases, data_dir: Path, plugin: str, tenant: str) -> None:
    try:
        with sole_use(data_dir):
            await data.purge(plugin, tenant)
    except StartFault as fault:
        raise StartFault(*(f"nothing is removed: {each}" for each in fault.faults)) from fault
