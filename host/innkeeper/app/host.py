"""One host: everything wired together, started and stopped in one visible order."""

import asyncio
import os
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from importlib.metadata import EntryPoint
from types import MappingProxyType

from innkeeper.app.doors import Entrance, entrance_from_settings, scheme_from_settings
from innkeeper.app.inspection import surroundings_of
from innkeeper.app.key_file import follow_key_file
from innkeeper.app.pages import Pages
from innkeeper.app.push import push_from_settings
from innkeeper.app.web_apps import WebApps
from innkeeper.contract.errors import StartFault
from innkeeper.contract.message import JSON
from innkeeper.edge.app import ASGI, EdgeApp, Limits, Receive, Scope, Send, origins_from_urls
from innkeeper.edge.cards import Cards
from innkeeper.edge.door import Door
from innkeeper.edge.executor import runner_from_agent
from innkeeper.edge.keys import SigningKeys, key_from_json, load_key_file, load_or_create_key_file
from innkeeper.edge.push import Push
from innkeeper.edge.resolving import system_resolver
from innkeeper.edge.routes import Served
from innkeeper.edge.service import Service
from innkeeper.edge.wire import WireCodec
from innkeeper.ports.clock import World
from innkeeper.ports.events import Committed, EventSink
from innkeeper.ports.resolver import Resolver
from innkeeper.ports.store import Store
from innkeeper.registry.assembly import Registry, load_registry
from innkeeper.registry.foreign import Strays, contain_exits
from innkeeper.registry.listing import listing
from innkeeper.registry.opening import open_tenants
from innkeeper.registry.secrets import Secrets
from innkeeper.registry.tenants import Tenant
from innkeeper.registry.watchdog import Watchdog
from innkeeper.settings import Settings
from innkeeper.store import open_store
from innkeeper.turns.engine import Engine
from innkeeper.turns.means import Means


