"""The session as a turn sees it."""

from dataclasses import dataclass
from typing import Final

from innkeeper.contract.caller import Caller
from innkeeper.contract.message import Message
from innkeeper.turns.means import Means

EVERY_TURN: Final = 2**63 - 1
"""Stands for the id of a turn that comes after all others."""


@dataclass(frozen=True, slots=True)
class TurnSession:
    """The session as the turn sees it; it implements ``contract.session.Session``."""

    id: str
    tenant: str
    caller: Caller
    context_id: str
    turn_id: int
    means: Means

    async def history(self, limit: int | None = None) -> tuple[Message, ...]:
        """Return the last messages of the session, oldest first, up to the message of this turn."""
        if limit is not None and limit < 0:
            raise ValueError(f"history(limit): zero or more, not {limit}")
        rows = await self.means.store.history(self.id, until_turn=self.turn_id, limit=limit)
        return tuple(self.means.codec.message_from_body(body, at_us) for body, at_us in rows)
