"""What there is to know of the plugins of a host, as data: for ``innkeeper plugins --load`` and ``/plugins.json``."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, cast

from innkeeper.contract.message import JSON
from innkeeper.registry.assembly import HOST_HOOKS, Registry
from innkeeper.registry.blames import Blame
from innkeeper.registry.config import source_from_settings
from innkeeper.registry.discovery import PluginRecord
from innkeeper.registry.fanout import Implementation, in_order
from innkeeper.registry.loading import Loaded, LoadedPlugin
from innkeeper.registry.tenants import Tenant
from innkeeper.settings import Settings


def listing(registry: Registry, settings: Settings, tenants: Mapping[str, Tenant] | None = None) -> dict[str, JSON]:
    """List every installed plugin, and every tenant; ``tenants`` are those that are served, default: the registry's.

    Configuration is shown as it is written, ``${NAME}`` unexpanded and secrets hidden; that of a plugin which could not
    be loaded is not shown, since nobody knows what of it is secret.
    """
    served = registry.tenants if tenants is None else tenants
    return {
        "plugins": [_plugin(record, registry, settings, served) for record in registry.records],
        "call_order": _call_order(
            each for plugin in registry.stock.plugins.values() for each in plugin.hooks if each.hook in HOST_HOOKS
        ),
        "tenants": [_tenant(tenant) for tenant in served.values()],
        "left_out": [{"tenant": tenant, "reason": reason} for tenant, reason in registry.left_out.items()],
        "faults": [str(blame) for blame in registry.blames.of_the_host],
        "notes": list(registry.notes.get("", ())),
        "strays": [*registry.strays.names()],
    }


def _plugin(
    record: PluginRecord, registry: Registry, settings: Settings, tenants: Mapping[str, Tenant]
) -> dict[str, JSON]:
    loaded = registry.loaded.get(record.name)
    if loaded is not None and loaded.record != record:
        loaded = None  # another distribution's plugin of the same name
    reasons = [_reason(blame) for blame in registry.blames.of_plugins if _is_about(blame, record)]
    state = "quarantined" if reasons else "served" if loaded is not None else "not loaded"
    return {
        "name": record.name,
        "version": record.version,
        "distribution": record.distribution,
        "entry_point": record.entry_point,
        "state": state,
        "reasons": reasons,
        "notes": list(registry.notes.get(record.name, ())) if loaded is not None else [],
        **_described(loaded, settings),
        "page": f"/plugins/{record.name}/" if state == "served" and record.name in registry.web_apps else None,
        "faults": [
            {"hook": charge.hook, "tenant": charge.tenant or None, "count": count}
            for charge, count in sorted(registry.stock.charges.counts.items())
            if charge.plugin == record.name
        ],
        "dropped_events": {
            tenant.id: dropped
            for tenant in tenants.values()
            if (dropped := tenant.hooks.dropped_events.get(record.name, 0))
        },
    }


def _described(plugin: LoadedPlugin | None, settings: Settings) -> dict[str, JSON]:
    """Say what a plugin declares; None where that is not known."""
    if plugin is None:
        return dict.fromkeys(("import_ms", "hooks", "schema_version", "requires", "config", "tenant_config"))
    own = [tenant for tenant, table in (settings.tenants or {}).items() if plugin.name in table.plugins]
    return {
        "import_ms": round(plugin.import_ms, 1),
        "hooks": sorted(each.hook for each in plugin.hooks),
        "schema_version": plugin.schema_version,
        "requires": list(plugin.requires),
        "config": _config(plugin, settings, None),
        "tenant_config": {tenant: _config(plugin, settings, tenant) for tenant in own},
    }


def _config(plugin: LoadedPlugin, settings: Settings, tenant: str | None) -> JSON:
    """Show the configuration at a tenant, or at host scope; None for a plugin that takes none."""
    if plugin.config is None:
        return None
    shown: dict[str, Any] = source_from_settings(settings, plugin.name, tenant).shown(plugin.config)
    return cast("JSON", json.loads(json.dumps(shown, default=str)))  # TOML has dates, JSON has none


def _is_about(blame: Blame, record: PluginRecord) -> bool:
    return blame.plugin == record.name and blame.distribution in ("", record.brought_by)


def _reason(blame: Blame) -> dict[str, JSON]:
    return {"tenant": blame.tenant or None, "reason": blame.reason}


def _tenant(tenant: Tenant) -> dict[str, JSON]:
    return {
        "tenant": tenant.id,
        "agent": tenant.agent.id,
        "plugin": tenant.plugin.name,
        "plugins": list(tenant.plugins),
        "call_order": _call_order(
            each for each in tenant.hooks.implementations if each.hook not in HOST_HOOKS and each.hook != "cli"
        ),
    }


def _call_order(implementations: Iterable[Loaded | Implementation]) -> dict[str, JSON]:
    """Return for each hook the names of its plugins, in the order in which they are asked."""
    order: dict[str, list[str]] = {}
    for each in in_order(implementations):
        order.setdefault(each.hook, []).append(each.plugin)
    return {hook: list(order[hook]) for hook in sorted(order)}
