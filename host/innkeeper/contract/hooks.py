"""The hooks a plugin may implement. The docstring of each is its reference: not there, not promised.

An implementation may be a plain or an async function and names only the arguments it wants.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType
from typing import Final

from innkeeper.contract.agent import Agent
from innkeeper.contract.message import Message
from innkeeper.contract.plugin import PluginContext
from innkeeper.contract.turn import Turn


def register_agents(plugin: PluginContext) -> Agent | Iterable[Agent] | None:
    """Bring agents. Since v1.

    Asked: once, at host start. Answers: an ``Agent``, an iterable of them, or None; all answers are collected.
    A raise, a hang or another kind of answer is a start fault: the host does not start.
    """


def should_handle_turn(turn: Turn, history: Sequence[Message], plugin: PluginContext) -> bool | None:
    """Say whether this turn should be handled at all: a gate. Since v1.

    Asked: for each new turn, before any handler or model runs; never again for a rerun of the same turn. ``history``
    is the session so far, oldest first, the message being judged last. All gates of the tenant are asked at the same
    time and all are awaited; the turn runs unless one of them answers ``False``. None is "no opinion".
    A declined turn completes the task without a word; the caller is not told which gate declined.
    A raise, a hang or an answer that is neither bool nor None counts as ``True`` (fails open) with a warning that
    names the plugin.
    """


@dataclass(frozen=True, slots=True)
class HookRule:
    """The rules of one hook that the host enforces: how long an implementation may take."""

    deadline: timedelta


HOOKS: Final[Mapping[str, HookRule]] = MappingProxyType(
    {
        register_agents.__name__: HookRule(deadline=timedelta(seconds=30)),
        should_handle_turn.__name__: HookRule(deadline=timedelta(seconds=5)),
    }
)
"""Every hook by name."""
