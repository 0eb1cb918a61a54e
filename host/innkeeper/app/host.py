"""One host: everything wired together, started and stopped in one visible order."""

import asyncio
import os
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager

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
from innkeeper.ports.store import Store
from innkeeper.registry.assembly import Registry, load_registry
from innkeeper.registry.foreign import contain_exits
from innkeeper.registry.tenants import Tenant
from innkeeper.settings import Settings
from innkeeper.store import open_store
from innkeeper.turns.engine import Engine
from innkeeper.turns.means import Means
from innkeeper.turns.runners import runner_from_handler


class Host:
    """A host made of settings; ``base_url`` is the one public URL that every card, key URL and audience begins with.

    It is an ASGI application for HTTP. ``bound`` are the addresses that it is bound to in fact (a port 0 resolved),
    where they are known. ``start`` and ``stop`` must be called from the same task.
    """

    def __init__(self, settings: Settings, base_url: str, *, bound: Sequence[str] = ()) -> None:
        self._settings = settings
        self._base_url = base_url.rstrip("/")
        self._bound = tuple(bound)
        self._resources = AsyncExitStack()
        self._store: Store | None = None
        self._engine: Engine | None = None
        self._edge: ASGI | None = None
        self.hurry = asyncio.Event()
        self.tenants: tuple[str, ...] = ()

    @property
    def state(self) -> str:
        """What the host is doing: "starting", "ready", "stopping", or "not storing" where its disk takes nothing."""
        if self._engine is None or self._store is None:
            return "starting"
        if self._engine.stopping:
            return "stopping"
        return "not storing" if self._store.failing else "ready"

    async def start(self, faults: Iterable[str] = ()) -> None:
        """Load plugins and keys, open the store, take up unfinished turns.

        Raises:
            StartFault: with ``faults``, found before, and every other that can be found; nothing is left open.
        """
        contain_exits(asyncio.get_running_loop())
        try:
            await self._start([*faults])
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

    async def _start(self, faults: list[str]) -> None:
        registry = cards = store = None
        with _collected(faults):
            registry = await load_registry(self._settings)
        with _collected(faults):
            keys = self._keys()
            cards = self._cards(keys, {} if registry is None else registry.tenants)
        with _collected(faults):
            store = await self._resources.enter_async_context(open_store(self._settings.host.data_dir, self._published))
        if faults or registry is None or cards is None or store is None:
            raise StartFault(*faults)
        engine = self._made_engine(store, registry)
        self._edge = self._made_edge(engine, cards, registry)
        self._resources.push_async_callback(engine.close)
        self._store, self._engine = store, engine
        await engine.start()
        self.tenants = tuple(registry.tenants)

    def _published(self, committed: Committed) -> None:
        if self._engine is not None:
            self._engine.published(committed)

    def _keys(self) -> SigningKeys:
        auth = self._settings.auth
        if auth.signing_key is not None:
            return key_from_json(auth.signing_key.get_secret_value())
        return load_or_create_key_file(auth.signing_key_file)

    def _cards(self, keys: SigningKeys, tenants: Mapping[str, Tenant]) -> Cards:
        card = self._settings.card
        agents = {tenant.id: tenant.agent for tenant in tenants.values()}
        return Cards(keys, self._base_url, agents, name=card.name, description=card.description)

    def _made_engine(self, store: Store, registry: Registry) -> Engine:
        turns = self._settings.turns
        means = Means(
            store=store,
            codec=WireCodec(),
            world=World(),
            strays=registry.strays,
            holder=f"{socket.gethostname()}:{os.getpid()}",
            cancel_grace=turns.cancel_grace,
        )
        return Engine(
            means,
            registry.tenants,
            _runner_for,
            max_attempts=turns.max_attempts,
            max_concurrent_turns=turns.max_concurrent_turns,
        )

    def _made_edge(self, engine: Engine, cards: Cards, registry: Registry) -> EdgeApp:
        host = self._settings.host
        return EdgeApp(
            service=Service(engine, cards),
            cards=cards,
            door=OpenDoor(),
            origins=origins_from_urls(
                self._base_url, (*host.bind, *self._bound), host.allowed_hosts, host.allowed_origins
            ),
            limits=Limits(body_bytes=self._settings.wire.body_bytes),
            inner=create_pages(lambda: self.state),
            sole_tenant=next(iter(registry.tenants)) if len(registry.tenants) == 1 else None,
        )


@contextmanager
def _collected(faults: list[str]) -> Iterator[None]:
    """Go on after a fault: whoever starts a host wants to hear all of them."""
    try:
        yield
    except StartFault as fault:
        faults += fault.faults


def _runner_for(agent: Agent) -> Runner:
    return runner_from_executor(agent) if is_executor(agent.handler) else runner_from_handler(agent)
