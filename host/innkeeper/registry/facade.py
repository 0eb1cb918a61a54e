"""The one typed door to plugins: a method per hook. How answers combine is in ``fanout``, what they are is here."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, final

import click

from innkeeper.contract.agent import Agent
from innkeeper.contract.hooks import HOOKS, HookRule
from innkeeper.contract.message import Message
from innkeeper.contract.session import Scope, Session
from innkeeper.contract.tables import Database
from innkeeper.contract.tool import RESERVED_TOOLS, Tool
from innkeeper.contract.turn import Turn
from innkeeper.contract.turn_event import TurnEvent
from innkeeper.registry import answers
from innkeeper.registry.charges import Charges
from innkeeper.registry.fanout import (
    GRACE_SECONDS,
    Asked,
    Fanout,
    Fault,
    HookFailed,
    Implementation,
    Verdict,
    in_order,
)
from innkeeper.registry.foreign import Strays
from innkeeper.registry.foreign_backing import HOOK, ForeignBacking, looks_like_one, rules_of_methods
from innkeeper.registry.holding import Holding
from innkeeper.registry.listeners import Listener

PARTING_SECONDS: Final = 5.0
"""How long listeners are told what still waits when the host stops."""

_PASSED: Final = Verdict()


@final
class Hooks:
    """The hooks of one tenant, or of the host itself."""

    def __init__(
        self,
        implementations: Iterable[Implementation],
        strays: Strays,
        charges: Charges,
        *,
        rules: Mapping[str, HookRule] = HOOKS,
        grace_seconds: float = GRACE_SECONDS,
    ) -> None:
        self.implementations = in_order(implementations)
        self._strays = strays
        self._charges = charges
        self._rules = rules
        with_methods = {**rules, **rules_of_methods(rules[HOOK])}
        self._fanout = Fanout(self.implementations, strays, charges, rules=with_methods, grace_seconds=grace_seconds)
        self._listeners = tuple(Listener(each, self._tell_event, charges) for each in self._fanout.of("on_turn_event"))

    def has(self, hook: str) -> bool:
        """Whether there is anybody to ask, so that what a hook wants to know need not be gathered for nobody."""
        return bool(self._fanout.of(hook))

    # --- the host ---------------------------------------------------------------------------------------------------

    async def register_agents(self) -> Asked[tuple[Agent, ...]]:
        """Ask every plugin for its agents."""
        return await self._fanout.collect("register_agents", {}, answers.agents)

    async def web_app(self) -> Asked[Callable[..., Any]]:
        """Ask every plugin for its pages."""
        return await self._fanout.collect("web_app", {}, answers.asgi)

    def cli(self) -> click.Group:
        """Ask for a plugin's commands.

        Raises:
            HookFailed: the plugin has none, or is at fault.
        """
        return self._fanout.call_plain("cli", answers.group)

    # --- a tenant ---------------------------------------------------------------------------------------------------

    def lifespan(self) -> tuple[Holding, ...]:
        """Return what is to be held while the tenant is served, in the order in which it is to be entered."""
        seconds = self._rules["lifespan"].seconds
        return tuple(
            Holding(each, self._strays, self._charges, deadline=seconds) for each in self._fanout.of("lifespan")
        )

    async def ensure_tables(self, plugin: str, db: Database, version: int) -> None:
        """Let a plugin make or upgrade its tables.

        Raises:
            HookFailed: it is at fault.
        """
        await self._fanout.ask_plugin(plugin, "ensure_tables", {"db": db, "version": version}, answers.nothing)

    async def workspace_backing(self, scope: Scope) -> ForeignBacking | None:
        """Ask the provider of workspaces; None without one, or if it leaves the session to the host.

        Raises:
            HookFailed: the provider is at fault.
        """
        backing = await self._fanout.provide(HOOK, {"scope": scope}, looks_like_one)
        return None if backing is None else ForeignBacking(backing, self._fanout.of(HOOK)[0], self._fanout)

    # --- a turn -----------------------------------------------------------------------------------------------------

    async def should_handle_turn(self, turn: Turn, history: Sequence[Message]) -> Verdict:
        """Ask all gates at once and wait for all: the turn is handled unless one answers False."""
        if not self.has("should_handle_turn"):
            return _PASSED
        return await self._fanout.all_agree("should_handle_turn", {"turn": turn, "history": tuple(history)})

    async def agent_tools(self, session: Session) -> tuple[Tool, ...]:
        """Ask every plugin for its tools.

        Raises:
            HookFailed: a plugin is at fault, or brings a tool under a name that is reserved or taken.
        """
        if not self.has("agent_tools"):
            return ()
        asked = await self._fanout.collect("agent_tools", {"session": session}, answers.tools)
        clashes = [
            self._fanout.charge(plugin, "agent_tools", reason) for plugin, reason in _tool_clashes(asked.answers)
        ]
        if asked.faults or clashes:
            raise HookFailed(*asked.faults, *clashes)
        return tuple(tool for _, tools in asked.answers for tool in tools)

    async def capability(self) -> Asked[str | None]:
        """Ask every plugin for what it adds to a prompt."""
        return await self._fanout.collect("capability", {}, answers.text)

    async def summarize_messages(self, session: Session, messages: Sequence[Message]) -> str | None:
        """Ask one plugin after another until one puts the messages into fewer words."""
        return await self._fanout.first(
            "summarize_messages", {"session": session, "messages": tuple(messages)}, answers.text
        )

    async def on_messages_displaced(self, session: Session, messages: Sequence[Message]) -> tuple[Fault, ...]:
        """Tell every listener of messages that leave the context; nothing is raised."""
        return await self._fanout.notify("on_messages_displaced", {"session": session, "messages": tuple(messages)})

    async def on_turn_stopping(self, turn: Turn) -> None:
        """Tell every listener, one after another, of a turn that is about to end.

        Raises:
            HookFailed: a plugin is at fault; those after it are not asked.
        """
        for each in self._fanout.of("on_turn_stopping"):
            asked = await self._fanout.ask_one(each, {"turn": turn}, answers.ignored)
            if asked.faults:
                raise HookFailed(*asked.faults)

    def on_turn_event(self, event: TurnEvent) -> None:
        """Queue an event for every listener; call it on the event loop."""
        for listener in self._listeners:
            listener.push(event)

    @property
    def dropped_events(self) -> Mapping[str, int]:
        """Return how many events each listener has not been told of, by plugin."""
        return {listener.plugin: listener.dropped for listener in self._listeners}

    async def close(self) -> None:
        """Tell listeners what still waits, for a short while."""
        await asyncio.gather(*(listener.close(PARTING_SECONDS) for listener in self._listeners))

    async def _tell_event(self, implementation: Implementation, event: TurnEvent) -> None:
        await self._fanout.ask_one(implementation, {"event": event}, answers.ignored)


def _tool_clashes(brought: Iterable[tuple[str, tuple[Tool, ...]]]) -> Iterable[tuple[str, str]]:
    owners: dict[str, str] = {}
    for plugin, tools in brought:
        for tool in tools:
            if tool.name in RESERVED_TOOLS:
                yield plugin, f"brings a tool {tool.name!r}, a name that is reserved"
            elif tool.name in owners:
                yield plugin, f"brings a tool {tool.name!r} that plugin {owners[tool.name]!r} has brought already"
            else:
                owners[tool.name] = plugin
