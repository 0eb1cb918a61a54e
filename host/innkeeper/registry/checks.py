"""What a hook implementation must look like. Code objects are read, never annotations: those may not resolve."""

import difflib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType, FunctionType, MethodType
from typing import Final, cast

from pydantic import BaseModel

from innkeeper.contract import hooks
from innkeeper.contract.hooks import HOOKS
from innkeeper.contract.markers import HOOKIMPL_ATTRIBUTE, HookOptions

PLUGGY_ATTRIBUTE: Final = "innkeeper_impl"
"""Where pluggy's own marker, made for a project named innkeeper, leaves its options."""

_MAY_YIELD: Final = frozenset({"register_agents", "agent_tools"})
"""Hooks whose answer is an iterable, so that a generator function is an implementation like any other."""

_PLAIN_ONLY: Final = frozenset({"cli"})
"""Hooks that are asked where no event loop runs."""


@dataclass(frozen=True, slots=True)
class Marked:
    """Something that carries our marker or pluggy's under ``name``; ``options`` is None for pluggy's."""

    name: str
    value: object
    options: HookOptions | None

    @property
    def code(self) -> CodeType:
        """The code of the function itself, below its decorators."""
        return cast("FunctionType", inspect.unwrap(cast("Callable[..., object]", self.value))).__code__


def find_mark(plugin: object, name: str) -> Marked | None:
    """Find what is marked under ``name`` in a module or object, without running properties or ``__getattr__``."""
    value = inspect.getattr_static(plugin, name, None)
    function = value.__func__ if isinstance(value, staticmethod | classmethod | MethodType) else value
    options = inspect.getattr_static(function, HOOKIMPL_ATTRIBUTE, None)
    if isinstance(options, HookOptions):
        return Marked(name, function, options)
    if isinstance(inspect.getattr_static(function, PLUGGY_ATTRIBUTE, None), dict):
        return Marked(name, function, None)
    return None


def marked_in(plugin: object) -> Iterator[Marked]:
    """Find everything that is marked in a module or object."""
    return (marked for name in dir(plugin) if (marked := find_mark(plugin, name)))


def arguments_of(hook: str) -> tuple[str, ...]:
    """Return the arguments that a hook offers, in the order of its specification."""
    return _positional(getattr(hooks, hook).__code__)


def faults_of_object(plugin: object) -> Iterator[str]:
    """Say why this cannot be a plugin at all."""
    hint = "name a module, or an object whose methods are marked with @hookimpl"
    if isinstance(plugin, type):
        yield f"the entry point is the class {plugin.__name__}; {hint}, such as an instance of it"
    elif isinstance(plugin, FunctionType):
        yield f"the entry point is the function {plugin.__name__}; {hint}"
    elif next(marked_in(plugin), None) is None:
        unmarked = " or ".join(name for name in HOOKS if _is_function(plugin, name))
        yield f"nothing in it is marked with @hookimpl{unmarked and f', {unmarked} neither'}; {hint}"


def _is_function(plugin: object, name: str) -> bool:
    value = inspect.getattr_static(plugin, name, None)
    return isinstance(value.__func__ if isinstance(value, staticmethod | classmethod) else value, FunctionType)


def faults_of_traits(plugin: object) -> Iterator[str]:
    """Say what is wrong with what a plugin declares beside its hooks."""
    config = inspect.getattr_static(plugin, "Config", None)
    if config is not None and not (isinstance(config, type) and issubclass(config, BaseModel)):
        yield "Config: it is no subclass of innkeeper.Config (pydantic's BaseModel)"
    requires = inspect.getattr_static(plugin, "requires", ())
    if not isinstance(requires, tuple | list) or not all(isinstance(name, str) and name for name in requires):
        yield f"requires: it is a tuple of names of environment variables, not {requires!r}"
    version = inspect.getattr_static(plugin, "schema_version", None)
    has_tables = find_mark(plugin, "ensure_tables") is not None
    if version is None and has_tables:
        yield "hook 'ensure_tables': declare schema_version: int beside it"
    elif version is not None and not has_tables:
        yield "schema_version: there is no hook 'ensure_tables' that it could be of"
    elif version is not None and (type(version) is not int or version < 1):
        yield f"schema_version: it is a whole number from 1 on, not {version!r}"


def faults_of(marked: Marked, *, bound: bool) -> Iterator[str]:
    """Say what is wrong with one implementation; ``bound`` if its first argument is the object it sits on."""
    if marked.name not in HOOKS:
        close = difflib.get_close_matches(marked.name, HOOKS, n=1)
        yield f"there is no hook {marked.name!r}" + (
            f"; did you mean {close[0]!r}?" if close else f"; there are {', '.join(HOOKS)}"
        )
        return
    expected = f"expected is a function with any of the arguments ({', '.join(arguments_of(marked.name))})"
    if marked.options is None:
        yield f"hook {marked.name!r}: marked with pluggy's own marker, wrappers are not served; use innkeeper.hookimpl"
    elif isinstance(marked.value, type):
        yield f"hook {marked.name!r}: a class is no implementation; {expected}"
    elif not isinstance(marked.value, FunctionType):
        yield f"hook {marked.name!r}: {type(marked.value).__name__} is no function; {expected}"
    else:
        for reason in _faults_of_signature(marked, bound=bound):
            yield f"hook {marked.name!r}: {reason}; {expected}"


def _faults_of_signature(marked: Marked, *, bound: bool) -> Iterator[str]:
    code = marked.code
    value = cast("FunctionType", marked.value)
    function = inspect.unwrap(value)
    positional = _positional(code)[bound:]
    if extra := [name for name in positional if name not in arguments_of(marked.name)]:
        yield f"it has no argument {', '.join(map(repr, extra))}"
    if function.__defaults__ or function.__kwdefaults__:
        yield "defaults are never used"
    if code.co_kwonlyargcount or code.co_posonlyargcount > bound:
        yield "arguments are neither keyword-only nor positional-only"
    if code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        yield "arguments are named one by one, without * and **"
    if marked.name == "lifespan" and (inspect.isasyncgenfunction(value) or inspect.isgeneratorfunction(value)):
        yield "it yields, but is no context manager: put @contextlib.asynccontextmanager under @hookimpl"
    elif inspect.isasyncgenfunction(value) or (inspect.isgeneratorfunction(value) and marked.name not in _MAY_YIELD):
        yield "it returns its answer; wrappers and generators are not served"
    if marked.name in _PLAIN_ONLY and inspect.iscoroutinefunction(value):
        yield "it is asked where no event loop runs: make it a plain function"
    if marked.options and marked.options.blocking and inspect.iscoroutinefunction(function):
        yield "blocking=True is for plain functions"


def _positional(code: CodeType) -> tuple[str, ...]:
    return code.co_varnames[: code.co_argcount]
