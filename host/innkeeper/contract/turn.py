"""What an agent gets and gives: a turn and its answers."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import TYPE_CHECKING, Protocol, TypeVar

from innkeeper.contract.caller import Caller
from innkeeper.contract.message import JSON, Message, Part, text_of
from innkeeper.contract.plugin import PluginContext
from innkeeper.contract.preset import Preset
from innkeeper.contract.session import Session
from innkeeper.contract.workspace import Workspace

if TYPE_CHECKING:
    from innkeeper.contract.tool import Tool

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ask:
    """A question back: the task becomes input-required and the caller's next message to it is the answer.

    Raises:
        TypeError: the question is no string.
    """

    text: str

    def __post_init__(self) -> None:
        _require("a question", self.text, str)


class Refuse(Exception):
    """Raised by a handler to reject the task; its text is shown to the caller.

    Raises:
        TypeError: the text is none.
    """

    def __init__(self, text: str) -> None:
        _require("the text of a refusal", text, str)
        super().__init__(text)
        self.text = text


class Outlet(Protocol):
    """The host's side of a running turn: what the methods of ``Turn`` do."""

    async def progress(self, text: str, key: str | None) -> None:
        """Say what is going on."""
        ...

    async def artifact(self, name: str, parts: Sequence[Part], *, append: bool, last: bool) -> None:
        """Put out a piece of an artifact."""
        ...

    async def step(self, key: str, fn: Callable[[], Awaitable[T] | T]) -> T:
        """Do something once."""
        ...

    def activate_extension(self, uri: str) -> None:
        """Note that the turn follows an extension."""
        ...

    async def claim_steering(self) -> tuple[Message, ...]:
        """Take the messages that wait for the task."""
        ...

    async def steer(self, text: str) -> None:
        """Let a message wait for the task."""
        ...


@dataclass(frozen=True, slots=True)
class Turn:
    """One run of an agent over one accepted message.

    ``message`` is what was said to ``tenant`` by ``caller``, ``session`` what was said before it. ``task_id`` is the
    A2A task that the turn belongs to, ``context_id`` the conversation as the caller names it.
    ``text`` is the text parts joined without separator and stripped. ``metadata`` is the request's metadata overlaid
    by the message's. ``attempt`` counts from 1 and grows when the turn is run again after a crash. ``plugin`` is the
    context of the plugin that registered the agent. ``workspace`` holds the files of the session. ``tools`` are those
    of the tenant's plugins, and ``await turn.capabilities()`` is what these add to a prompt, joined by blank lines.
    ``preset`` is the one of the agent's that the caller picked with the first message of the session, ``model`` and
    ``provider`` what the caller last chose in it; None where nothing was chosen. Pairing these two is the agent's.
    ``requested_extensions`` are the URIs of those of the agent's extensions that the caller asked for.
    """

    message: Message
    task_id: str
    context_id: str
    tenant: str
    caller: Caller
    metadata: Mapping[str, JSON]
    attempt: int
    session: Session
    plugin: PluginContext
    workspace: Workspace
    capabilities: Callable[[], Awaitable[str]]
    outlet: Outlet
    tools: tuple["Tool", ...] = ()
    preset: Preset | None = None
    model: str | None = None
    provider: str | None = None
    requested_extensions: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts of the message."""
        return self.message.parts

    @property
    def text(self) -> str:
        """The message's text parts, joined without separator, stripped."""
        return text_of(self.message.parts).strip()

    async def progress(self, text: str, *, key: str | None = None) -> None:
        """Publish a ``working`` status with ``text``.

        The message id is derived from the task and ``key``, so a rerun repeats the id and receivers can drop the
        repetition; without a key the calls of an attempt are counted from 0.

        Raises:
            TypeError: text or key is no string.
        """
        _require("the text of progress", text, str)
        _require("the key of progress", key, (str, NoneType))
        await self.outlet.progress(text, key)

    async def artifact(
        self, name: str, parts: Part | Sequence[Part], *, append: bool = False, last: bool = True
    ) -> None:
        """Publish a piece of the artifact ``name``: the whole of it, or with ``append`` more parts of it.

        The artifact id is derived from the task, the turn and the name. ``last`` False announces more pieces.

        Raises:
            TypeError: the name is no string, or there is something else than a Part among the parts.
        """
        _require("the name of an artifact", name, str)
        pieces = (parts,) if isinstance(parts, Part) else tuple(parts)
        for piece in pieces:
            _require("a part of an artifact", piece, Part)
        await self.outlet.artifact(name, pieces, append=append, last=last)

    async def step(self, key: str, fn: Callable[[], Awaitable[T] | T]) -> T:
        """Call ``fn``, plain or async, once, however often the turn has to be run, and return its result.

        The result is on disk when this returns; an attempt after a crash gets it from there and does not call ``fn``.
        So wrap in it what must not happen twice: a payment, a mail, a row elsewhere. A crash between the end of
        ``fn`` and the commit is the one case in which it is called again. What ``fn`` raises is raised here and not
        kept. ``key`` names the step within the turn; calls with the same key wait for each other.

        Raises:
            TypeError: the key is no string, or the result is not what JSON carries unchanged.
            TurnOver: the turn has ended meanwhile; a step that was not begun is not begun any more.
            Unavailable: the result cannot be stored.
        """
        _require("the key of a step", key, str)
        return await self.outlet.step(key, fn)

    def activate_extension(self, uri: str) -> None:
        """Say that the turn follows an extension that the caller asked for.

        A caller that waits for the task to settle is told, by the header ``A2A-Extensions``; one that streams has its
        headers by then.

        Raises:
            ValueError: the caller did not ask for it, or the agent does not know it.
        """
        if uri not in self.requested_extensions:
            raise ValueError(f"extension {uri!r} was not asked for, or is none of the agent's")
        self.outlet.activate_extension(uri)

    async def claim_steering(self) -> tuple[Message, ...]:
        """Take what was sent to the task while this turn runs, oldest first; for an agent that ``steers``.

        What is taken is part of this turn: no turn of its own runs for it, and the history has it before the reply.
        What is not taken when the turn ends runs as the next turn of the task. After a crash it waits again.

        Raises:
            InnkeeperError: the agent does not steer.
            TurnOver: the turn has ended meanwhile.
            Unavailable: it cannot be stored.
        """
        return await self.outlet.claim_steering()

    async def steer(self, text: str) -> None:
        """Send the task a message from within, as ``on_turn_stopping`` does where it objects; for one that ``steers``.

        It waits with what the caller sends: for ``claim_steering``, or for the next turn of the task.

        Raises:
            TypeError: the text is no string.
            InnkeeperError: the agent does not steer.
            TurnOver: the turn has ended meanwhile.
            Unavailable: it cannot be stored, or too many messages wait in the session.
        """
        _require("the text to steer with", text, str)
        await self.outlet.steer(text)


def _require(what: str, value: object, kind: type | tuple[type, ...]) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{what} cannot be a {type(value).__name__}")
