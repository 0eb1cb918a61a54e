"""A host in the process of the test: the real one, without a socket, on an event loop of its own."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar, final

import anyio
import httpx
from anyio import to_thread
from click.testing import Result

from innkeeper.app.host import Host
from innkeeper.contract.caller import Caller
from innkeeper.contract.message import JSON, Message
from innkeeper.contract.plugin import PluginContext
from innkeeper.contract.session import Scope
from innkeeper.contract.tool import Tool, ToolAnswer
from innkeeper.contract.turn_event import TurnEvent
from innkeeper.contract.workspace import Workspace
from innkeeper.ports.events import Committed
from innkeeper.registry.assembly import Registry
from innkeeper.registry.charges import Charge
from innkeeper.registry.fanout import Fault
from innkeeper.registry.tenants import Tenant
from innkeeper.testing.asking import Asking
from innkeeper.testing.clock import FakeClock
from innkeeper.testing.commanding import run_command
from innkeeper.testing.held import HeldHost
from innkeeper.testing.pending import LoopThread, Pending
from innkeeper.testing.reply import Reply
from innkeeper.testing.rerouted import rerouted_tool, rerouted_workspace
from innkeeper.testing.samples import Said, make_caller, message_of
from innkeeper.testing.setup import Setup
from innkeeper.testing.tenancy import sole_tenant
from innkeeper.testing.visitors import BASE_URL, Visitor, VisitorDoor
from innkeeper.turns.plugins import turn_event

T = TypeVar("T")

START_SECONDS: Final = 75.0
"""How long a host may take to start: longer than any one hook."""

STOP_SECONDS: Final = 15.0


@final
class InProcessHost:
    """A real host with its store and engine, in a thread of its own, as a context manager.

    Whatever takes time is a ``Pending``: ``await`` it in an async test, call ``.result()`` in a plain one. Where a
    method takes a ``tenant``, it may be left out if there is only one; the agent that every host under test has does
    not count. ``caller`` is who speaks unless another is named. ``folder`` holds settings and data.
    """

    def __init__(
        self, setup: Setup, folder: Path, *, clock: FakeClock | None = None, caller: Caller | None = None
    ) -> None:
        self.folder = folder
        self.caller = caller or make_caller()
        self._setup = setup
        self._clock = clock
        self._thread = LoopThread("host under test")
        self._committed: list[Committed] = []
        self._sessions: dict[tuple[str, str, str], str] = {}
        self._held = HeldHost(self._made)

    def __enter__(self) -> Self:
        try:
            self._run(self._held.start(), "the start of the host").result(START_SECONDS)
        except BaseException:
            with suppress(TimeoutError):  # what has kept it from starting may keep it from ending
                self._thread.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the host.

        Raises:
            AssertionError: code of a plugin goes on although it has been canceled.
        """
        ended = False
        try:
            ended = self._thread.close(self._held.stop(), STOP_SECONDS)
        except Exception:
            if error is None:  # otherwise what was raised before says more
                raise
        if error is None and (self._held.left_behind or not ended):
            names = ", ".join(self._held.left_behind) or "a task of theirs"
            raise AssertionError(f"plugins run on after the host has stopped: {names}")

    # --- turns ------------------------------------------------------------------------------------------------------

    def send(
        self,
        said: Said,
        *,
        tenant: str = "",
        context: str = "",
        task: str = "",
        caller: Caller | None = None,
        metadata: Mapping[str, JSON] | None = None,
    ) -> Pending[Reply]:
        """Say something to an agent; the reply is there once the task has settled.

        ``context`` goes on with a conversation, ``task`` answers the question of one. A new conversation by default.
        """
        talk = self._asking(tenant, context, caller)
        return self._run(talk.send(said, task, metadata or {}, self._committed), f"the turn of {said!r:.80}")

    @property
    def events(self) -> tuple[TurnEvent, ...]:
        """Everything that has happened to tasks so far, as ``on_turn_event`` is told."""
        return tuple(turn_event(each, each.source) for each in tuple(self._committed) if each.source)

    @property
    def faults(self) -> Mapping[Charge, int]:
        """How often each plugin, hook and tenant has been at fault since the host started; the reasons are logged."""
        return dict(self.registry.stock.charges.counts)

    def caught_up(self) -> Pending[None]:
        """Wait until ``on_turn_event`` has been told of everything so far."""
        return self._run(self._tell((), self._held.host.tenants.values()), "on_turn_event")

    # --- hooks that are asked outside of turns ------------------------------------------------------------------------

    def displace(
        self, messages: Iterable[Said | Message], *, tenant: str = "", context: str = "", caller: Caller | None = None
    ) -> Pending[tuple[Fault, ...]]:
        """Let messages leave the context of a session, oldest first; answers what went wrong at listeners."""
        talk, told = self._asking(tenant, context, caller), self._messages(messages)
        return self._run(talk.tenant.hooks.on_messages_displaced(talk.session, told), "on_messages_displaced")

    def summarize(
        self, messages: Iterable[Said | Message], *, tenant: str = "", context: str = "", caller: Caller | None = None
    ) -> Pending[str | None]:
        """Ask for a summary of messages of a session, oldest first; None if no plugin makes one."""
        talk, told = self._asking(tenant, context, caller), self._messages(messages)
        return self._run(talk.tenant.hooks.summarize_messages(talk.session, told), "summarize_messages")

    def tell(self, *events: TurnEvent, tenant: str = "") -> Pending[None]:
        """Tell ``on_turn_event`` of events made by hand, and wait until every listener has heard them."""
        return self._run(self._tell(events, [self.tenant(tenant)]), "on_turn_event")

    def tools(self, *, tenant: str = "", context: str = "", caller: Caller | None = None) -> Pending[dict[str, Tool]]:
        """Ask for the tools that a turn of this session would have, by name."""
        talk = self._asking(tenant, context, caller)

        async def ask() -> dict[str, Tool]:
            tools = await talk.tenant.hooks.agent_tools(talk.session)
            return {tool.name: rerouted_tool(tool, self.run) for tool in tools}

        return self._run(ask(), "agent_tools")

    def use(
        self,
        tool: str,
        arguments: Mapping[str, JSON] | None = None,
        *,
        tenant: str = "",
        context: str = "",
        caller: Caller | None = None,
    ) -> Pending[ToolAnswer]:
        """Run a tool as the agent would in a turn of this session.

        Raises:
            LookupError: the session has no such tool.
            BadArguments: the tool does not take these arguments.
        """
        talk = self._asking(tenant, context, caller)
        return self._run(talk.use(tool, arguments or {}, self._messages([""])[0]), f"tool {tool!r}")

    def workspace(self, *, tenant: str = "", context: str = "", caller: Caller | None = None) -> Workspace:
        """Return the files of a session; its async methods may be awaited in a test, or given to ``run``."""
        talk = self._asking(tenant, context, caller)
        scope = Scope(talk.tenant.id, talk.session.caller, talk.session.id)
        return Workspace(lambda: rerouted_workspace(talk.tenant.workspaces, scope, self.run), anyio.Lock())

    # --- the host and its plugins -------------------------------------------------------------------------------------

    @property
    def registry(self) -> Registry:
        """What was loaded, and what was wrong with it."""
        registry = self._held.host.registry
        assert registry is not None  # noqa: S101 - a host that has been started has one
        return registry

    def tenant(self, tenant: str = "") -> Tenant:
        """Return a tenant.

        Raises:
            LookupError: there is no such tenant, or none is named and there are several.
        """
        tenants = self._held.host.tenants
        return tenants[sole_tenant(tenant, tenants)]

    def plugin(self, name: str, *, tenant: str = "") -> PluginContext:
        """Return the context that a plugin has at a tenant; what it does with its ``db`` goes through ``run``.

        Raises:
            LookupError: the tenant does not use such a plugin.
        """
        at = self.tenant(tenant)
        for each in at.hooks.implementations:
            if each.plugin == name:
                return each.context
        raise LookupError(f"tenant {at.id!r} uses no plugin {name!r} that has a hook; it uses {', '.join(at.plugins)}")

    def request(
        self,
        method: str,
        path: str,
        *,
        caller: Caller | None = None,
        tenants: Iterable[str] | None = None,
        **options: Any,
    ) -> Pending[httpx.Response]:
        """Send an HTTP request to the host as httpx does; ``path`` is one of the host, such as "/plugins/mine/".

        It comes from the caller, who may address these ``tenants``, all of them by default.

        Raises:
            LookupError: there is no such tenant.
        """
        allowed = None if tenants is None else tuple(self.tenant(each).id for each in tenants)
        visitor = Visitor(caller or self.caller, allowed)
        return self._run(visitor.ask(self._held.host, method, path, options), f"{method} {path}")

    def command(self, plugin: str, *arguments: str) -> Pending[Result]:
        """Run ``innkeeper PLUGIN ARGUMENTS`` on the data of the host, in a thread: ``output`` and ``exit_code``."""
        asked = to_thread.run_sync(run_command, self._setup, self.folder, plugin, arguments)
        return self._run(asked, f"innkeeper {' '.join((plugin, *arguments))}")

    def run(self, function: Callable[..., Awaitable[T]], *arguments: Any) -> Pending[T]:
        """Call an async function on the event loop of the host, where databases of plugins are at home."""

        async def call() -> T:
            return await function(*arguments)

        return self._run(call(), getattr(function, "__qualname__", repr(function)))

    def restart(self) -> Pending[None]:
        """Stop the host and start another one on the same data. Turns that run are put back and taken up again."""

        async def again() -> None:
            await self._held.stop()
            await self._held.start()

        return self._run(again(), "the restart of the host")

    # --- inside -------------------------------------------------------------------------------------------------------

    def _run(self, work: Any, what: str) -> Pending[Any]:
        return self._thread.submit(work, what)

    def _asking(self, tenant: str, context: str, caller: Caller | None) -> Asking:
        return Asking(
            self._held.host.engine, self.tenant(tenant), caller or self.caller, context, self._sessions, self._now
        )

    @staticmethod
    async def _tell(events: Iterable[TurnEvent], tenants: Iterable[Tenant]) -> None:
        for tenant in tenants:
            for event in events:
                tenant.hooks.on_turn_event(event)
            await tenant.hooks.close()

    def _messages(self, messages: Iterable[Said | Message]) -> tuple[Message, ...]:
        return tuple(message_of(each, self._now()) for each in messages)

    def _now(self) -> datetime:
        return datetime.now(UTC) if self._clock is None else self._clock.now

    def _made(self) -> Host:
        return Host(
            self._setup.load(self.folder),
            BASE_URL,
            environ=self._setup.variables,
            world=None if self._clock is None else self._clock.world,
            entry_points=self._setup.entry_points(),
            listen=self._committed.append,
            door=VisitorDoor(),
        )
