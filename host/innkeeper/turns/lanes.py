"""Whose turn it is: one lane per session, and a fair pick over tenants and callers."""

from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from innkeeper.ports.store import TurnRecord

V = TypeVar("V")


@dataclass(slots=True)
class Lane:
    """The turns of one session: at most one of them is out at a time, the others wait in the order of acceptance."""

    tenant: str
    caller_key: str
    waiting: deque[TurnRecord] = field(default_factory=deque)
    out: TurnRecord | None = None


class Lanes:
    """Every lane of the host.

    ``limit`` is how many turns may be out at once, ``tenant_limit`` the same per tenant. A free place goes to the
    tenants in rotation, and within a tenant to its callers in rotation, so a flood of one leaves room for the others.
    """

    def __init__(self, limit: int, tenant_limit: Callable[[str], int]) -> None:
        self._limit = limit
        self._tenant_limit = tenant_limit
        self._lanes: dict[str, Lane] = {}
        self._ready: OrderedDict[str, OrderedDict[str, deque[Lane]]] = OrderedDict()
        self._out: Counter[str] = Counter()
        self._waiting: Counter[str] = Counter()

    def waiting(self, tenant: str) -> int:
        """How many turns of the tenant wait."""
        return self._waiting[tenant]

    def push(self, turn: TurnRecord) -> None:
        """Let a turn wait behind the others of its session."""
        lane = self._lanes.get(turn.session_id)
        if lane is None:
            lane = self._lanes[turn.session_id] = Lane(turn.tenant, turn.caller.key)
        lane.waiting.append(turn)
        self._waiting[turn.tenant] += 1
        if lane.out is None and len(lane.waiting) == 1:
            self._enter(lane)

    def take(self) -> TurnRecord | None:
        """Claim the next turn; None when every place is taken or nothing waits."""
        if self._out.total() >= self._limit:
            return None
        for tenant, callers in self._ready.items():
            if self._out[tenant] < self._tenant_limit(tenant):
                caller_key, lanes = next(iter(callers.items()))
                lane = lanes.popleft()
                _rotate(callers, caller_key, keep=bool(lanes))
                _rotate(self._ready, tenant, keep=bool(callers))
                lane.out = lane.waiting.popleft()
                self._waiting[tenant] -= 1
                self._out[tenant] += 1
                return lane.out
        return None

    def free(self, turn: TurnRecord) -> None:
        """Give the place of a turn back."""
        lane = self._lanes[turn.session_id]
        lane.out = None
        self._out[turn.tenant] -= 1
        if lane.waiting:
            self._enter(lane)
        else:
            del self._lanes[turn.session_id]

    def withdraw(self, session_id: str, chosen: Callable[[TurnRecord], bool]) -> tuple[TurnRecord, ...]:
        """Remove and return the waiting turns of a session that are chosen."""
        lane = self._lanes.get(session_id)
        mine = tuple(turn for turn in lane.waiting if chosen(turn)) if lane else ()
        if lane and mine:
            for turn in mine:
                lane.waiting.remove(turn)
            self._waiting[lane.tenant] -= len(mine)
            if not lane.waiting and lane.out is None:
                self._leave(lane)
                del self._lanes[session_id]
        return mine

    def _enter(self, lane: Lane) -> None:
        self._ready.setdefault(lane.tenant, OrderedDict()).setdefault(lane.caller_key, deque()).append(lane)

    def _leave(self, lane: Lane) -> None:
        callers = self._ready[lane.tenant]
        callers[lane.caller_key].remove(lane)
        if not callers[lane.caller_key]:
            del callers[lane.caller_key]
        if not callers:
            del self._ready[lane.tenant]


def _rotate(ring: OrderedDict[str, V], key: str, *, keep: bool) -> None:
    if keep:
        ring.move_to_end(key)
    else:
        del ring[key]