class Host:
    """A host made of settings; ``base_url`` is the one public URL that every card, key URL and audience begins with.

    It is an ASGI application for HTTP. ``bound`` are the addresses that it is bound to in fact (a port 0 resolved),
    where they are known. ``environ`` is what plugins and their settings read of the environment, ``world`` where time
    and ids come from. In safe mode no plugin is loaded; otherwise those of ``entry_points``, by default those on the
    path. ``listen`` is told of every committed event, ``door`` is instead of the one that the settings ask for,
    ``resolver`` instead of the system's; ``secrets`` hears of those of plugins. ``start`` and ``stop`` must be called
    from the same task. Once it is started, ``routes`` is everything that it answers.
    """

    def __init__(
        self,
        settings: Settings,
        base_url: str,
        *,
        bound: Sequence[str] = (),
        environ: Mapping[str, str] = os.environ,
        world: World | None = None,
        safe_mode: bool = False,
        entry_points: Iterable[EntryPoint] | None = None,
        listen: EventSink | None = None,
        door: Door | None = None,
        resolver: Resolver | None = None,
        secrets: Secrets | None = None,
    ) -> None:
        self._settings = settings
        self._base_url = base_url.rstrip("/")
        self._bound = tuple(bound)
        self._environ = environ
        self._world = world or World()
        self._safe_mode = safe_mode
        self._limits = Limits(body_bytes=settings.wire.body_bytes)
        self._entry_points = entry_points
        self._listen = listen
        self._door = door
        self._resolver = resolver
        self._secrets = secrets or Secrets()
        self._resources = AsyncExitStack()
        self._store: Store | None = None
        self._engine: Engine | None = None
        self._edge: ASGI | None = None
        self._web_apps: WebApps | None = None
        self.hurry = asyncio.Event()
        self.registry: Registry | None = None
        self.tenants: Mapping[str, Tenant] = MappingProxyType({})
        self.watchdog: Watchdog | None = None
        self.routes: frozenset[Served] = frozenset()

    @property
    def state(self) -> str:
        """What the host is doing.

        "starting", "ready", "degraded" where it serves without some plugin or tenant, "stopping", or "not storing"
        where its disk takes nothing.
        """
        if self._engine is None or self._store is None or self.registry is None:
            return "starting"
        if self._engine.stopping:
            return "stopping"
        if self._store.failing:
            return "not storing"
        return "degraded" if self._safe_mode or self.registry.blames.any else "ready"

    @property
    def lacks(self) -> tuple[str, ...]:
        """What is not served although it is installed or in the settings, a line each."""
        if self.registry is None:
            return ()
        blames = (f"quarantined: {blame}" for blame in self.registry.blames.of_plugins)
        left_out = (f"left out: tenant {tenant!r}: {why}" for tenant, why in self.registry.left_out.items())
        return (*(("safe mode: no plugin is loaded",) if self._safe_mode else ()), *blames, *left_out)

    @property
    def engine(self) -> Engine:
        """What runs the turns.

        Raises:
            RuntimeError: the host has not been started.
        """
        if self._engine is None:
            raise RuntimeError("the host has not been started")
        return self._engine

    async def start(self, faults: Iterable[str] = ()) -> None:
        """Load plugins and keys, open the store, take up unfinished turns.

        Raises:
            StartFault: with ``faults``, found before, and every other that can be found; nothing is left open.
        """
        contain_exits(asyncio.get_running_loop(), self._secrets)
        try:
            await self._start([*faults])
        except BaseException:
            await self._resources.aclose()
            self._engine = None
            raise

    async def drain(self) -> None:
        """Take no more messages, let turns end for the grace period, put back the rest, end every stream.

        It may be called from any task.
        """
        if self._engine is not None and not self._engine.stopping:
            await self._engine.stop(self._settings.host.shutdown_grace, self.hurry)
        if self._web_apps is not None:
            await self._web_apps.end()

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
        data_dir = self._settings.host.data_dir
        surroundings = await self._resources.enter_async_context(surroundings_of(self._settings, self._environ))
        registry = cards = store = push = None
        strays = Strays(self._secrets)
        self.watchdog = self._resources.enter_context(Watchdog(strays.steps, self._settings.watch.slow_hook))
        with _collected(faults):
            registry = await load_registry(
                self._settings,
                surroundings,
                safe_mode=self._safe_mode,
                entry_points=self._entry_points,
                strays=strays,
            )
        with _collected(faults):
            keys = self._keys()
            cards = self._cards(keys, {} if registry is None else registry.tenants)
        with _collected(faults):
            push = self._push()
        with _collected(faults):
            store = await self._resources.enter_async_context(open_store(data_dir, self._published))
            auth = self._settings.auth
            entrance = entrance_from_settings(auth, self._base_url, store.api_tokens, self._world)
            if self._door is not None:
                entrance = Entrance(self._door, self._door)
        if faults or registry is None or cards is None or store is None:
            raise StartFault(*faults)
        self._web_apps = WebApps(registry, self._limits)
        tenants = await self._resources.enter_async_context(
            open_tenants(registry, surroundings.data, self._web_apps, self.hurry)
        )
        if len(tenants) < len(registry.tenants):
            cards = self._cards(keys, tenants)
        engine = self._made_engine(store, registry.strays, tenants)
        pages = Pages(lambda: self.state, self._listing, self._web_apps)
        edge = self._made_edge(Service(engine, cards, push), cards, tenants, entrance, pages)
        self._edge, self.routes = edge, edge.routes | pages.routes
        self._resources.push_async_callback(engine.close)
        self._store, self._engine, self.registry = store, engine, registry
        await engine.start()
        self.tenants = tenants
        if self._settings.auth.signing_key is None:
            self._follow_key_file(keys, cards)

    def _follow_key_file(self, keys: SigningKeys, cards: Cards) -> None:
        # No task group: a server that runs in the same task may leave it marked as cancelled, and no scope that is open
        # meanwhile can then tell its own cancellation from that.
        path = self._settings.auth.signing_key_file
        following = asyncio.create_task(follow_key_file(path, keys, cards.sign_with), name="key file")
        self._resources.push_async_callback(asyncio.wait, {following})
        self._resources.callback(following.cancel)

    def _published(self, committed: Committed) -> None:
        if self._listen is not None:
            self._listen(committed)
        if self._engine is not None:
            self._engine.published(committed)

    def _keys(self) -> SigningKeys:
        auth = self._settings.auth
        if auth.signing_key is not None:
            return key_from_json(auth.signing_key.get_secret_value())
        return (load_or_create_key_file if auth.mode == "open" else load_key_file)(auth.signing_key_file)

    def _push(self) -> Push | None:
        resolver = self._resolver or self._resources.enter_context(system_resolver())
        return push_from_settings(self._settings, resolver)

    def _cards(self, keys: SigningKeys, tenants: Mapping[str, Tenant]) -> Cards:
        card = self._settings.card
        agents = {tenant.id: tenant.agent for tenant in tenants.values()}
        scheme = scheme_from_settings(self._settings.auth)
        return Cards(
            keys,
            self._base_url,
            agents,
            name=card.name,
            description=card.description,
            scheme=scheme,
            push=self._settings.push.enabled,
        )

    def _made_engine(self, store: Store, strays: Strays, tenants: Mapping[str, Tenant]) -> Engine:
        turns = self._settings.turns
        means = Means(
            store=store,
            codec=WireCodec(),
            world=self._world,
            strays=strays,
            holder=f"{socket.gethostname()}:{os.getpid()}",
            cancel_grace=turns.cancel_grace,
        )
        return Engine(
            means,
            tenants,
            runner_from_agent,
            max_attempts=turns.max_attempts,
            max_concurrent_turns=turns.max_concurrent_turns,
        )

    def _listing(self) -> Mapping[str, JSON]:
        return {} if self.registry is None else listing(self.registry, self._settings, self.tenants)

    def _made_edge(
        self, service: Service, cards: Cards, tenants: Mapping[str, Tenant], entrance: Entrance, pages: Pages
    ) -> EdgeApp:
        host, auth = self._settings.host, self._settings.auth
        is_open = auth.mode == "open"
        return EdgeApp(
            service=service,
            cards=cards,
            door=entrance.door,
            pages_door=entrance.pages_door,
            unversioned=entrance.unversioned,
            tenants=tenants,
            origins=origins_from_urls(
                self._base_url, (*host.bind, *self._bound), host.allowed_hosts, host.allowed_origins
            ),
            limits=self._limits,
            inner=pages,
            sole_tenant=next(iter(tenants)) if is_open and len(tenants) == 1 else None,
            public_tenant_cards=is_open if auth.public_tenant_cards is None else auth.public_tenant_cards,
        )


@contextmanager
def _collected(faults: list[str]) -> Iterator[None]:
    """Go on after a fault: whoever starts a host wants to hear all of them."""
    try:
        yield
    except StartFault as fault:
        faults += fault.faults
