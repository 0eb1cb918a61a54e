"""What a plugin brings: agents and their skills."""

import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import timedelta
from typing import Any, Literal, Protocol, TypeAlias, TypeGuard, TypeVar

from innkeeper.contract.extension import Extension
from innkeeper.contract.message import Part
from innkeeper.contract.names import ID_GRAMMAR, ID_PATTERN
from innkeeper.contract.preset import Preset
from innkeeper.contract.turn import Ask, Turn

Answer: TypeAlias = str | Part | Sequence[Part] | Ask | None
"""What a handler may return: text, parts, a question, or None for a turn that ends without a word."""

Handler: TypeAlias = Callable[[Turn], Awaitable[Answer]] | Callable[[Turn], AsyncIterator[str | Part]]
"""A coroutine function that answers, or an async generator that streams text and parts."""


T = TypeVar("T")


class Executor(Protocol):
    """The shape of an a2a-sdk ``AgentExecutor`` instance, by which the host recognises one."""

    async def execute(self, context: Any, event_queue: Any) -> None:
        """Run the agent; what it has to say goes into the queue."""
        ...

    async def cancel(self, context: Any, event_queue: Any) -> None:
        """Stop the run."""
        ...


SessionScope = Literal["context", "caller"]


@dataclass(frozen=True, slots=True)
class Skill:
    """Something the agent can do, as shown on its card (A2A v1.0 §4.4.5)."""

    id: str
    name: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.id:
            raise ValueError("a Skill needs an id")
        object.__setattr__(self, "name", self.name or self.id)
        object.__setattr__(self, "description", self.description or self.name)
        object.__setattr__(self, "tags", _strings("tags", self.tags) or (self.id,))
        object.__setattr__(self, "examples", _strings("examples", self.examples))


@dataclass(frozen=True, slots=True)
class Provider:
    """The organisation behind an agent, by name, with a page of its own at ``url`` (A2A v1.0 §4.4.2)."""

    organization: str
    url: str


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent: an id, a handler, and what its card says.

    ``handler`` is ``async def(turn) -> str | Part | list[Part] | Ask | None``, an async generator of ``str | Part``,
    or an unmodified a2a-sdk ``AgentExecutor`` instance (recognised by its ``execute`` and ``cancel``).

    ``session_scope``: "context" gives each A2A context a history of its own, "caller" one history per caller.
    ``resumable``: whether a turn cut short by a crash is run again; None means True, for an executor False.
    ``idempotent_messages``: whether a message id seen before returns its task instead of starting a new turn.
    ``turn_timeout``: how long one attempt may take; None takes the host's.
    ``steers``: whether messages to a running task are for its turn, which asks for them, and not for the next.
    ``presets``: the ways of working of which the first message of a session may pick one.
    ``extensions``: the extensions of the protocol that the agent knows.

    Raises:
        ValueError: the id does not fit the grammar of ``ID_PATTERN``, or a field is out of range.
        TypeError: the handler has none of the three forms, or a field has the wrong type.
    """

    id: str
    handler: Handler | Executor
    _: KW_ONLY
    name: str = ""
    description: str = ""
    version: str = "0.1.0"
    skills: tuple[Skill, ...] = ()
    input_modes: tuple[str, ...] = ("text/plain",)
    output_modes: tuple[str, ...] = ("text/plain",)
    streaming: bool = True
    steers: bool = False
    session_scope: SessionScope = "context"
    resumable: bool | None = None
    idempotent_messages: bool = True
    turn_timeout: timedelta | None = None
    presets: tuple[Preset, ...] = ()
    provider: Provider | None = None
    documentation_url: str | None = None
    icon_url: str | None = None
    extensions: tuple[Extension, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not ID_PATTERN.fullmatch(self.id):
            raise ValueError(f"Agent id {self.id!r}: {ID_GRAMMAR}")
        if not (is_executor(self.handler) or is_streaming(self.handler) or is_coroutine_function(self.handler)):
            raise TypeError(
                f"Agent {self.id!r}: the handler is neither a coroutine function, an async generator function "
                f"nor an object with async execute and cancel, but {self.handler!r}"
            )
        if self.steers and is_executor(self.handler):
            raise TypeError(f"Agent {self.id!r}: an executor cannot ask for messages, so it does not steer")
        if self.session_scope not in ("context", "caller"):
            raise ValueError(f"Agent {self.id!r}: session_scope is 'context' or 'caller', not {self.session_scope!r}")
        if self.turn_timeout is not None and self.turn_timeout <= timedelta(0):
            raise ValueError(f"Agent {self.id!r}: turn_timeout must be longer than zero, not {self.turn_timeout}")
        object.__setattr__(self, "presets", self._distinct("presets", Preset, lambda preset: preset.id))
        object.__setattr__(self, "extensions", self._distinct("extensions", Extension, lambda each: each.uri))
        object.__setattr__(self, "name", self.name or self.id)
        object.__setattr__(self, "description", self.description or _first_paragraph(self.handler) or self.name)
        object.__setattr__(self, "input_modes", _strings("input_modes", self.input_modes))
        object.__setattr__(self, "output_modes", _strings("output_modes", self.output_modes))
        skills = tuple(self.skills)
        if not all(isinstance(skill, Skill) for skill in skills):
            raise TypeError(f"Agent {self.id!r}: skills holds Skill objects only, not {skills!r}")
        object.__setattr__(self, "skills", skills or (Skill(self.id, name=self.name, description=self.description),))
        if self.resumable is None:
            object.__setattr__(self, "resumable", not is_executor(self.handler))

    def _distinct(self, field: str, kind: type[T], key: Callable[[T], str]) -> tuple[T, ...]:
        """Return the entries of a field, each of its kind and under a key of its own."""
        entries = tuple(getattr(self, field))
        if not all(isinstance(entry, kind) for entry in entries):
            raise TypeError(f"Agent {self.id!r}: {field} holds {kind.__name__} objects only, not {entries!r}")
        keys = list(map(key, entries))
        if twice := sorted({each for each in keys if keys.count(each) > 1}):
            raise ValueError(f"Agent {self.id!r}: {field} has {twice[0]!r} twice")
        return entries


def is_streaming(handler: object) -> TypeGuard[Callable[[Turn], AsyncGenerator[str | Part]]]:
    """Tell whether the handler is an async generator function, or a callable object whose call is one."""
    return inspect.isasyncgenfunction(handler) or inspect.isasyncgenfunction(getattr(handler, "__call__", None))  # noqa: B004


def is_coroutine_function(handler: object) -> TypeGuard[Callable[[Turn], Awaitable[Answer]]]:
    """Tell whether calling the handler gives a coroutine."""
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(getattr(handler, "__call__", None))  # noqa: B004


def is_executor(handler: object) -> TypeGuard[Executor]:
    """Tell whether the handler has the shape of an a2a-sdk ``AgentExecutor`` instance."""
    return not isinstance(handler, type) and all(
        inspect.iscoroutinefunction(getattr(handler, name, None)) for name in ("execute", "cancel")
    )


def _first_paragraph(handler: object) -> str:
    """Return the first paragraph of a function's docstring on one line; an object's class may not speak for it."""
    doc = inspect.getdoc(handler) if inspect.isroutine(handler) else None
    return " ".join((doc or "").split("\n\n")[0].split())


def _strings(name: str, values: Sequence[str]) -> tuple[str, ...]:
    if isinstance(values, str) or not all(isinstance(value, str) for value in values):
        raise TypeError(f"{name} is a sequence of strings, not {values!r}")
    return tuple(values)
