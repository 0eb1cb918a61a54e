"""The bearer token of a request (RFC 6750 §2.1), and how a token is refused."""

import re
from typing import Final

from innkeeper.edge.http import Exchange

_BEARER: Final = re.compile(r"bearer\s+(\S.*)", re.IGNORECASE | re.ASCII)


class TokenRefused(Exception):
    """The token does not let anybody in. The words are for its bearer, short and without secrets."""


def find_bearer(exchange: Exchange) -> str | None:
    """Return the bearer token; None where there is none, or more than one header to choose from."""
    headers = exchange.header(b"authorization")
    match = _BEARER.fullmatch(headers[0]) if len(headers) == 1 else None
    return None if match is None else match[1]
