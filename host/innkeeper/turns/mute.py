"""The outlet of a turn that is being judged."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from innkeeper.contract.errors import InnkeeperError
from innkeeper.contract.message import Message, Part

T = TypeVar("T")


class Mute:
    """The outlet of a turn that is being judged: a gate has an opinion and no voice."""

    async def progress(self, text: str, key: str | None) -> None:
        """Refuse."""
        raise GateSpoke

    async def artifact(self, name: str, parts: Sequence[Part], *, append: bool, last: bool) -> None:
        """Refuse."""
        raise GateSpoke

    async def step(self, key: str, fn: Callable[[], Awaitable[T] | T]) -> T:
        """Refuse."""
        raise GateSpoke

    def activate_extension(self, uri: str) -> None:
        """Refuse."""
        raise GateSpoke

    async def claim_steering(self) -> tuple[Message, ...]:
        """Refuse."""
        raise GateSpoke

    async def steer(self, text: str) -> None:
        """Refuse."""
        raise GateSpoke


class GateSpoke(InnkeeperError):
    """A gate used the turn as only its agent may."""
