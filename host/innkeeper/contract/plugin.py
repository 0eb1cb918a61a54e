"""What a plugin gets from its host."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from innkeeper.contract.errors import InnkeeperError
from innkeeper.contract.tables import Database

if TYPE_CHECKING:
    from httpx import AsyncClient

HOST_PREFIX: Final = "INNKEEPER_"
"""Environment variables of this prefix are the host's own."""


class UnknownTenant(InnkeeperError):
    """The plugin has no such tenant within reach: none is served under that id, or the caller may not address it."""

    def __init__(self, tenant: str) -> None:
        super().__init__(f"no tenant {tenant!r} is within reach of this plugin")


def _no_tenant(tenant: str) -> "PluginContext":
    raise UnknownTenant(tenant)


@dataclass(frozen=True, slots=True)
class PluginContext:
    """A plugin's view of the host, made per plugin and tenant; ``tenant`` is None at host scope.

    ``config`` is an instance of the plugin's own ``Config`` with the tenant's values over the host's, None for a plugin
    without one. ``db`` are the plugin's tables for this tenant, None at host scope. ``http`` is the plugin's
    client at all its tenants: it keeps no cookies, follows no redirects and is closed by the host. ``log`` is a logger
    that names plugin and tenant. ``state`` lives in memory as long as the tenant and belongs to the plugin alone.
    """

    name: str
    tenant: str | None
    log: logging.LoggerAdapter[logging.Logger]
    http: "AsyncClient"
    config: Any = field(default=None, repr=False)
    db: Database = None  # type: ignore[assignment] # not Optional: who has a tenant has a database, and need not ask
    state: dict[str, Any] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    tenants: Callable[[str], "PluginContext"] = field(default=_no_tenant, repr=False)

    def env(self, name: str) -> str | None:
        """Return an environment variable; None if it is not set or empty.

        Raises:
            ValueError: the variable is the host's own.
        """
        if name.startswith(HOST_PREFIX):
            raise ValueError(f"environment {name}: variables of the host are not for plugins")
        return self.environ.get(name) or None

    def for_tenant(self, tenant: str) -> "PluginContext":
        """Return this plugin's context at a tenant; for what runs at host scope, such as pages and commands.

        Raises:
            ValueError: this is a tenant's context already.
            UnknownTenant: the plugin is not in use at such a tenant; in a page: or its caller may not address it.
        """
        if self.tenant is not None:
            raise ValueError(f"for_tenant({tenant!r}): this is the context at tenant {self.tenant!r}")
        return self.tenants(tenant)
