"""Who calls: decided from the headers alone, before a byte of the body is read."""

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


class OpenDoor:
    """The door of a host on loopback: everybody is the same anonymous caller."""

    async def admit(self, exchange: Exchange) -> Caller:
        """Let everybody in."""
        return ANONYMOUS
