"""The paths that are the wire's own, and what answers there."""

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import partial
from typing import Final, TypeAlias, final
from urllib.parse import unquote

from innkeeper.edge.http import Exchange, refusal
from innkeeper.edge.rest import ROUTES, Route, find_route, with_head

AGENT_PREFIX: Final = "/agents/"

_AGENT_PATH: Final = re.compile(r"/agents/(?P<tenant>[^/:]+)(?P<rest>(?:/[^/]+)*/?)")
"""Of a path as it was sent. No tenant has a colon in its name: that is a path which names none."""

Handler: TypeAlias = Callable[[Exchange, str | None], Awaitable[None]]
Methods: TypeAlias = Mapping[str, Handler]

RestHandler: TypeAlias = Callable[[Route, str | None, Exchange, str | None], Awaitable[None]]
"""Takes the tenant that is meant without a name, and at the end the one that the path names."""

Served: TypeAlias = tuple[str, str]
"""An HTTP method and a path; what is in braces stands for something."""


def reading(handler: Handler) -> Methods:
    """Return the methods of what can only be read."""
    return {"GET": handler, "HEAD": handler}


@final
class Routes:
    """Finds the handler of a path and an HTTP method.

    ``fixed`` are whole paths, ``of_agents`` those below that of a tenant, ``rest`` answers those of the HTTP+JSON
    binding, where ``sole_tenant`` is meant by a path that names no tenant.
    """

    def __init__(
        self,
        fixed: Mapping[str, Methods],
        of_agents: Mapping[str, Methods],
        rest: RestHandler,
        sole_tenant: str | None = None,
    ) -> None:
        self._fixed = fixed
        self._of_agents = of_agents
        self._rest = rest
        self._sole_tenant = sole_tenant

    def find(self, exchange: Exchange) -> tuple[Methods | None, str | None]:
        """Find the methods of a path and the tenant in it; no methods means that the path is not ours.

        Raises:
            Refusal: 404, it is ours and there is nothing.
        """
        if methods := self._fixed.get(exchange.path):
            return methods, None
        if not exchange.path.startswith(AGENT_PREFIX):
            return None, None
        match = _AGENT_PATH.fullmatch(exchange.encoded_path)
        methods = dict(self._unnamed_methods(exchange))
        if match:
            methods |= self._of_agents.get(match["rest"]) or self._rest_methods(match["rest"])
        if not methods:
            raise refusal(404, "")
        return methods, unquote(match["tenant"]) if match else None

    def __iter__(self) -> Iterator[Served]:
        """List everything that can be found."""
        named = f"{AGENT_PREFIX}{{tenant}}"
        below = [named] if self._sole_tenant is None else [named, AGENT_PREFIX.rstrip("/")]
        yield from ((method, path) for path, methods in self._fixed.items() for method in methods)
        yield from ((method, named + path) for path, methods in self._of_agents.items() for method in methods)
        yield from (
            (method, at + path) for at in below for path, methods in ROUTES.items() for method in with_head(methods)
        )

    def _unnamed_methods(self, exchange: Exchange) -> Methods:
        """Find the methods of a REST path that names no tenant, where there is only one. A path that names one wins."""
        path = exchange.encoded_path.removeprefix("/agents")
        return self._rest_methods(path, self._sole_tenant) if self._sole_tenant is not None else {}

    def _rest_methods(self, path: str, unnamed: str | None = None) -> Methods:
        route = find_route(path.removesuffix("/"))
        return {} if route is None else dict.fromkeys(route.methods, partial(self._rest, route, unnamed))
