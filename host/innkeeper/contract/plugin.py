"""What a plugin gets from its host."""

import logging
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class PluginContext:
    """A plugin's view of the host, made per plugin and tenant.

    ``tenant`` is None at host scope. ``log`` is a logger that names plugin and tenant. ``state`` lives in memory as
    long as the tenant and belongs to the plugin alone.
    """

    name: str
    tenant: str | None
    log: logging.LoggerAdapter[logging.Logger]
    state: dict[str, Any] = field(default_factory=dict)
