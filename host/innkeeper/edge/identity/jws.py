"""A compact JWS (RFC 7515 §7.1), read with suspicion: one algorithm, one kind of key, no way to bring one's own."""

import re
from dataclasses import dataclass
from typing import Any, Final

from joserfc import jws
from joserfc.errors import JoseError, UnsupportedAlgorithmError
from joserfc.jwk import OKPKey
from joserfc.jws import JWSRegistry
from joserfc.util import urlsafe_b64decode

from innkeeper.contract.errors import ParseFailed
from innkeeper.contract.message import JSON
from innkeeper.edge.identity.bearer import TokenRefused
from innkeeper.edge.identity.urls import Url, url_from_text
from innkeeper.edge.strict_json import json_from_bytes

ALGORITHMS: Final = ("EdDSA", "Ed25519")
"""Two names of one algorithm (RFC 8037, RFC 9864), as long as the key is an Ed25519 key."""

TOKEN_CHARACTERS: Final = 16384
HEADER_CHARACTERS: Final = 4096

_COMPACT: Final = re.compile(r"[\w-]+\.[\w-]+\.[\w-]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class UnverifiedToken:
    """What a token says before anybody has looked at its signature. ``jku`` is where its key is said to be."""

    text: str
    kid: str
    jku: Url
    claims: dict[str, JSON]


def read_unverified(text: str) -> UnverifiedToken:
    """Read a token.

    Keys and certificates in its header are passed over: a key is found by ``jku`` and ``kid`` or not at all.

    Raises:
        TokenRefused: it is not a JWT that could be accepted.
    """
    if len(text) > TOKEN_CHARACTERS or not _COMPACT.fullmatch(text):
        raise TokenRefused("the token is malformed")
    header, claims = (_object(part) for part in text.split(".")[:2])
    if header.get("alg") not in ALGORITHMS:
        raise TokenRefused("the token's alg is not EdDSA")
    if str(header.get("typ", "JWT")).upper() != "JWT":
        raise TokenRefused("the token's typ is not JWT")
    if "crit" in header or "b64" in header:
        raise TokenRefused("the token's header has extensions")
    kid, jku = header.get("kid"), header.get("jku")
    if not isinstance(kid, str) or not kid:
        raise TokenRefused("the token's header has no kid")
    if not isinstance(jku, str):
        raise TokenRefused("the token's header has no jku (RFC 7515 section 4.1.2)")
    return UnverifiedToken(text, kid, _plain_url(jku), claims)


def verify_signature(token: UnverifiedToken, key: OKPKey) -> None:
    """Check that the key has signed the token.

    Raises:
        TokenRefused: it has not.
    """
    try:
        jws.deserialize_compact(token.text, key, registry=_REGISTRY)
    except (JoseError, ValueError, TypeError):
        raise TokenRefused("the token's signature does not verify") from None


def _object(part: str) -> dict[str, JSON]:
    try:
        value = json_from_bytes(urlsafe_b64decode(part.encode()))
    except (ParseFailed, ValueError):
        raise TokenRefused("the token is malformed") from None
    if not isinstance(value, dict):
        raise TokenRefused("the token is malformed")
    return value


def _plain_url(jku: str) -> Url:
    try:
        url = url_from_text(jku)
    except ValueError:
        raise TokenRefused("the token's jku is not a URL") from None
    if url.rest:
        raise TokenRefused("the token's jku has a query or a fragment")
    return url


class _Ed25519Only(JWSRegistry):
    """Both names of the algorithm, without joserfc's warning at each use of the older one."""

    max_header_length = HEADER_CHARACTERS
    max_payload_length = TOKEN_CHARACTERS

    def get_alg(self, name: str) -> Any:
        if name not in ALGORITHMS:
            raise UnsupportedAlgorithmError(f"Algorithm of '{name}' is not allowed")
        return self.algorithms[name]


_REGISTRY: Final = _Ed25519Only(strict_check_header=False)
