"""What every run of the host shares."""

from dataclasses import dataclass
from datetime import timedelta

from innkeeper.ports.clock import World
from innkeeper.ports.codec import Codec
from innkeeper.ports.store import Store
from innkeeper.registry.foreign import Strays


@dataclass(frozen=True, slots=True)
class Means:
    """What every run of the host shares.

    ``holder`` names this host on its leases, ``cancel_grace`` is how long a canceled handler may take to stop.
    """

    store: Store
    codec: Codec
    world: World
    strays: Strays
    holder: str
    cancel_grace: timedelta
