"""The hooks a plugin may implement. The docstring of each is its reference: not there, not promised.

An implementation may be a plain or an async function (``cli``: plain only) and names only the arguments it wants. Each
is called by itself, in a task of its own with a deadline; ``HOOKS`` has the rules.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

from innkeeper.contract.agent import Agent
from innkeeper.contract.message import Message
from innkeeper.contract.plugin import PluginContext
from innkeeper.contract.session import Scope, Session
from innkeeper.contract.tables import Database
from innkeeper.contract.tool import Tool
from innkeeper.contract.turn import Turn
from innkeeper.contract.turn_event import TurnEvent
from innkeeper.contract.workspace import WorkspaceBacking


def register_agents(plugin: PluginContext) -> Agent | Iterable[Agent] | None:
    """Bring agents. Since v1.

    All answers are collected. A generator function is an implementation as well.
    """


def web_app(plugin: PluginContext) -> Any:
    """Bring web pages: an ASGI application, such as a Quart app, served under ``/plugins/<name>/``. Since v1.

    It is behind the door of the host: ``scope["innkeeper.caller"]`` is the verified ``Caller``,
    ``scope["innkeeper.tenants"]`` the ids of the tenants that the caller may address. ``root_path`` ends with
    ``/plugins/<name>``. The application gets HTTP only; its lifespan, where it has one, is run with the host's.
    ``plugin`` is the context at host scope; ``plugin.for_tenant(id)`` gives the tenant's, with its tables, and refuses
    a tenant that the caller of the request may not address.
    """
    raise NotImplementedError


def cli(plugin: PluginContext) -> Any:
    """Bring commands: a click group, run as ``innkeeper <name> …``. Since v1.

    Asked only when the plugin's name is typed; no other plugin is imported then. The host need not run, and may.
    ``plugin.for_tenant(id)`` gives the context of a tenant with its tables.
    """
    raise NotImplementedError


def lifespan(plugin: PluginContext) -> AbstractAsyncContextManager[object]:
    """Hold something as long as the tenant is served: a function under ``contextlib.asynccontextmanager``. Since v1.

    Entered at each tenant that uses the plugin, in the order of its hooks, before the tenant takes messages; left in
    reverse order after its last turn. One task enters, holds and leaves it, so that cancel scopes and task groups may
    stay open across the ``yield``. What others need of it goes into ``plugin.state``.
    """
    raise NotImplementedError


def ensure_tables(db: Database, version: int) -> None:
    """Make or upgrade the plugin's tables at one tenant. Since v1.

    Run at every start, in one transaction with the version row, so it is all or nothing, DDL included. ``version`` is
    what is on disk: 0 the first time, then the ``schema_version: int`` that the plugin declares beside this function.
    Tables on disk that are newer than the plugin are refused without asking. ``db`` is good until the function returns.
    """


def workspace_backing(scope: Scope, plugin: PluginContext) -> WorkspaceBacking | None:
    """Keep the files of a session. Since v1.

    Asked when a turn first uses ``turn.workspace``; the answer is kept for the 1000 sessions of a tenant that have used
    theirs last, so answer the same files for the same session. One plugin of a tenant may have this hook; two
    are a start fault that names both. None means that this session's files are kept in memory,
    as they are without such a plugin: until the host stops, or 1000 other sessions have used theirs.
    A call of a method of the answer is like one of this hook: it has the same deadline, and a fault is the plugin's,
    charged as ``workspace_backing.read_file`` and so on.
    """


def should_handle_turn(turn: Turn, history: Sequence[Message], plugin: PluginContext) -> bool | None:
    """Say whether this turn should be handled at all: a gate. Since v1.

    Asked for each new turn, before any handler or model runs; never again for a rerun of the same turn. ``history``
    is the session so far, oldest first, the message being judged last. All gates of the tenant are asked at the same
    time and all are awaited; the turn runs unless one of them answers ``False``. None is "no opinion".
    A declined turn completes the task without a word; the caller is not told which gate declined.
    """


def agent_tools(session: Session, plugin: PluginContext) -> Iterable[Tool] | None:
    """Bring tools for the agent of the tenant: ``turn.tools``. Since v1.

    Asked at each turn before the handler runs, so that tools may come and go. All answers are collected, in order. Two
    tools of one name, or one of ``RESERVED_TOOLS``, fail the turn. A generator function is an implementation as well.
    """


def capability(plugin: PluginContext) -> str | None:
    """Say what the agent can do thanks to this plugin, for its prompt. Since v1.

    Asked whenever an agent makes a prompt with ``await turn.capabilities()``, which joins the texts by a blank line.
    """


def summarize_messages(session: Session, messages: Sequence[Message], plugin: PluginContext) -> str | None:
    """Put messages that are about to leave the context of a session into fewer words. Since v1.

    ``messages`` are oldest first. Plugins are asked one after another until one answers a text.
    """


def on_messages_displaced(session: Session, messages: Sequence[Message], plugin: PluginContext) -> None:
    """Keep what is useful of messages that leave the context of a session. Since v1.

    ``messages`` are oldest first. Every listener is told, all at the same time, and all are awaited. The same messages
    may be told again after a crash: their ids say so.
    """


def on_turn_stopping(turn: Turn, plugin: PluginContext) -> None:
    """Look at a turn that is about to complete its task, and object by ``await turn.steer(text)``. Since v1.

    Asked when the handler of an agent that ``steers`` has returned its answer, one listener after another, in order.
    What one steers with is the next turn of the task, after the answer has been published as progress; listeners are
    asked again at the end of that, so steer only as long as something is missing. Not asked for a turn that asks back,
    refuses or fails.
    """


def on_turn_event(event: TurnEvent, plugin: PluginContext) -> None:
    """Hear of everything that happens to the tasks of a tenant, after it is on disk. Since v1.

    Events of a task come in their order, one at a time, at most once: they wait in a bounded queue per plugin and
    tenant, and what does not fit in, or has not been told when the host stops, is dropped and counted. All listeners
    are told the same event, so ``data`` is read-only at every depth: mappings, and tuples for lists.
    """


class Kind(StrEnum):
    """How the implementations of a hook are asked, and what becomes of their answers."""

    COLLECT = "collect"
    ALL_AGREE = "collect, AND"
    FIRST = "first"
    NOTIFY = "notify"
    IN_ORDER = "notify, in order"
    ONE_PER_PLUGIN = "one per plugin"
    ONE_PROVIDER = "one provider"
    CONTEXT = "context"


class OnFault(StrEnum):
    """What a raise, a hang past the deadline or a wrong answer does."""

    START_FAULT = "start fault"
    FAILS_OPEN = "counts as True (fails open)"
    FAILS_THE_TURN = "the turn fails"
    SKIPPED = "skipped"
    NEXT_ASKED = "the next one is asked"
    IGNORED = "nobody else is disturbed"
    TOLD = "error naming the plugin"


@dataclass(frozen=True, slots=True)
class HookRule:
    """The rules of one hook: when and how it is asked, what it may answer, for how long, and what a fault does.

    ``deadline`` is None where there is none. Every fault that is no start fault is logged with plugin, hook and tenant,
    and counted.
    """

    asked: str
    kind: Kind
    answers: str
    deadline: timedelta | None
    on_fault: OnFault

    @property
    def seconds(self) -> float:
        """The deadline in seconds."""
        return math.inf if self.deadline is None else self.deadline.total_seconds()


def _rule(asked: str, kind: Kind, answers: str, seconds: float | None, on_fault: OnFault) -> HookRule:
    return HookRule(asked, kind, answers, None if seconds is None else timedelta(seconds=seconds), on_fault)


_AGENTS: Final = "an Agent, an iterable of them or None"
_BACKING: Final = "a WorkspaceBacking or None"
_COMMIT: Final = "each durable event, after its commit"

HOOKS: Final[Mapping[str, HookRule]] = MappingProxyType(
    {
        "register_agents": _rule("host start", Kind.COLLECT, _AGENTS, 30, OnFault.START_FAULT),
        "web_app": _rule("host start", Kind.ONE_PER_PLUGIN, "an ASGI application", 30, OnFault.START_FAULT),
        "cli": _rule("its name is typed", Kind.ONE_PER_PLUGIN, "a click group", None, OnFault.TOLD),
        "lifespan": _rule("tenant start to stop", Kind.CONTEXT, "an async context manager", 30, OnFault.START_FAULT),
        "ensure_tables": _rule("tenant start", Kind.ONE_PER_PLUGIN, "None", 60, OnFault.START_FAULT),
        "workspace_backing": _rule("first use in a session", Kind.ONE_PROVIDER, _BACKING, 5, OnFault.FAILS_THE_TURN),
        "should_handle_turn": _rule("each turn", Kind.ALL_AGREE, "True, False or None", 5, OnFault.FAILS_OPEN),
        "agent_tools": _rule("each turn", Kind.COLLECT, "an iterable of Tool or None", 5, OnFault.FAILS_THE_TURN),
        "capability": _rule("each prompt", Kind.COLLECT, "a text or None", 1, OnFault.SKIPPED),
        "summarize_messages": _rule("compaction", Kind.FIRST, "a text or None", 60, OnFault.NEXT_ASKED),
        "on_messages_displaced": _rule("compaction", Kind.NOTIFY, "None", 30, OnFault.IGNORED),
        "on_turn_stopping": _rule("a turn about to end", Kind.IN_ORDER, "None", 5, OnFault.FAILS_THE_TURN),
        "on_turn_event": _rule(_COMMIT, Kind.NOTIFY, "None", 5, OnFault.IGNORED),
    }
)
"""Every hook by name; the function of that name in this module is its specification."""
