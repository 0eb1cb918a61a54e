"""One host: everything wired together, started and stopped in one visible order."""

import asyncio
import logging
import os
import socket
from contextlib import AsyncExitStack

from innkeeper.app.pages import create_pages
from innkeeper.contract.agent import Agent, is_executor
from innkeeper.contract.errors import StartFault
from innkeeper.edge.app import ASGI, EdgeApp, Limits, Receive, Scope, Send, origins_from_urls
from innkeeper.edge.cards import Cards
from innkeeper.edge.door import OpenDoor
from innkeeper.edge.executor import runner_from_executor
from innkeeper.edge.keys import SigningKeys, key_from_json, load_or_create_key_file
from innkeeper.edge.service import Service
from innkeeper.edge.wire import WireCodec
from innkeeper.ports.clock import World
from innkeeper.ports.events import Committed
from innkeeper.ports.running import Runner
from innkeeper.registry.assembly import Registry, load_registry
from innkeeper.settings import Settings
from innkeeper.store import open_store
from innkeeper.turns.engine import Engine
from innkeeper.turns.run import Means
from innkeeper.turns.runners import runner_from_handler

log = logging.getLogger(__name__)


class Host:
    """A host made of settings; ``base_url`` is the one public URL that every card, key URL and audience begins with.

    It is an ASGI application for HTTP. ``start`` and ``stop`` must be called from the same task. ``bound`` are the
    addresses that the host was bound to in fact (a port 0 resolved); set it before ``start``.
    """

    def __init__(self, settings: Settings, base_url: str, *, reserved: frozenset[str] = frozenset()) -> None:
        self._settings = settings
        self._base_url = base_url.rstrip("/")
        self._reserved = reserved
        self._resources = AsyncExitStack()
        self._engine: Engine | None = None
        self._edge: ASGI | None = None
        self.hurry = asyncio.Event()
        self.tenants: tuple[str, ...] = ()
        self.bound: tuple[str, ...] = ()

    @property
    def state(self) -> str:
        """What the host is doing: "starting", "ready" or "stopping"."""
        if self._engine is None:
            return "starting"
        return "stopping" if self._engine.stopping else "ready"

    async def start(self) -> None:
        """Load plugins and keys, open the store, take up unfinished turns.

        Raises:
            StartFault: with every fault that could be found; nothing is left open.
        """
        registry, keys = await self._parts()
        try:
            await self._wire(registry, keys)
        except BaseException:
            await self._resources.aclose()
            raise

    async def drain(self) -> None:
        """Take no more messages, let turns end for the grace period, put back the rest, end every stream.

        It may be called from any task.
        """
        if self._engine is not None and not self._engine.stopping:
            await self._engine.stop(self._settings.host.shutdown_grace, self.hurry)

    async def stop(self) -> None:
        """Drain, then close everything that ``start`` opened."""
        try:
            await self.drain()
        finally:
            await self._resources.aclose()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if self._edge is None:
            raise RuntimeError("the host has not been started")
        await self._edge(scope, receive, send)

    async def _parts(self) -> tuple[Registry, SigningKeys]:
        """Load what can fail on its own, so that all faults come in one report."""
        faults: list[str] = []
        registry = keys = None
        try:
            registry = await load_registry(self._settings, reserved=self._reserved)
        except StartFault as fault:
            faults += fault.faults
        try:
            keys = self._keys()
        except StartFault as fault:
            faults += fault.faults
        if registry is None or keys is None:
            raise StartFault(*faults)
        return registry, keys

    def _keys(self) -> SigningKeys:
        auth = self._settings.auth
        if auth.signing_key is not None:
            return key_from_json(auth.signing_key.get_secret_value())
        return load_or_create_key_file(auth.signing_key_file)

    async def _wire(self, registry: Registry, keys: SigningKeys) -> None:
        settings, host = self._settings, self._settings.host
        engine: Engine | None = None

        def published(committed: Committed) -> None:
            if engine is not None:
                engine.published(committed)

        codec = WireCodec()
        store = await self._resources.enter_async_context(open_store(host.data_dir, published))
        means = Means(
            store=store,
            codec=codec,
            world=World(),
            strays=registry.strays,
            holder=f"{socket.gethostname()}:{os.getpid()}",
            cancel_grace=settings.turns.cancel_grace,
        )
        engine = Engine(
            means,
            registry.tenants,
            _runner_for,
            max_attempts=settings.turns.max_attempts,
            max_concurrent_turns=settings.turns.max_concurrent_turns,
        )
        cards = Cards(
            keys,
            self._base_url,
            {tenant.id: tenant.agent for tenant in registry.tenants.values()},
            name=settings.card.name,
            description=settings.card.description,
        )
        pages = create_pages(lambda: self.state)
        self._edge = EdgeApp(
            service=Service(engine, cards),
            cards=cards,
            door=OpenDoor(),
            origins=origins_from_urls(
                self._base_url, (*host.bind, *self.bound), host.allowed_hosts, host.allowed_origins
            ),
            limits=Limits(body_bytes=settings.wire.body_bytes),
            inner=pages,
            sole_tenant=next(iter(registry.tenants)) if len(registry.tenants) == 1 else None,
        )
        self._resources.push_async_callback(engine.close)
        await engine.start()
        self._engine = engine
        self.tenants = tuple(registry.tenants)


def _runner_for(agent: Agent) -> Runner:
    return runner_from_executor(agent) if is_executor(agent.handler) else runner_from_handler(agent)
