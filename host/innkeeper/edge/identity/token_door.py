"""The door of tokens that this host has issued."""

from innkeeper.contract.caller import Caller
from innkeeper.contract.errors import Unavailable
from innkeeper.edge.door import Admission, Door
from innkeeper.edge.http import Exchange, Refusal, refusal, unavailable
from innkeeper.edge.identity.api_tokens import PREFIX, is_valid, split
from innkeeper.edge.identity.bearer import find_bearer
from innkeeper.ports.clock import World
from innkeeper.ports.tokens import ApiTokens


class TokenDoor:
    """Admits whoever has a token, as the caller that the token was made for."""

    def __init__(self, tokens: ApiTokens, world: World) -> None:
        self._tokens = tokens
        self._world = world

    async def admit(self, exchange: Exchange) -> Admission:
        """Return whose token it is.

        Raises:
            Refusal: 401 without a valid token, in words that say no more than that; 503 while none can be looked up.
        """
        text = find_bearer(exchange)
        if text is None:
            raise _unauthorized("A bearer token is required", b"Bearer")
        parts = split(text)
        try:
            token = None if parts is None else await self._tokens.find(parts[0])
        except Unavailable as error:
            raise unavailable(error.message, error.retry_after) from error
        if parts is None or not is_valid(token, parts[1], self._world.now_us()) or token is None:
            raise _unauthorized("The token is not valid", b'Bearer error="invalid_token"')
        tenants = None if token.operator else frozenset(token.tenants)
        return Admission(Caller(token.caller, name=token.name, kind="token"), tenants, operator=token.operator)


class EitherDoor:
    """Tokens of this host go to the one door, everything else to the other."""

    def __init__(self, token_door: Door, other: Door) -> None:
        self._token_door = token_door
        self._other = other

    async def admit(self, exchange: Exchange) -> Admission:
        """Return what that door says.

        Raises:
            Refusal: it stays shut.
        """
        text = find_bearer(exchange)
        door = self._token_door if text is not None and text.startswith(PREFIX) else self._other
        return await door.admit(exchange)


def _unauthorized(reason: str, challenge: bytes) -> Refusal:
    return refusal(401, reason, ((b"www-authenticate", challenge),))
