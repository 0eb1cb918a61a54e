"""Who calls: decided from the headers alone, before a byte of the body is read."""

from collections.abc import Iterable
from typing import Protocol

from innkeeper.contract.caller import ANONYMOUS, Caller
from innkeeper.edge.http import Exchange


class Door(Protocol):
    """Lets callers in. It sees the headers and must not read the body."""

    async def admit(self, exchange: Exchange) -> Caller:
        """Return the verified caller.

        Raises:
            Refusal: the door stays shut, with this answer.
        """
        ...

    def tenants(self, caller: Caller) -> tuple[str, ...]:
        """Return the ids of the served tenants that the caller may address."""
        ...


class OpenDoor:
    """The door of a host on loopback: everybody is the same anonymous caller, who may address all tenants."""

    def __init__(self, tenants: Iterable[str] = ()) -> None:
        self._tenants = tuple(tenants)

    async def admit(self, exchange: Exchange) -> Caller:
        """Let everybody in."""
        return ANONYMOUS

    def tenants(self, caller: Caller) -> tuple[str, ...]:
        """Return all of them."""
        return self._tenants
