"""Tokens as a gateway signs them, and as nobody should: every part of them can be replaced."""

import json
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from typing import Any, Final, final

from joserfc.jwk import OKPKey

ABSENT: Final = object()
"""In the place of a value: the member is left out."""

IDENTITY_CLAIM: Final = "https://loopingai.org/identity"
TENANT_CLAIM: Final = "https://loopingai.org/tenant"

Members = Mapping[str, Any]


@final
class Mint:
    """The key of a gateway, and what it signs.

    ``origin`` is where the gateway is. Its key set is at ``jku``.
    """

    def __init__(self, origin: str, kid: str = "gw-1") -> None:
        self.origin = origin
        self.jku = f"{origin}/.well-known/jwks.json"
        self.kid = kid
        self.key = OKPKey.generate_key("Ed25519", {"kid": kid})

    def public_jwk(self) -> dict[str, Any]:
        """Return the public half of the key."""
        return {**self.key.as_dict(private=False), "use": "sig", "alg": "EdDSA"}

    def jwks(self) -> bytes:
        """Return the key set."""
        return json.dumps({"keys": [self.public_jwk()]}).encode()

    def token(
        self,
        audience: str,
        tenant: str,
        now: float,
        *,
        caller: str = "remote:1:ann",
        header: Members | None = None,
        claims: Members | None = None,
    ) -> str:
        """Sign a token of 120 seconds for a caller at a tenant. ``header`` and ``claims`` take the place of its own."""
        return self.signed(self.header(header), self.claims(audience, tenant, now, caller=caller, replaced=claims))

    def header(self, replaced: Members | None = None) -> bytes:
        """Return the header of a token, as JSON."""
        return _laid({"alg": "EdDSA", "kid": self.kid, "typ": "JWT", "jku": self.jku}, replaced)

    def claims(
        self, audience: str, tenant: str, now: float, *, caller: str = "remote:1:ann", replaced: Members | None = None
    ) -> bytes:
        """Return the claims of a token of 120 seconds, as JSON."""
        own = {
            "iss": self.origin,
            "sub": caller,
            "aud": audience,
            "iat": int(now),
            "exp": int(now) + 120,
            "jti": str(uuid.uuid4()),
            IDENTITY_CLAIM: {"key": caller, "name": "Ann", "kind": "remote", "workspaceId": 1},
            TENANT_CLAIM: tenant,
        }
        return _laid(own, replaced)

    def signed(self, header: bytes, payload: bytes) -> str:
        """Sign whatever it is, as a compact JWS."""
        signing_input = f"{base64url(header)}.{base64url(payload)}"
        private = self.key.private_key
        assert private is not None and hasattr(private, "sign")  # noqa: S101, PT018 - it is generated here
        return f"{signing_input}.{base64url(private.sign(signing_input.encode()))}"


def base64url(data: bytes) -> str:
    """Encode without padding."""
    return urlsafe_b64encode(data).decode().rstrip("=")


def _laid(own: Members, replaced: Members | None) -> bytes:
    members = {**own, **(replaced or {})}
    return json.dumps({name: value for name, value in members.items() if value is not ABSENT}).encode()
