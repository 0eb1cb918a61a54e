"""The web apps of plugins, each under ``/plugins/<name>/``, behind the door."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from http import HTTPStatus
from typing import Any, Final, Self, final

import anyio

from innkeeper.app.visits import PARTING_SECONDS, Visit
from innkeeper.app.web_app_lifespan import WebAppLifespan
from innkeeper.contract.hooks import HOOKS
from innkeeper.edge.app import GUARDED_PREFIX, READING
from innkeeper.edge.faults import NewId, fresh_id
from innkeeper.edge.http import (
    ClientGone,
    Exchange,
    Limits,
    Receive,
    Refusal,
    Reply,
    Scope,
    Send,
    allow,
    refusal,
    unavailable,
)
from innkeeper.registry.assembly import Registry
from innkeeper.registry.blames import Blame
from innkeeper.registry.charges import Charge
from innkeeper.registry.contexts import reaching
from innkeeper.registry.foreign import stop_all

log = logging.getLogger(__name__)

HOOK: Final = "web_app"

LINGER_SECONDS: Final = 5.0
"""How long an app may go on once its answer is complete or its client has left, before it is canceled."""

ASGI_VERSIONS: Final = {"version": "3.0", "spec_version": "2.4"}
"""From 2.4 on, sending raises an ``OSError`` when nobody listens."""


@final
class WebApps:
    """An ASGI app for everything below ``/plugins/``, entered when the host starts and left when it stops.

    Entering it starts the apps that speak the ASGI lifespan protocol; a plugin whose app cannot be started is blamed.
    Each scope must hold what the door puts there. ``deadline`` is seconds for an app's start, and for its stop.
    """

    def __init__(
        self,
        registry: Registry,
        limits: Limits,
        *,
        deadline: float = HOOKS[HOOK].seconds,
        linger_seconds: float = LINGER_SECONDS,
        new_id: NewId = fresh_id,
    ) -> None:
        self._registry = registry
        self._limits = limits
        self._linger_seconds = linger_seconds
        self._new_id = new_id
        self._visits: set[Visit] = set()
        self._ended = asyncio.Event()
        self._lifespans = {
            name: WebAppLifespan(
                app, name=_named(name), strays=registry.strays, deadline=deadline, grace=PARTING_SECONDS
            )
            for name, app in registry.web_apps.items()
        }

    @property
    def names(self) -> tuple[str, ...]:
        """The plugins that have an app which is served."""
        return tuple(name for name in self._registry.web_apps if not self._registry.blames.barred(name))

    async def __aenter__(self) -> Self:
        """Start the apps, all at the same time."""
        try:
            await self._each(self._start)
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        """End what is being answered, then stop the apps."""
        with anyio.CancelScope(shield=True):
            await self.end()
            await self._each(self._stop)

    async def end(self) -> None:
        """Answer nothing any more; what is being answered is cut short."""
        self._ended.set()
        running = [running for visit in self._visits if (running := visit.cut_short())]
        await stop_all(running, PARTING_SECONDS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        exchange = Exchange(scope, receive, send)
        try:
            await self._answer(exchange)
        except Refusal as refused:
            await exchange.reply(refused.reply)
        except ClientGone:
            pass

    async def _answer(self, exchange: Exchange) -> None:
        name, slash, _ = exchange.path.removeprefix(GUARDED_PREFIX).partition("/")
        if name not in self.names:
            raise refusal(404, "")
        if not slash:
            await exchange.reply(_to_the_folder(exchange))
            return
        body = await exchange.read_body(self._limits)
        if self._ended.is_set():
            raise unavailable("The host is stopping", 1)
        visit = Visit(exchange, body, write_seconds=self._limits.write_seconds, grace_seconds=self._linger_seconds)
        self._visits.add(visit)
        try:
            await self._visit(visit, name, exchange)
        finally:
            self._visits.discard(visit)
        if visit.fault is not None:
            self._charge(visit, name, exchange)
        elif visit.cut and self._ended.is_set() and not visit.started:
            raise unavailable("The host is stopping", 1)

    async def _visit(self, visit: Visit, name: str, exchange: Exchange) -> None:
        scope = self._scope_for(name, exchange.scope)
        with reaching(frozenset(scope["innkeeper.tenants"])):
            await visit.run(self._registry.web_apps[name], scope, name=_named(name), strays=self._registry.strays)

    def _scope_for(self, name: str, scope: Scope) -> Scope:
        """Make the app's own scope: its paths are whole, ``root_path`` says which part of them is not the app's."""
        outer: str = scope.get("root_path", "").rstrip("/")
        own = {
            **scope,
            "asgi": ASGI_VERSIONS,
            "root_path": f"{outer}{GUARDED_PREFIX}{name}",
            "path": outer + scope["path"],
            "state": {**self._lifespans[name].state},
            "extensions": {},
        }
        if "raw_path" in scope:
            own["raw_path"] = outer.encode() + scope["raw_path"]
        return own

    def _charge(self, visit: Visit, name: str, exchange: Exchange) -> None:
        """Charge and log a fault.

        Raises:
            Refusal: the client has not heard anything yet.
        """
        error_id = self._new_id()
        self._registry.stock.charges.add(Charge(name, HOOK))
        request = f"{exchange.method} {exchange.path}"
        fault = visit.fault and self._registry.strays.secrets.kept_from(visit.fault)
        log.error("internal error %s: %s, %s", error_id, _named(name), request, exc_info=fault)
        if not visit.started:
            raise refusal(500, f"Internal error {error_id}")

    async def _each(self, step: Callable[[str, WebAppLifespan], Coroutine[Any, Any, None]]) -> None:
        async with anyio.create_task_group() as steps:
            for name, lifespan in self._lifespans.items():
                steps.start_soon(step, name, lifespan)

    async def _start(self, name: str, lifespan: WebAppLifespan) -> None:
        if not self._registry.blames.barred(name) and (fault := await lifespan.start()):
            self._registry.blames.add(Blame(f"hook {HOOK!r}: its app {fault}", name))

    async def _stop(self, name: str, lifespan: WebAppLifespan) -> None:
        if fault := await lifespan.stop():
            self._registry.stock.charges.add(Charge(name, HOOK))
            log.error("%s %s", _named(name), self._registry.strays.secrets.redacted(fault))


def _named(plugin: str) -> str:
    return f"web app of plugin {plugin!r}"


def _to_the_folder(exchange: Exchange) -> Reply:
    """Send a browser to where relative links of the app are right."""
    if exchange.method not in READING:
        raise refusal(405, "", allow(dict.fromkeys(READING)))
    scope = exchange.scope
    query: bytes = scope.get("query_string", b"")
    target = f"{scope.get('root_path', '').rstrip('/')}{exchange.path}/".encode() + (b"?" + query if query else b"")
    return Reply(HTTPStatus.PERMANENT_REDIRECT, headers=((b"location", target),))
