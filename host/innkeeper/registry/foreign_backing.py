"""A plugin's workspace backing, each method of which is called as its hooks are."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any, Final, final

from innkeeper.contract.hooks import HookRule
from innkeeper.contract.json_values import exact
from innkeeper.contract.markers import HookOptions
from innkeeper.contract.workspace import WorkspaceEntry, WorkspaceInfo
from innkeeper.registry.copies import taken
from innkeeper.registry.described import words
from innkeeper.registry.fanout import Fanout, Fault, HookFailed, Implementation, Take, WrongAnswer, none_or_bool

HOOK: Final = "workspace_backing"

Tell = Callable[[tuple[Fault, ...]], None]
"""Hears of faults, before they are raised."""


@dataclass(frozen=True, slots=True)
class _NoFileThere:
    """``write_file`` has raised the one error that it may."""

    reason: str


def _text(answer: object) -> str | None:
    if answer is None or isinstance(answer, str):
        return exact(answer)  # type: ignore[no-any-return] # of a str it makes one
    raise WrongAnswer(type(answer).__name__)


def _written(answer: object) -> _NoFileThere | None:
    if answer is None or isinstance(answer, _NoFileThere):
        return answer
    raise WrongAnswer(type(answer).__name__)


def _bool(answer: object) -> bool:
    if (told := none_or_bool(answer)) is None:
        raise WrongAnswer("NoneType")
    return told


def _entries(answer: object) -> tuple[WorkspaceEntry, ...]:
    if not isinstance(answer, tuple):
        raise WrongAnswer(type(answer).__name__)
    for each in answer:
        if not isinstance(each, WorkspaceEntry):
            raise WrongAnswer(f"a tuple that holds a {type(each).__name__}")
    return tuple(taken(WorkspaceEntry, each) for each in answer)


def _info(answer: object) -> WorkspaceInfo:
    if not isinstance(answer, WorkspaceInfo):
        raise WrongAnswer(type(answer).__name__)
    return taken(WorkspaceInfo, answer)


METHODS: Final[Mapping[str, tuple[str, Take[Any]]]] = MappingProxyType(
    {
        "read_file": ("a str or None", _text),
        "write_file": ("None", _written),
        "exists": ("True or False", _bool),
        "delete_file": ("True or False", _bool),
        "read_dir": ("a tuple of WorkspaceEntry", _entries),
        "info": ("a WorkspaceInfo", _info),
    }
)
"""The methods of a backing: what each answers, in words and as it is taken."""


def rules_of_methods(hook: HookRule) -> dict[str, HookRule]:
    """Return the rules by which the methods are called, given that of the hook."""
    return {f"{HOOK}.{method}": replace(hook, answers=answers) for method, (answers, _) in METHODS.items()}


def looks_like_one(answer: object) -> object | None:
    """Take what ``workspace_backing`` answers; what its methods do shows when they are called."""
    if answer is None:
        return None
    if lacking := [name for name in METHODS if not callable(getattr(answer, name, None))]:
        raise WrongAnswer(f"{type(answer).__name__} without {', '.join(lacking)}")
    return answer


@final
class ForeignBacking:
    """A ``WorkspaceBacking`` around what ``provider`` has answered. Each call has a deadline of its own.

    Each method raises ``HookFailed`` if the plugin is at fault, charged with ``workspace_backing.<method>``; ``tell``
    hears of it first. ``fanout`` has the rules of the methods.
    """

    def __init__(self, backing: object, provider: Implementation, fanout: Fanout, tell: Tell = lambda _: None) -> None:
        self._backing = backing
        self._provider = provider
        self._fanout = fanout
        self._tell = tell

    def telling(self, tell: Tell) -> "ForeignBacking":
        """Return the same backing for somebody else who wants to hear of its faults."""
        return ForeignBacking(self._backing, self._provider, self._fanout, tell)

    async def read_file(self, path: str) -> str | None:
        """Return the text of the file, None if there is none."""
        return await self._ask("read_file", path)  # type: ignore[no-any-return] # METHODS sees to the types, here and below

    async def write_file(self, path: str, text: str) -> None:
        """Make the file, or replace all of it.

        Raises:
            ValueError: no file can be there, says the backing.
        """
        refused: _NoFileThere | None = await self._ask("write_file", path, text)
        if refused is not None:
            raise ValueError(refused.reason)

    async def exists(self, path: str) -> bool:
        """Tell whether there is a file or directory."""
        return await self._ask("exists", path)  # type: ignore[no-any-return]

    async def delete_file(self, path: str) -> bool:
        """Remove the file and tell whether there was one."""
        return await self._ask("delete_file", path)  # type: ignore[no-any-return]

    async def read_dir(self, path: str) -> tuple[WorkspaceEntry, ...]:
        """Return the files and directories immediately below."""
        return await self._ask("read_dir", path)  # type: ignore[no-any-return]

    async def info(self) -> WorkspaceInfo:
        """Count the files."""
        return await self._ask("info")  # type: ignore[no-any-return]

    async def _ask(self, method: str, *arguments: str) -> Any:
        call = replace(
            self._provider,
            hook=f"{HOOK}.{method}",
            function=partial(_called, self._backing, method, arguments),
            argnames=(),
            options=HookOptions(),
        )
        asked = await self._fanout.ask_one(call, {}, METHODS[method][1])
        if asked.faults:
            self._tell(asked.faults)
            raise HookFailed(*asked.faults)
        return asked.answers[0][1]


async def _called(backing: object, method: str, arguments: tuple[str, ...]) -> object:
    try:
        answering = getattr(backing, method)(*arguments)
        if not inspect.isawaitable(answering):
            raise WrongAnswer(f"{type(answering).__name__} without being async")
        return await answering
    except ValueError as error:
        if method != "write_file":
            raise
        return _NoFileThere(words(error))
