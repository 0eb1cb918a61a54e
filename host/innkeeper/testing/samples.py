"""Callers, messages and turns made by hand, for hooks that are asked outside of a real turn."""

import inspect
import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias, TypeVar, cast

from innkeeper.contract.caller import Caller
from innkeeper.contract.message import Message, Part
from innkeeper.contract.plugin import PluginContext
from innkeeper.contract.session import Session
from innkeeper.contract.tool import Tool
from innkeeper.contract.turn import Turn
from innkeeper.contract.workspace import Workspace

T = TypeVar("T")

Said: TypeAlias = str | Part | Sequence[Part]
"""What a test says: a text, or parts."""


def make_caller(key: str = "alice") -> Caller:
    """Return the caller of that key; the name is the key with a capital."""
    return Caller(key=key, name=key.capitalize(), kind="user")


def parts_of(said: Said) -> tuple[Part, ...]:
    """Return what is said as parts."""
    if isinstance(said, str):
        return (Part(text=said),)
    return (said,) if isinstance(said, Part) else tuple(said)


def message_of(said: Said | Message, at: datetime) -> Message:
    """Return a message of the user's with a fresh id; one that is a message already stays as it is."""
    return said if isinstance(said, Message) else Message(str(uuid.uuid4()), "user", parts_of(said), at)


@dataclass(frozen=True, slots=True)
class Silence:
    """An outlet that keeps nothing."""

    async def progress(self, text: str, key: str | None) -> None:
        """Drop it."""

    async def artifact(self, name: str, parts: Sequence[Part], *, append: bool, last: bool) -> None:
        """Drop it."""

    async def step(self, key: str, fn: Callable[[], Awaitable[T] | T]) -> T:
        """Do it: no attempt came before."""
        result = fn()
        return cast("T", await result if inspect.isawaitable(result) else result)

    def activate_extension(self, uri: str) -> None:
        """Drop it."""

    async def claim_steering(self) -> tuple[Message, ...]:
        """Take nothing: nobody sends anything."""
        return ()

    async def steer(self, text: str) -> None:
        """Drop it."""


async def _no_capabilities() -> str:
    return ""


def turn_of(
    message: Message, session: Session, plugin: PluginContext, workspace: Workspace, tools: tuple[Tool, ...] = ()
) -> Turn:
    """Return a first attempt at a turn that no engine runs; what it puts out is dropped."""
    return Turn(
        message=message,
        task_id=str(uuid.uuid4()),
        context_id=session.context_id,
        tenant=session.tenant,
        caller=session.caller,
        metadata={},
        attempt=1,
        session=session,
        plugin=plugin,
        workspace=workspace,
        capabilities=_no_capabilities,
        outlet=Silence(),
        tools=tools,
    )
