"""What plugins hand to the host, and it to them, is copied at the door.

What comes in is taken apart in the task of whoever brings it, and put together anew from plain values: nothing of a
plugin's is asked for a name or compared later, in the task of somebody else. What goes out is each implementation's
own. This keeps mistakes apart, not malice: plugins run in the process of the host.
"""

from collections.abc import Mapping
from dataclasses import fields, replace
from functools import singledispatch
from typing import Any, Final, TypeVar

from innkeeper.contract.agent import Agent, Provider, Skill
from innkeeper.contract.json_values import exact, plain
from innkeeper.contract.message import ABSENT, Message, Part
from innkeeper.contract.tool import Tool
from innkeeper.contract.turn import Turn
from innkeeper.contract.workspace import WorkspaceEntry, WorkspaceInfo

T = TypeVar("T")

_NESTED: Final = (Skill, Provider)
_FIELDS: Final[Mapping[type, tuple[str, ...]]] = {
    kind: tuple(field.name for field in fields(kind)) for kind in (Agent, Tool, WorkspaceEntry, WorkspaceInfo, *_NESTED)
}


def taken(kind: type[T], brought: object) -> T:
    """Make a ``kind``, one of the contract's, of what looks like one; run it where foreign code runs.

    Raises:
        BaseException: whatever looking at it, or what it holds, makes it raise.
    """
    return kind(**{name: _field(getattr(brought, name)) for name in _FIELDS[kind]})


def _field(value: object) -> Any:
    for kind in _NESTED:
        if isinstance(value, kind):
            return taken(kind, value)
    if isinstance(value, list | tuple):
        return tuple(map(_field, value))
    return exact(value)


@singledispatch
def own(value: object) -> Any:
    """Return what an implementation may do with as it likes: messages and metadata are copies, at every depth."""
    return value


@own.register
def _(value: Turn) -> Turn:
    return replace(value, message=own(value.message), metadata=plain(value.metadata))


@own.register
def _(value: Message) -> Message:
    return replace(value, parts=own(value.parts), metadata=plain(value.metadata))


@own.register
def _(value: Part) -> Part:
    data = ABSENT if value.data is ABSENT else plain(value.data)
    return replace(value, data=data, metadata=plain(value.metadata))


@own.register
def _(value: tuple) -> tuple[Any, ...]:  # type: ignore[type-arg] # the dispatch takes no argument of a type
    return tuple(map(own, value))
