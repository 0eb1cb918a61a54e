"""Tokens that the host issues to callers: what is kept of them, which is never the token itself."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ApiToken:
    """A token by its public ``id``: whose it is, and what it is for.

    It lets ``caller`` in to the ``tenants``; an operator's lets in to every tenant and to what is of the host as a
    whole. Times are microseconds since the Unix epoch; without ``expires_at_us`` it works until it is revoked.
    ``digest`` is the SHA-256 of the secret. That of the secret before the last rotation works as well, until
    ``previous_until_us``.
    """

    id: str
    name: str
    caller: str
    tenants: tuple[str, ...]
    operator: bool
    created_at_us: int
    expires_at_us: int | None
    digest: bytes
    previous_digest: bytes | None = None
    previous_until_us: int = 0


class ApiTokens(Protocol):
    """The tokens that are valid or expired; a revoked one is gone."""

    async def find(self, token_id: str) -> ApiToken | None:
        """Return the token of that id as it is now, whoever has changed it.

        Raises:
            Unavailable: it cannot be read now.
        """
        ...
