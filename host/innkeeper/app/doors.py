"""The door that the settings ask for, and what goes with it."""

import time
from dataclasses import dataclass

from innkeeper.contract.errors import StartFault
from innkeeper.edge.cards import RPC_PATH, BearerScheme
from innkeeper.edge.door import Door, OpenDoor
from innkeeper.edge.identity.allow_list import AllowList
from innkeeper.edge.identity.claims import ClaimRules
from innkeeper.edge.identity.gateway_door import GatewayDoor
from innkeeper.edge.identity.key_sets import KeySets
from innkeeper.edge.identity.key_source import HttpKeySource
from innkeeper.edge.identity.token_door import EitherDoor, TokenDoor
from innkeeper.edge.identity.urls import audience_for, endpoint_url
from innkeeper.edge.identity.verifier import Verifier
from innkeeper.ports.clock import World
from innkeeper.ports.tokens import ApiTokens
from innkeeper.settings import Auth


@dataclass(frozen=True, slots=True)
class Entrance:
    """The way in: ``door`` for agents, ``pages_door`` for what the host and its plugins show besides.

    ``unversioned`` is the version of A2A meant by a request that names none.
    """

    door: Door
    pages_door: Door
    unversioned: str = "1.0"


def entrance_from_settings(auth: Auth, base_url: str, tokens: ApiTokens, world: World) -> Entrance:
    """Make the way in.

    Raises:
        StartFault: the gateways or the audience are none.
    """
    if auth.mode == "open":
        return Entrance(OpenDoor(), OpenDoor())
    token_door = TokenDoor(tokens, world)
    if auth.mode == "token":
        return Entrance(token_door, token_door)
    gateway_door = GatewayDoor(_verifier(auth, base_url, world))
    return Entrance(gateway_door, EitherDoor(token_door, gateway_door), unversioned="0.3")


def scheme_from_settings(auth: Auth) -> BearerScheme | None:
    """Return how cards say one comes in."""
    if auth.mode == "open":
        return None
    advertised = auth.mode == "token" if auth.advertise_security_schemes is None else auth.advertise_security_schemes
    if auth.mode == "token":
        return BearerScheme("bearer", advertised=advertised)
    return BearerScheme("gatewayJwt", "JWT", advertised=advertised)


def _verifier(auth: Auth, base_url: str, world: World) -> Verifier:
    try:
        gateways = AllowList(auth.gateway_origins, loopback_http=auth.allow_loopback_http)
    except ValueError as error:
        raise StartFault(f"auth.gateway_origins: {error}") from None
    rules = ClaimRules(
        audience=auth.audience or audience_for(endpoint_url(base_url, RPC_PATH)),
        max_life=auth.token_max_life,
        identity_claim=auth.identity_claim,
        tenant_claim=auth.tenant_claim,
    )
    key_sets = KeySets(HttpKeySource(loopback_http=auth.allow_loopback_http), time.monotonic)
    return Verifier(gateways, key_sets, rules, lambda: world.now_us() / 1_000_000)
