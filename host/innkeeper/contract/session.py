"""What was said: one conversation of one caller with one tenant."""

from dataclasses import dataclass
from typing import Protocol

from innkeeper.contract.caller import Caller
from innkeeper.contract.message import Message


class Session(Protocol):
    """One conversation. Keyed by tenant, caller and context id, or by tenant and caller where the scope is "caller"."""

    @property
    def id(self) -> str:
        """The host's id of the session."""
        ...

    @property
    def tenant(self) -> str:
        """The tenant spoken to."""
        ...

    @property
    def caller(self) -> Caller:
        """The party that speaks."""
        ...

    @property
    def context_id(self) -> str:
        """The A2A context of the message that this turn answers."""
        ...

    async def history(self, limit: int | None = None) -> tuple[Message, ...]:
        """Return the last ``limit`` messages (None: all), oldest first, the message of this turn included.

        Raises:
            ValueError: ``limit`` is negative.
        """
        ...


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose workspace it is: the session ``session_id`` of ``caller`` at ``tenant``.

    The host makes session ids; they are unique and hold letters, digits and dashes only.
    """

    tenant: str
    caller: Caller
    session_id: str
