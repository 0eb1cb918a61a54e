"""What a token of this host looks like: ``ink_ID_SECRET``, of which only the id and a hash of the secret are kept."""

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from typing import Final

from innkeeper.ports.tokens import ApiToken

PREFIX: Final = "ink_"
"""By it people and scanners know what they have found."""

SECRET_BYTES: Final = 32

_TOKEN: Final = re.compile(r"ink_(?P<id>[0-9a-f]{12})_(?P<secret>[A-Za-z0-9_-]{43})")
_NO_DIGEST: Final = bytes(32)


@dataclass(frozen=True, slots=True)
class Secret:
    """A new secret: ``text`` is the whole token, to be shown once, ``digest`` is what to keep."""

    text: str
    digest: bytes


def new_token_id() -> str:
    """Return an id that no token has."""
    return secrets.token_hex(6)


def new_secret(token_id: str) -> Secret:
    """Make a secret for the token of that id."""
    secret = secrets.token_urlsafe(SECRET_BYTES)
    return Secret(f"{PREFIX}{token_id}_{secret}", _digest(secret))


def split(text: str) -> tuple[str, bytes] | None:
    """Return the id of a token and the digest of its secret; None if it does not look like one."""
    match = _TOKEN.fullmatch(text)
    return None if match is None else (match["id"], _digest(match["secret"]))


def is_valid(token: ApiToken | None, digest: bytes, now_us: int) -> bool:
    """Tell whether the secret of that digest is the token's and works now.

    It takes as long whatever differs, and whether there is such a token or not.
    """
    current = _NO_DIGEST if token is None else token.digest
    previous = _NO_DIGEST if token is None or token.previous_digest is None else token.previous_digest
    is_current, is_previous = hmac.compare_digest(current, digest), hmac.compare_digest(previous, digest)
    if token is None or (token.expires_at_us is not None and now_us >= token.expires_at_us):
        return False
    return is_current or (is_previous and token.previous_digest is not None and now_us < token.previous_until_us)


def _digest(secret: str) -> bytes:
    # The secret is random and long: there is nothing to guess, so that a slow hash would only slow down the host.
    return hashlib.sha256(secret.encode("ascii")).digest()
