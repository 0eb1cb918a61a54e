"""The contexts of plugins: one per plugin at host scope, one per plugin and tenant."""

import logging
import sys
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from typing import Any, Final, final

from innkeeper.contract.plugin import PluginContext, UnknownTenant
from innkeeper.ports.plugin_data import PluginData
from innkeeper.registry.config import source_from_settings, validated
from innkeeper.registry.loading import LoadedPlugin
from innkeeper.registry.outgoing import Clients
from innkeeper.registry.secrets import Secrets
from innkeeper.settings import Settings

_within_reach: Final[ContextVar[frozenset[str] | None]] = ContextVar("tenants within reach", default=None)


@contextmanager
def reaching(tenants: frozenset[str]) -> Iterator[None]:
    """Let plugins reach these tenants only, in what runs within: the page of a caller who may address no others."""
    token = _within_reach.set(tenants)
    try:
        yield
    finally:
        _within_reach.reset(token)


class PluginLog(logging.LoggerAdapter[logging.Logger]):
    """Names plugin and tenant in front of each message, and as fields of the record; keeps the ``secrets`` out."""

    def __init__(self, logger: logging.Logger, names: Mapping[str, object], secrets: Secrets | None = None) -> None:
        super().__init__(logger, names)
        self._secrets = secrets or Secrets()

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        """Log a message, if anybody wants to hear of its level."""
        if not self.isEnabledFor(level):
            return
        kwargs["stacklevel"] = kwargs.get("stacklevel", 1) + 1  # whoever called this has said it
        if error := _error_in(kwargs.get("exc_info")):
            kwargs["exc_info"] = self._secrets.kept_from(error)
        told = self._secrets.redacted_message(msg, args)
        super().log(level, *((msg, *args) if told is None else (told,)), **kwargs)

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        """Add the names; a record's own extra fields stay."""
        names = dict(self.extra or {})
        kwargs["extra"] = {**(kwargs.get("extra") or {}), **names}
        return f"[{'@'.join(str(name) for name in names.values() if name)}] {msg}", kwargs


def _either(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _error_in(exc_info: Any) -> BaseException | None:
    """Return the error that a call for the log means: one, the one that is being handled, or that of a triple."""
    error = exc_info[1] if isinstance(exc_info, tuple) else exc_info
    if isinstance(error, BaseException):
        return error
    return sys.exc_info()[1] if error else None


@final
class Contexts:
    """Makes contexts and keeps them.

    ``environ`` is what ``${NAME}`` and ``plugin.env`` read, ``data`` where plugins keep their tables, ``secrets`` what
    hears of those in configurations.
    """

    def __init__(
        self,
        settings: Settings,
        environ: Mapping[str, str],
        clients: Clients,
        data: PluginData,
        secrets: Secrets | None = None,
    ) -> None:
        self._settings = settings
        self._environ = environ
        self._clients = clients
        self._data = data
        self._secrets = secrets or Secrets()
        self._made: dict[tuple[str, str], PluginContext] = {}

    def make(
        self, plugin: LoadedPlugin, tenant: str | None, *, needs_config: bool = True
    ) -> tuple[PluginContext | None, tuple[str, ...]]:
        """Make the context of a plugin at a tenant, or at host scope; None if its configuration is at fault.

        With ``needs_config`` False a configuration at fault is None instead.
        """
        source = source_from_settings(self._settings, plugin.name, tenant)
        config, faults = validated(plugin.config, source, self._environ, self._secrets)
        if plugin.config is None and plugin.models:
            faults = tuple(
                f"{fault}: that would be a class named Config, and it has {_either(plugin.models)}" for fault in faults
            )
        if faults and needs_config:
            return None, faults
        context = PluginContext(
            name=plugin.name,
            tenant=tenant,
            log=PluginLog(
                logging.getLogger(f"innkeeper.plugins.{plugin.name}"),
                {"plugin": plugin.name, "tenant": tenant},
                self._secrets,
            ),
            http=self._clients.of(plugin.name),
            config=config,
            environ=self._environ,
            tenants=partial(self._get, plugin.name),
        )
        if tenant is not None:
            context = replace(context, db=self._data.database(plugin.name, tenant))
            self._made[plugin.name, tenant] = context
        return context, ()

    def drop(self, plugin: str, tenant: str) -> None:
        """Forget the context of a plugin that is not served at a tenant after all."""
        self._made.pop((plugin, tenant), None)

    def _get(self, plugin: str, tenant: str) -> PluginContext:
        reach = _within_reach.get()
        context = self._made.get((plugin, tenant))
        if context is None or (reach is not None and tenant not in reach):
            raise UnknownTenant(tenant)
        return context
