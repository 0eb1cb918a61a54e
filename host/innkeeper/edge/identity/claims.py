"""What a gateway's token claims, once it is known to be the gateway's (RFC 7519 §4.1)."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from innkeeper.contract.caller import Caller
from innkeeper.contract.message import JSON
from innkeeper.edge.identity.bearer import TokenRefused

IDENTITY_CLAIM: Final = "https://loopingai.org/identity"
TENANT_CLAIM: Final = "https://loopingai.org/tenant"
LEEWAY_SECONDS: Final = 30
"""How far the clocks of gateway and host may be apart."""

KEY_CHARACTERS: Final = 512
"""How long an identity's key may be."""

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")

Claims = Mapping[str, JSON]


@dataclass(frozen=True, slots=True)
class ClaimRules:
    """What is expected of claims: the one audience, the longest life, and the names of the two claims of gateways."""

    audience: str
    max_life: timedelta = timedelta(minutes=15)
    identity_claim: str = IDENTITY_CLAIM
    tenant_claim: str = TENANT_CLAIM

    def check(self, claims: Claims, now: float) -> None:
        """Check audience and times; ``now`` is in seconds since the Unix epoch.

        Raises:
            TokenRefused: another audience, no end, expired, not valid yet, or valid for too long.
        """
        audience = claims.get("aud")
        if self.audience not in (audience if isinstance(audience, list) else [audience]):
            raise TokenRefused("the token is for another audience")
        expires = _seconds(claims, "exp")
        if expires is None:
            raise TokenRefused("the token has no exp")
        if has_expired(expires, now):
            raise TokenRefused("the token has expired")
        not_before, issued = _seconds(claims, "nbf"), _seconds(claims, "iat")
        if max(not_before or now, issued or now) > now + LEEWAY_SECONDS:
            raise TokenRefused("the token is not valid yet")
        if expires - (now if issued is None else issued) > self.max_life.total_seconds():
            raise TokenRefused("the token lives too long")

    def identity(self, claims: Claims) -> Caller:
        """Read who is meant; the key is empty where the claim is none or has none.

        Raises:
            TokenRefused: the key is nothing that could be one.
        """
        claim = claims.get(self.identity_claim)
        said = claim if isinstance(claim, Mapping) else {}
        key, name, kind = (value if isinstance(value := said.get(of), str) else "" for of in ("key", "name", "kind"))
        if len(key) > KEY_CHARACTERS or _CONTROL.search(key):
            raise TokenRefused("the identity has a malformed key")
        workspace = said.get("workspaceId")
        known = isinstance(workspace, int) and not isinstance(workspace, bool)
        return Caller(key, name, kind, workspace if known else None)  # type: ignore[arg-type]  # an int if known

    def tenant(self, claims: Claims) -> str:
        """Read which tenant is meant; empty where the claim says none."""
        claim = claims.get(self.tenant_claim)
        return claim if isinstance(claim, str) else ""


def has_expired(expires: float, now: float) -> bool:
    """Tell whether a token that expires then is of no use now."""
    return now >= expires + LEEWAY_SECONDS


def _seconds(claims: Claims, name: str) -> float | None:
    value = claims.get(name)
    if value is None and name not in claims:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TokenRefused(f"{name} is not a number")
    return float(value)
