"""From installed to loaded: import each plugin, check it, and register it in one pluggy manager per host."""

import asyncio
import functools
import inspect
import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint
from types import MethodType
from typing import Any, Final

import pluggy
from pydantic import BaseModel

from innkeeper.contract import hooks
from innkeeper.contract.hooks import HOOKS
from innkeeper.contract.markers import HookOptions
from innkeeper.registry.checks import Marked, faults_of, faults_of_object, faults_of_traits, find_mark, marked_in
from innkeeper.registry.config import ConfigType, closed
from innkeeper.registry.discovery import PluginRecord, Refused
from innkeeper.registry.foreign import Finished, Outcome, Raised, Strays, TimedOut, run_foreign, run_in_thread
from innkeeper.registry.lookalikes import models_in, notes_on
from innkeeper.registry.secrets import Secrets

log = logging.getLogger(__name__)

IMPORT_SECONDS: Final = 10.0
"""How long the import of a plugin may take."""

BESIDE_SECONDS: Final = 1.0
"""How long an import is alone, before the next one is begun beside it."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """An implementation as registered: not yet anybody's, a tenant adds its context."""

    hook: str
    plugin: str
    function: Callable[..., object]
    argnames: tuple[str, ...]
    options: HookOptions


@dataclass(frozen=True, slots=True)
class LoadedPlugin:
    """A plugin that has been imported and found to be one, with what it declares beside its hooks.

    ``notes`` say what in it is probably meant otherwise, ``models`` which others it has where there is no ``Config``.
    """

    record: PluginRecord
    import_ms: float
    hooks: tuple[Loaded, ...] = ()
    config: ConfigType | None = None
    schema_version: int | None = None
    requires: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    models: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the plugin."""
        return self.record.name

    def has(self, hook: str) -> bool:
        """Whether the plugin implements a hook."""
        return any(each.hook == hook for each in self.hooks)


@dataclass(frozen=True, slots=True)
class LoadedPlugins:
    """The plugins of a host, in the order of their names, and those that are broken."""

    plugins: tuple[LoadedPlugin, ...]
    broken: tuple[Refused, ...]


class _Manager(pluggy.PluginManager):
    """Reads our marker instead of pluggy's, and takes every function of the contract's table as a specification."""

    def __init__(self) -> None:
        super().__init__("innkeeper")
        self.add_hookspecs(hooks)
        self._one_at_a_time = threading.Lock()

    def implementations(self, carrier: object, name: str) -> tuple[Loaded, ...]:
        """Register what carries a plugin's hooks, and return these; from any thread."""
        with self._one_at_a_time:
            self.register(carrier, name)
            return tuple(_implementations(self, carrier))

    def parse_hookimpl_opts(self, plugin: object, name: str) -> Any:
        marked = find_mark(plugin, name)
        if marked is None or marked.options is None:
            return None
        return {"tryfirst": marked.options.tryfirst, "trylast": marked.options.trylast}

    def parse_hookspec_opts(self, module_or_class: Any, name: str) -> Any:
        return {"firstresult": False, "historic": False} if name in HOOKS else None


async def load_plugins(
    records: Iterable[PluginRecord],
    strays: Strays,
    *,
    deadline: float = IMPORT_SECONDS,
    beside: float = BESIDE_SECONDS,
) -> LoadedPlugins:
    """Import, check and register each plugin; what is wrong with one is no matter to the others.

    Each import runs in a worker thread and has ``deadline`` seconds; one that takes longer is left behind there. They
    are begun in order, the next one when the one before has ended, or ``beside`` it once that has taken so many
    seconds: so those that hang do it at the same time.
    """
    manager = _Manager()
    begun: list[tuple[PluginRecord, asyncio.Task[_Imported]]] = []
    async with asyncio.TaskGroup() as imports:
        for record in records:
            load = functools.partial(_load, manager, record, strays.secrets)
            task = imports.create_task(_in_thread(record, strays, deadline, load))
            begun.append((record, task))
            await asyncio.wait({task}, timeout=beside)
    seen: dict[str, object] = {}
    plugins: list[LoadedPlugin] = []
    broken: list[Refused] = []
    for record, task in begun:
        imported = task.result()
        twin = next((name for name, other in seen.items() if other is imported.plugin), None)
        if twin is not None:
            broken.append(Refused(record, f"{record.entry_point} is already the plugin {twin!r}"))
        elif isinstance(imported.loaded, LoadedPlugin):
            plugins.append(imported.loaded)
        else:
            broken.extend(Refused(record, strays.secrets.redacted(reason)) for reason in imported.loaded)
        seen[record.name] = imported.plugin
    return LoadedPlugins(tuple(plugins), tuple(broken))


