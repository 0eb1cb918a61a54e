"""A gateway that signs, a fake of its key set, and a door that trusts it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from innkeeper.edge.identity.allow_list import AllowList
from innkeeper.edge.identity.claims import ClaimRules
from innkeeper.edge.identity.gateway_door import GatewayDoor
from innkeeper.edge.identity.key_sets import KeySetFault, KeySets
from innkeeper.edge.identity.urls import Url
from innkeeper.edge.identity.verifier import Verifier
from innkeeper.testing.tokens import Mint

GATEWAY = "https://gw.example"
AUDIENCE = "http://127.0.0.1:8080/a2a"
NOW = 1_800_000_000.0


@dataclass
class FakeClock:
    """Stands still until it is moved."""

    now: float = NOW

    def __call__(self) -> float:
        return self.now


@dataclass
class FakeSource:
    """Documents by URL; what is fetched is counted, and ``broken`` is what goes wrong."""

    documents: dict[str, bytes]
    fetched: list[str] = field(default_factory=list)
    broken: str = ""

    async def fetch(self, url: Url) -> bytes:
        self.fetched.append(url.address)
        if self.broken or url.address not in self.documents:
            raise KeySetFault(self.broken or "answered with 404")
        return self.documents[url.address]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(scope="session")
def mint() -> Mint:
    return Mint(GATEWAY)


@pytest.fixture
def source(mint: Mint) -> FakeSource:
    return FakeSource({mint.jku: mint.jwks()})


@pytest.fixture
def key_sets(source: FakeSource, clock: FakeClock) -> KeySets:
    return KeySets(source, clock)


@pytest.fixture
def make_verifier(key_sets: KeySets, clock: FakeClock) -> Callable[..., Verifier]:
    def make(kept: int = 4, **rules: Any) -> Verifier:
        return Verifier(AllowList([GATEWAY]), key_sets, ClaimRules(**{"audience": AUDIENCE, **rules}), clock, kept)

    return make


@pytest.fixture
def door(make_verifier: Callable[..., Verifier]) -> GatewayDoor:
    return GatewayDoor(make_verifier())


@pytest.fixture
def token(mint: Mint, clock: FakeClock) -> Callable[..., str]:
    """Sign a good token for the tenant ``hello``, but for what is replaced."""

    def make(tenant: str = "hello", audience: str = AUDIENCE, **more: Any) -> str:
        return mint.token(audience, tenant, clock.now, **more)

    return make
