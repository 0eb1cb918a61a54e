"""From installed to loaded: import each plugin, check it, and register it in one pluggy manager per host."""

import importlib
import logging
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from types import MethodType
from typing import Any

import pluggy

from innkeeper.contract import hooks
from innkeeper.contract.hooks import HOOKS
from innkeeper.contract.markers import HookOptions
from innkeeper.registry.checks import Marked, faults_of, faults_of_object, find_mark, marked_in
from innkeeper.registry.discovery import PluginRecord, Refused

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Loaded:
    """An implementation as registered: not yet anybody's, a tenant adds its context."""

    hook: str
    plugin: str
    function: Callable[..., object]
    argnames: tuple[str, ...]
    options: HookOptions


@dataclass(frozen=True, slots=True)
class LoadedPlugins:
    """The plugins of a host, in the order of their names, with every implementation, and those that are broken."""

    plugins: tuple[PluginRecord, ...]
    implementations: tuple[Loaded, ...]
    broken: tuple[Refused, ...]


class _Hooks(pluggy.PluginManager):
    """Reads our marker instead of pluggy's, and takes every function of the contract's table as a specification."""

    def __init__(self) -> None:
        super().__init__("innkeeper")
        self.add_hookspecs(hooks)

    def parse_hookimpl_opts(self, plugin: object, name: str) -> Any:
        marked = find_mark(plugin, name)
        if marked is None or marked.options is None:
            return None
        return {"tryfirst": marked.options.tryfirst, "trylast": marked.options.trylast}

    def parse_hookspec_opts(self, module_or_class: Any, name: str) -> Any:
        return {"firstresult": False, "historic": False} if name in HOOKS else None


def load_plugins(records: Iterable[PluginRecord]) -> LoadedPlugins:
    """Import, check and register each plugin; what is wrong with one is no matter to the others."""
    manager = _Hooks()
    plugins: list[PluginRecord] = []
    broken: list[Refused] = []
    for record in records:
        reasons = _load(manager, record)
        if reasons:
            broken.extend(Refused(record, reason) for reason in reasons)
        else:
            plugins.append(record)
    return LoadedPlugins(tuple(plugins), _implementations(manager, plugins), tuple(broken))


def _load(manager: _Hooks, record: PluginRecord) -> Sequence[str]:
    """Return why the plugin is broken; empty if it is registered."""
    try:
        plugin = EntryPoint(record.name, record.entry_point, record.group).load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        log.debug("%s cannot be imported", record, exc_info=True)
        return (f"import of {record.entry_point} raised {described(error)}",)
    try:
        reasons = tuple(faults_of_object(plugin)) or tuple(
            reason for marked in marked_in(plugin) for reason in faults_of(marked, bound=_is_bound(plugin, marked))
        )
        if twin := manager.get_name(plugin):
            return (f"{record.entry_point} is already the plugin {twin!r}",)
        if not reasons:
            manager.register(plugin, record.name)
    except Exception as error:
        log.debug("%s cannot be registered", record, exc_info=True)
        return (f"it cannot be registered: {described(error)}",)
    return reasons


def _is_bound(plugin: object, marked: Marked) -> bool:
    """Tell whether the first argument is given already."""
    return isinstance(getattr(plugin, marked.name), MethodType)


def _implementations(manager: _Hooks, plugins: Iterable[PluginRecord]) -> tuple[Loaded, ...]:
    order = {record.name: number for number, record in enumerate(plugins)}
    loaded: list[Loaded] = []
    for hook in HOOKS:
        for impl in sorted(getattr(manager.hook, hook).get_hookimpls(), key=lambda impl: order[impl.plugin_name]):
            marked = find_mark(impl.plugin, hook)
            if marked and marked.options:
                loaded.append(Loaded(hook, impl.plugin_name, impl.function, tuple(impl.argnames), marked.options))
    return tuple(loaded)


def described(error: BaseException) -> str:
    """Put an error of foreign code on one line, with the place that raised it."""
    try:
        text = " ".join(str(error).split())
    except Exception:  # noqa: BLE001 - its __str__ is foreign code as well
        text = "?"
    return (f"{type(error).__name__}: {text}" if text else type(error).__name__) + _place(error)


def _place(error: BaseException) -> str:
    """Say where foreign code raised it; an error of syntax says that itself, and one of ours has no such place."""
    passed_over = ("<", str(Path(__file__).parent), str(Path(importlib.__file__).parent))
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if not frame.filename.startswith(passed_over)]
    return f" ({theirs[-1].filename}:{theirs[-1].lineno})" if theirs and not isinstance(error, SyntaxError) else ""