@dataclass(frozen=True, slots=True, eq=False)
class _Imported:
    """What an entry point led to, an object of its own if to nothing; with the plugin, or why it is none."""

    loaded: LoadedPlugin | Sequence[str]
    plugin: object = field(default_factory=object)


async def _in_thread(record: PluginRecord, strays: Strays, deadline: float, load: Callable[[], _Imported]) -> _Imported:
    """Import and look at a plugin, whose code may do anything meanwhile."""
    name = f"import of {record.entry_point}"
    stray = f"{name}, plugin {record.name!r}"
    outcome: Outcome[_Imported] = await run_foreign(
        lambda: run_in_thread(load, name=stray, strays=strays, owner=record.name),
        deadline=deadline,
        grace=0,
        name=stray,
        strays=strays,
    )
    match outcome:
        case Finished(imported):
            return imported
        case Raised(error):
            log.debug("%s cannot be loaded", record, exc_info=strays.secrets.kept_from(error))
            return _Imported((f"{name} raised {strays.secrets.described(error)}",))
        case TimedOut():
            return _Imported((f"{name} took longer than {deadline:g} s",))


def _load(manager: "_Manager", record: PluginRecord, secrets: Secrets) -> _Imported:
    """Return the plugin, or why it is none."""
    begun = time.perf_counter()
    plugin = EntryPoint(record.name, record.entry_point, record.group).load()
    taken = 1000 * (time.perf_counter() - begun)
    try:
        return _Imported(_checked(manager, record, plugin, taken), plugin)
    except Exception as error:  # noqa: BLE001 - looking at a plugin runs code of its own
        return _Imported((f"it cannot be registered: {secrets.described(error)}",), plugin)


class _Carrier:
    """Carries what a plugin has marked, so that pluggy compares and looks through no object of the plugin's own."""


def _checked(manager: _Manager, record: PluginRecord, plugin: object, import_ms: float) -> LoadedPlugin | Sequence[str]:
    marked_here = tuple(marked_in(plugin))
    reasons = tuple(faults_of_object(plugin)) or (
        *(reason for marked in marked_here for reason in faults_of(marked, bound=_is_bound(plugin, marked))),
        *faults_of_traits(plugin),
    )
    if reasons:
        return reasons
    carrier = _Carrier()
    for marked in marked_here:
        setattr(carrier, marked.name, getattr(plugin, marked.name))
    config = inspect.getattr_static(plugin, "Config", None)
    if config is BaseModel:  # what innkeeper calls so, to be made a subclass of
        config = None
    return LoadedPlugin(
        record,
        import_ms,
        hooks=manager.implementations(carrier, record.name),
        config=None if config is None else closed(config),
        schema_version=inspect.getattr_static(plugin, "schema_version", None),
        requires=tuple(inspect.getattr_static(plugin, "requires", ())),
        notes=tuple(notes_on(plugin, has_config=config is not None)),
        models=() if config is not None else models_in(plugin),
    )


def _is_bound(plugin: object, marked: Marked) -> bool:
    """Tell whether the first argument is given already."""
    return isinstance(getattr(plugin, marked.name), MethodType)


def _implementations(manager: _Manager, plugin: object) -> Iterable[Loaded]:
    for caller in manager.get_hookcallers(plugin) or ():
        for impl in caller.get_hookimpls():
            marked = find_mark(plugin, caller.name)
            if impl.plugin is plugin and marked and marked.options:
                yield Loaded(caller.name, impl.plugin_name, impl.function, tuple(impl.argnames), marked.options)
