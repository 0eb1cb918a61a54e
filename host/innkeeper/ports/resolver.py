"""How names become addresses, handed in."""

from collections.abc import Sequence
from typing import Protocol


class Resolver(Protocol):
    """Looks names up."""

    async def addresses(self, host: str) -> Sequence[str]:
        """Return every IPv4 and IPv6 address of a name, none where it has none or cannot be looked up now.

        It may take its time: whoever cannot wait cancels it.
        """
        ...
