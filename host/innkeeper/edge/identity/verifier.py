"""From a gateway's token to who calls whom: numbered checks, the first that fails decides."""

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from joserfc.jwk import OKPKey

from innkeeper.contract.caller import Caller
from innkeeper.edge.identity.allow_list import AllowList
from innkeeper.edge.identity.bearer import TokenRefused
from innkeeper.edge.identity.claims import ClaimRules, has_expired
from innkeeper.edge.identity.jws import UnverifiedToken, read_unverified, verify_signature
from innkeeper.edge.identity.key_sets import KeySets
from innkeeper.edge.identity.urls import Url, url_from_text

TOKENS_KEPT: Final = 4096
"""How many verified tokens are remembered."""


@dataclass(frozen=True, slots=True)
class Verified:
    """What a token proved: its ``key``, found at ``jku`` under ``kid``, has signed for this caller and tenant.

    An empty ``caller.key`` or ``tenant`` means that the token names none. ``expires`` is in seconds since the epoch.
    """

    caller: Caller
    tenant: str
    expires: float
    jku: Url
    kid: str
    key: OKPKey


class Verifier:
    """Verifies tokens of trusted gateways. ``now`` is in seconds since the Unix epoch.

    A token that was verified is remembered by its hash until it expires or its key leaves the key set.
    """

    def __init__(
        self,
        gateways: AllowList,
        key_sets: KeySets,
        rules: ClaimRules,
        now: Callable[[], float],
        kept: int = TOKENS_KEPT,
    ) -> None:
        self._gateways = gateways
        self._key_sets = key_sets
        self._rules = rules
        self._now = now
        self._kept = kept
        self._verified: OrderedDict[bytes, Verified] = OrderedDict()

    async def verify(self, text: str) -> Verified:
        """Verify a token.

        Raises:
            TokenRefused: with the reason, which may be told.
            Unavailable: the gateway's keys cannot be had now.
        """
        digest = hashlib.sha256(text.encode("utf-8", "replace")).digest()
        remembered = self._verified.pop(digest, None)
        if remembered is not None and await self._still_holds(remembered):
            self._remember(digest, remembered)
            return remembered
        verified = await self._verify(text)
        self._remember(digest, verified)
        return verified

    async def _verify(self, text: str) -> Verified:
        token = read_unverified(text)  # 1. what it says, unverified
        if not self._gateways.allows(token.jku):  # 2. before any connection
            raise TokenRefused("the token's jku is not at an allowed gateway")
        self._check_issuer(token)  # 3. the issuer is the gateway that has the keys
        key = await self._key_sets.find(token.jku, token.kid)  # 4. the first step that may use the network
        if key is None:
            raise TokenRefused("the gateway has no key of this kid")
        verify_signature(token, key)  # 5.
        self._rules.check(token.claims, self._now())  # 6. audience and times
        return Verified(  # 7. who calls whom
            caller=self._rules.identity(token.claims),
            tenant=self._rules.tenant(token.claims),
            expires=float(token.claims["exp"]),  # type: ignore[arg-type]  # a number, by the check
            jku=token.jku,
            kid=token.kid,
            key=key,
        )

    def _check_issuer(self, token: UnverifiedToken) -> None:
        issuer = token.claims.get("iss")
        try:
            origin = url_from_text(issuer).origin if isinstance(issuer, str) else None
        except ValueError:
            origin = None
        if origin is None:
            raise TokenRefused("the token's iss is not a URL")
        if origin != token.jku.origin:
            raise TokenRefused("the token's iss is not at its jku")
        if issuer not in self._gateways.origins:
            raise TokenRefused("the token's iss is not an origin")

    async def _still_holds(self, verified: Verified) -> bool:
        if has_expired(verified.expires, self._now()):
            return False
        key = await self._key_sets.find(verified.jku, verified.kid)
        return key is verified.key

    def _remember(self, digest: bytes, verified: Verified) -> None:
        self._verified[digest] = verified
        while len(self._verified) > self._kept:
            self._verified.popitem(last=False)
