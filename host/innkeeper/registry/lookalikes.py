"""What in a plugin looks like something that the host would use, and is not."""

import difflib
import inspect
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Final

from pydantic import BaseModel

from innkeeper.contract.hooks import HOOKS
from innkeeper.registry.checks import arguments_of, find_mark

_ALIKE: Final = 0.85
_CALLED: Final = ("conf", "cfg", "config", "configuration", "option", "options", "setting", "settings")


def unmarked_hooks(plugin: object) -> Iterator[tuple[str, str]]:
    """Name the functions that are called like a hook, or nearly so, and want what it offers; each with the hook."""
    for name in dir(plugin):
        hook = name if name in HOOKS else next(iter(difflib.get_close_matches(name, HOOKS, n=1, cutoff=_ALIKE)), None)
        if hook is None or find_mark(plugin, name):
            continue
        value = inspect.getattr_static(plugin, name, None)
        function = value.__func__ if isinstance(value, staticmethod | classmethod) else value
        if not isinstance(function, FunctionType):
            continue
        code = inspect.unwrap(function).__code__
        bound = not isinstance(plugin, ModuleType) and not isinstance(value, staticmethod)
        wanted = set(code.co_varnames[bound : code.co_argcount])
        if wanted <= set(arguments_of(hook)) and (wanted or name == hook):
            yield name, hook


def models_in(plugin: object) -> tuple[str, ...]:
    """Name the pydantic models that a plugin without a ``Config`` defines itself."""
    module = getattr(plugin, "__name__", None) if isinstance(plugin, ModuleType) else type(plugin).__module__
    found = ((name, inspect.getattr_static(plugin, name, None)) for name in dir(plugin))
    return tuple(
        name
        for name, value in found
        if isinstance(value, type) and issubclass(value, BaseModel) and value.__module__ == module
    )


def notes_on(plugin: object, *, has_config: bool) -> Iterator[str]:
    """Say what its author may have meant otherwise."""
    for name, hook in unmarked_hooks(plugin):
        which = "a hook" if name == hook else f"the hook {hook}"
        yield f"{name} looks like {which}, and has no mark: put @hookimpl on it, or call it otherwise"
    for name in () if has_config else models_in(plugin):
        if name.casefold().strip("_").endswith(_CALLED):
            yield f"{name} looks like its configuration, which is a class named Config: it is not filled"
