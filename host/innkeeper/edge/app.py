"""The wire as one ASGI app: what it owns it answers, everything else goes on to the app within."""

from collections.abc import Iterable
from typing import Final

from innkeeper.edge.cards import Cards
from innkeeper.edge.door import Admission, Door
from innkeeper.edge.faults import NewId, answerable, fresh_id
from innkeeper.edge.hosts import ABSOLUTE, Origins, origin_form, origins_from_urls
from innkeeper.edge.http import (
    ASGI,
    ClientGone,
    Exchange,
    Limits,
    Receive,
    Refusal,
    Reply,
    Scope,
    Send,
    allow,
    conditional,
    refusal,
)
from innkeeper.edge.jsonrpc import JsonRpc
from innkeeper.edge.rest import Rest, Route
from innkeeper.edge.routes import Methods, Routes, Served, reading
from innkeeper.edge.service import Service

STATUS_PATHS: Final = frozenset({"/healthz", "/readyz"})
"""Served under any name: probes come with whatever Host they have, and get a status and nothing else."""

HOST_PATHS: Final = frozenset({"/plugins.json"})
"""What the app within has to be read of the host as a whole: for operators only."""

GUARDED_PREFIX: Final = "/plugins/"
"""What the app within serves to those only whom the door admits."""

READING: Final = ("GET", "HEAD")

CARD_CACHE: Final = "public, max-age=300"
PRIVATE_CARD_CACHE: Final = "private, no-store"
KEYS_CACHE: Final = "public, max-age=3600"

__all__ = ["ASGI", "EdgeApp", "Limits", "Origins", "Receive", "Scope", "Send", "origins_from_urls"]


class EdgeApp:
    """Routes requests to cards, keys and bindings.

    Each passes the checks in this order: host and origin, path, method, door; only then is its body read.
    ``inner`` gets what is not ours, after the first of these; without one that is 404. What is guarded there passes the
    door as well, and says in its scope whom that has admitted: ``innkeeper.caller``, and ``innkeeper.tenants``, the ids
    of those of ``tenants`` that the caller may address; ``pages_door`` stands there instead of ``door`` if it is given.
    ``sole_tenant`` is who is meant by a request that names no tenant, in either binding, ``unversioned`` which version
    by one that names none. ``public_tenant_cards`` shows tenants' cards to everybody.
    """

    def __init__(
        self,
        *,
        service: Service,
        cards: Cards,
        door: Door,
        origins: Origins,
        limits: Limits,
        inner: ASGI | None = None,
        pages_door: Door | None = None,
        tenants: Iterable[str] = (),
        unversioned: str = "1.0",
        sole_tenant: str | None = None,
        public_tenant_cards: bool = True,
        new_id: NewId = fresh_id,
    ) -> None:
        self._cards = cards
        self._door = door
        self._pages_door = pages_door or door
        self._tenants = tuple(tenants)
        self._origins = origins
        self._rpc = JsonRpc(service, limits, new_id=new_id, sole_tenant=sole_tenant, unversioned=unversioned)
        self._rest = Rest(service, limits, new_id=new_id, unversioned=unversioned)
        self._new_id = new_id
        self._public_tenant_cards = public_tenant_cards
        self._inner = inner or _nothing_else
        rpc_methods: Methods = {"POST": self._post_rpc}
        self._routes = Routes(
            {
                "/.well-known/agent-card.json": reading(self._get_stub_card),
                "/.well-known/jwks.json": reading(self._get_keys),
                "/a2a": rpc_methods,
                "/a2a/": rpc_methods,
            },
            {
                "": rpc_methods,
                "/": rpc_methods,
                "/.well-known/agent-card.json": reading(self._get_tenant_card),
            },
            self._call_rest,
            sole_tenant,
        )

    @property
    def routes(self) -> frozenset[Served]:
        """Everything that is answered here, and not by the app within."""
        return frozenset(self._routes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request. WebSockets are turned away; no other scope is taken.

        Raises:
            ValueError: the scope is of another type.
        """
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        elif scope["type"] != "http":
            raise ValueError(f"not an HTTP scope: {scope['type']}")
        elif scope["path"][:8].lower().startswith(ABSOLUTE):
            await self(origin_form(scope), receive, send)
        elif scope["path"] in STATUS_PATHS:
            await self._inner(scope, receive, send)
        else:
            await self._http(Exchange(scope, receive, send))

    async def _http(self, exchange: Exchange) -> None:
        try:
            self._origins.check(exchange)
            methods, tenant = self._routes.find(exchange)
            if methods is not None:
                await self._own(exchange, methods, tenant)
                return
            scope = await self._admitted(exchange) if _is_guarded(exchange.path) else exchange.scope
        except Refusal as refused:
            await exchange.reply(refused.reply)
            return
        await self._inner(scope, exchange.receive, exchange.send)

    async def _admitted(self, exchange: Exchange) -> Scope:
        """Return the scope for the app within, with the caller in it."""
        of_the_host = exchange.path in HOST_PATHS
        if of_the_host and exchange.method not in READING:
            raise refusal(405, "", allow(dict.fromkeys(READING)))
        admission = await self._pages_door.admit(exchange)
        if of_the_host and not admission.operator:
            raise refusal(403, "This is for operators")
        tenants = tuple(filter(admission.reaches, self._tenants))
        return {**exchange.scope, "innkeeper.caller": admission.caller, "innkeeper.tenants": tenants}

    async def _admit(self, exchange: Exchange, tenant: str | None) -> Admission:
        """Ask the door, about the tenant too where the path names one."""
        admission = await self._door.admit(exchange)
        if tenant is not None:
            admission.check(tenant)
        return admission

    async def _own(self, exchange: Exchange, methods: Methods, tenant: str | None) -> None:
        handler = methods.get(exchange.method)
        if handler is None:
            raise refusal(405, "", allow(methods))
        try:
            await handler(exchange, tenant)
        except ClientGone:
            pass
        except Refusal:
            raise
        except Exception as error:
            if exchange.started:
                raise
            raise refusal(500, answerable(error, self._new_id).message) from None

    async def _call_rest(self, route: Route, unnamed: str | None, exchange: Exchange, named: str | None) -> None:
        tenant = unnamed or named
        await self._rest.answer(exchange, await self._admit(exchange, tenant), tenant or "", route)

    async def _post_rpc(self, exchange: Exchange, tenant: str | None) -> None:
        await self._rpc.answer(exchange, await self._admit(exchange, tenant), tenant)

    async def _get_stub_card(self, exchange: Exchange, _: str | None) -> None:
        card = self._cards.stub()
        await exchange.reply(conditional(exchange, card.body, card.etag, CARD_CACHE))

    async def _get_tenant_card(self, exchange: Exchange, tenant: str | None) -> None:
        reached = self._public_tenant_cards or (await self._admit(exchange, tenant)).reaches(tenant or "")
        card = self._cards.find_tenant_card(tenant or "", by_path=True)
        if card is None or not reached:
            raise refusal(404, "")
        cache = CARD_CACHE if self._public_tenant_cards else PRIVATE_CARD_CACHE
        await exchange.reply(conditional(exchange, card.body, card.etag, cache))

    async def _get_keys(self, exchange: Exchange, _: str | None) -> None:
        await exchange.reply(Reply(200, self._cards.jwks(), ((b"cache-control", KEYS_CACHE.encode()),)))


def _is_guarded(path: str) -> bool:
    return path in HOST_PATHS or path.startswith(GUARDED_PREFIX)


async def _nothing_else(scope: Scope, receive: Receive, send: Send) -> None:
    await Exchange(scope, receive, send).reply(refusal(404, "").reply)
