"""Key sets of gateways: fetched when they are needed, kept for a while, asked for again in moderation (RFC 7517 §5)."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

import anyio
from joserfc.errors import JoseError
from joserfc.jwk import OKPKey

from innkeeper.contract.errors import ParseFailed, Unavailable
from innkeeper.contract.message import JSON
from innkeeper.edge.identity.jws import ALGORITHMS
from innkeeper.edge.identity.urls import Url
from innkeeper.edge.strict_json import json_from_bytes

log = logging.getLogger(__name__)

USUAL_PATH: Final = "/.well-known/jwks.json"
SETS_PER_ORIGIN: Final = 8
"""How many key sets a gateway may have besides that at the usual path: paths are named by tokens that nobody signed."""


class KeySetFault(Exception):
    """A key set could not be had; the words are for the log."""


class KeySource(Protocol):
    """Where key sets come from."""

    async def fetch(self, url: Url) -> bytes:
        """Return the document at a URL that is trusted.

        Raises:
            KeySetFault: it is not to be had.
        """
        ...


@dataclass(frozen=True, slots=True)
class Patience:
    """Times in seconds.

    A set is believed for ``ttl``, and for ``stale`` more while no newer one is to be had. It is asked for at most once
    per ``cool_down``, unless it is older than ``ttl``.
    """

    ttl: float = 600
    stale: float = 3600
    cool_down: float = 30


@dataclass(slots=True)
class _KeySet:
    url: Url
    keys: Mapping[str, OKPKey] | None = None
    fetched_at: float = 0.0
    tried_at: float | None = None
    attempts: int = 0
    lock: anyio.Lock = field(default_factory=anyio.Lock)


class KeySets:
    """The keys of trusted gateways. ``clock`` is in seconds and never goes back."""

    def __init__(self, source: KeySource, clock: Callable[[], float], patience: Patience | None = None) -> None:
        self._source = source
        self._clock = clock
        self._patience = patience or Patience()
        self._sets: dict[str, _KeySet] = {}

    async def find(self, url: Url, kid: str) -> OKPKey | None:
        """Return the key of that id in the set at ``url``, which must be trusted; None if the set has none.

        Raises:
            Unavailable: the set is not to be had, and was not lately.
        """
        known = self._known(url)
        # Whoever finds the set old renews it; the others make do with it meanwhile.
        if known.keys is None or (self._age(known) > self._patience.ttl and not known.lock.locked()):
            await self._renew(known)
        if known.keys is not None and kid not in known.keys:
            await self._renew(known)
        if known.keys is None or self._age(known) > self._patience.ttl + self._patience.stale:
            raise Unavailable("The keys of the gateway cannot be had now", retry_after=self._retry_after(known))
        return known.keys.get(kid)

    def _known(self, url: Url) -> _KeySet:
        """Return what is kept for a URL. One that has never answered makes room once it has cooled down."""
        if url.address in self._sets:
            return self._sets[url.address]
        others = [each for each in self._sets.values() if each.url.origin == url.origin and each.url.path != USUAL_PATH]
        if url.path != USUAL_PATH and len(others) >= SETS_PER_ORIGIN:
            useless = next((each for each in others if each.keys is None and self._may_ask(each)), None)
            if useless is None:
                raise Unavailable("The keys of the gateway cannot be had now", retry_after=self._retry_after(others[0]))
            del self._sets[useless.url.address]
        return self._sets.setdefault(url.address, _KeySet(url))

    async def _renew(self, known: _KeySet) -> None:
        """Fetch a set, unless that was tried just now; those who come meanwhile wait for the one attempt."""
        attempts = known.attempts
        async with known.lock:
            if known.attempts == attempts and self._may_ask(known):
                await self._fetch(known)

    async def _fetch(self, known: _KeySet) -> None:
        try:
            keys = keys_from_json(await self._source.fetch(known.url))
        except KeySetFault as fault:
            log.warning("key set %s: %s", known.url.address, fault)
        else:
            known.keys, known.fetched_at = keys, self._clock()
        known.tried_at = self._clock()
        known.attempts += 1

    def _may_ask(self, known: _KeySet) -> bool:
        return known.tried_at is None or self._clock() - known.tried_at >= self._patience.cool_down

    def _age(self, known: _KeySet) -> float:
        return self._clock() - known.fetched_at

    def _retry_after(self, known: _KeySet) -> int:
        tried_at = self._clock() if known.tried_at is None else known.tried_at
        return max(1, round(tried_at + self._patience.cool_down - self._clock()))


def keys_from_json(document: bytes) -> Mapping[str, OKPKey]:
    """Read the keys of a set that can verify signatures, by kid; the others are passed over.

    A kid that two keys have names neither of them. A key that is published with its private half is nobody's.

    Raises:
        KeySetFault: it is not a key set.
    """
    try:
        parsed = json_from_bytes(document)
    except ParseFailed:
        raise KeySetFault("it is not JSON") from None
    members = parsed.get("keys") if isinstance(parsed, Mapping) else None
    if not isinstance(members, list):
        raise KeySetFault("it is not a JWK Set")
    kids = [member.get("kid") for member in members if isinstance(member, Mapping)]
    return {key.kid: key for member in members if (key := _find_key(member)) and key.kid and kids.count(key.kid) == 1}


def _find_key(jwk: JSON) -> OKPKey | None:
    if not isinstance(jwk, Mapping) or not isinstance(jwk.get("kid"), str):
        return None
    operations = jwk.get("key_ops", ["verify"])
    if (
        (jwk.get("kty"), jwk.get("crv")) != ("OKP", "Ed25519")
        or "d" in jwk
        or jwk.get("use", "sig") != "sig"
        or jwk.get("alg", "EdDSA") not in ALGORITHMS
        or not (isinstance(operations, list) and "verify" in operations)
    ):
        return None
    try:
        return OKPKey.import_key({"kty": "OKP", "crv": "Ed25519", "x": jwk.get("x"), "kid": jwk["kid"]})  # type: ignore[dict-item]  # checked by import_key
    except (JoseError, ValueError, TypeError):
        return None
