"""Who calls: decided from the headers alone, before a byte of the body is read."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from innkeeper.contract.caller import ANONYMOUS, Caller
from innkeeper.contract.errors import InvalidParams
from innkeeper.edge.http import Exchange
from innkeeper.registry.tenants import Tenant


class NoSuchTenant(InvalidParams):
    """Nothing is served under that name. A path with the name in it leads nowhere, hence the HTTP status."""

    status, grpc_status = 404, "NOT_FOUND"
    default = "unknown tenant"


@dataclass(frozen=True, slots=True)
class Admission:
    """A caller who has come in, and whom they may address: ``tenants`` by id, None for every one.

    An operator may also see what is of the host as a whole.
    """

    caller: Caller
    tenants: frozenset[str] | None = frozenset()
    operator: bool = False

    def tenant(self, tenant_id: str, find: Callable[[str], Tenant | None]) -> Tenant:
        """Return a tenant that the caller addresses; ``find`` finds the served ones.

        Raises:
            NoSuchTenant: it is not served, or not for this caller: both look alike.
            Refusal: the door says more than that.
        """
        tenant = find(tenant_id) if self.reaches(tenant_id) else None
        if tenant is None:
            raise NoSuchTenant
        return tenant

    def check(self, tenant_id: str) -> None:
        """Check a tenant that the path names, before the body is read.

        Raises:
            Refusal: the door says at once that the caller may not address it.
        """

    def reaches(self, tenant_id: str) -> bool:
        """Tell whether the caller may address a tenant, whether it is served or not."""
        return self.tenants is None or tenant_id in self.tenants


class Door(Protocol):
    """Lets callers in. It sees the headers and must not read the body."""

    async def admit(self, exchange: Exchange) -> Admission:
        """Return who has come in.

        Raises:
            Refusal: the door stays shut, with this answer.
        """
        ...


class OpenDoor:
    """The door of a host on loopback: everybody is the same anonymous caller, who may do everything."""

    async def admit(self, exchange: Exchange) -> Admission:
        """Let everybody in."""
        return Admission(ANONYMOUS, tenants=None, operator=True)
