"""Requests to a host under test, and its door, which lets in whom the test says."""

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, final

import httpx

from innkeeper.app.host import Host
from innkeeper.contract.caller import Caller
from innkeeper.edge.door import Admission
from innkeeper.edge.http import Exchange

BASE_URL: Final = "http://127.0.0.1"


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who asks, and the ids of the tenants that they may address; None for all of them."""

    caller: Caller
    tenants: tuple[str, ...] | None = None

    async def ask(self, host: Host, method: str, path: str, options: Mapping[str, Any]) -> httpx.Response:
        """Send a request; ``options`` are those of httpx."""
        _visitor.set(self)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(host), base_url=BASE_URL) as http:
            return await http.request(method, path, **options)


_visitor: Final[ContextVar[Visitor]] = ContextVar("who visits; each request has a task of its own")


@final
class VisitorDoor:
    """Takes visitors for whom they say they are, and shows each of them everything of the host."""

    async def admit(self, exchange: Exchange) -> Admission:
        """Return who visits."""
        visitor = _visitor.get()
        tenants = None if visitor.tenants is None else frozenset(visitor.tenants)
        return Admission(visitor.caller, tenants, operator=True)
