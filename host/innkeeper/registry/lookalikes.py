"""What in a plugin looks like something that the host would use, and is not."""

import inspect
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Final

from pydantic import BaseModel

from innkeeper.contract.hooks import HOOKS
from innkeeper.registry.checks import arguments_of, find_mark

_CALLED: Final = ("conf", "cfg", "config", "configuration", "option", "options", "setting", "settings")


def unmarked_hooks(plugin: object) -> Iterator[str]:
    """Name the functions that are called like a hook and want what it offers, and have no mark."""
    for hook in HOOKS:
        value = inspect.getattr_static(plugin, hook, None)
        function = value.__func__ if isinstance(value, staticmethod | classmethod) else value
        if not isinstance(function, FunctionType) or find_mark(plugin, hook):
            continue
        code = inspect.unwrap(function).__code__
        wanted = code.co_varnames[: code.co_argcount]
        bound = not isinstance(plugin, ModuleType) and not isinstance(value, staticmethod)
        if set(wanted[bound:]) <= set(arguments_of(hook)):
            yield hook


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
    for hook in unmarked_hooks(plugin):
        yield f"{hook} looks like a hook, and has no mark: put @hookimpl on it, or call it otherwise"
    for name in () if has_config else models_in(plugin):
        if name.casefold().strip("_").endswith(_CALLED):
            yield f"{name} looks like its configuration, which is a class named Config: it is not filled"
