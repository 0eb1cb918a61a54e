"""The door of gateway tokens, asked about any bytes that were made into a token."""

import asyncio
from typing import Final

from innkeeper.edge.identity.allow_list import AllowList
from innkeeper.edge.identity.bearer import TokenRefused
from innkeeper.edge.identity.claims import ClaimRules
from innkeeper.edge.identity.key_sets import KeySets
from innkeeper.edge.identity.urls import Url
from innkeeper.edge.identity.verifier import Verified, Verifier
from innkeeper.testing.tokens import Mint

GATEWAY: Final = "https://gw.example"
AUDIENCE: Final = "https://inn.example/a2a"
NOW: Final = 1_800_000_000.0

MINT: Final = Mint(GATEWAY)
GOOD: Final = MINT.token(AUDIENCE, "hello", NOW)
HEADER, CLAIMS = (MINT.header(), MINT.claims(AUDIENCE, "hello", NOW))
"""The two parts of a good token, as JSON."""


class Published:
    """The key set of the gateway, where it is asked for."""

    async def fetch(self, url: Url) -> bytes:
        return MINT.jwks()


def new_verifier() -> Verifier:
    return Verifier(AllowList([GATEWAY]), KeySets(Published(), lambda: NOW), ClaimRules(audience=AUDIENCE), lambda: NOW)


def spliced(text: bytes, data: bytes) -> bytes:
    """Put ``data`` in the place of some of the text: its first two bytes say where, its third how much."""
    start = int.from_bytes(data[:2]) % (len(text) + 1)
    return text[:start] + data[3:] + text[start + (data[2] if len(data) > 2 else 0) :]


def token_from(data: bytes) -> tuple[str, bool]:
    """Make a token of bytes. Tells whether the gateway has signed it, whatever it is."""
    how, rest = data[0] % 5 if data else 0, data[1:]
    match how:
        case 0:
            return rest.decode("latin-1"), False
        case 1:
            return spliced(GOOD.encode(), rest).decode("latin-1"), False
        case 2:
            header, _, payload = rest.partition(b"\xff")
            return MINT.signed(header, payload), True
        case 3:
            return MINT.signed(spliced(HEADER, rest), CLAIMS), True
        case _:
            return MINT.signed(HEADER, spliced(CLAIMS, rest)), True


def judge(data: bytes) -> Verified | None:
    """Ask the door. None is a refusal; whatever else than that is raised, or let in without a signature, is a fault."""
    text, signed = token_from(data)
    try:
        verified = asyncio.run(new_verifier().verify(text))
    except TokenRefused:
        return None
    assert signed or text == GOOD
    assert NOW - 60 <= verified.expires <= NOW + 86_400
    assert isinstance(verified.caller.key, str)
    assert isinstance(verified.tenant, str)
    return verified
