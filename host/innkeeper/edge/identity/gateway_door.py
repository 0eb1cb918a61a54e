"""The door of zero trust: nobody comes in but with a token that a trusted gateway has signed for this host."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from innkeeper.contract.errors import Unavailable
from innkeeper.edge.door import Admission, NoSuchTenant
from innkeeper.edge.http import Exchange, RawHeaders, Refusal, Reply, unavailable
from innkeeper.edge.identity.bearer import TokenRefused, find_bearer
from innkeeper.edge.identity.verifier import Verifier
from innkeeper.registry.tenants import Tenant

log = logging.getLogger(__name__)

CHALLENGE: Final[RawHeaders] = ((b"www-authenticate", b'Bearer error="invalid_token"'),)
SHOWN_CHARACTERS: Final = 100
"""How much of a tenant's name is said back."""


@dataclass(frozen=True, slots=True)
class ClaimedTenant(Admission):
    """A caller whose token was signed for one tenant, or for none: whom else they address, they are told so.

    Nothing is given away by that, since which tenants there are is not asked first.
    """

    claimed: str = ""

    def tenant(self, tenant_id: str, find: Callable[[str], Tenant | None]) -> Tenant:
        """Return the tenant, which must be the claimed one.

        Raises:
            Refusal: 401, it is another.
            NoSuchTenant: it is the claimed one, and not served.
        """
        self.check(tenant_id)
        tenant = find(tenant_id)
        if tenant is None:
            raise NoSuchTenant(f"unknown tenant '{tenant_id}'")
        return tenant

    def check(self, tenant_id: str) -> None:
        """Refuse a tenant that is not the claimed one.

        Raises:
            Refusal: 401.
        """
        if not self.claimed or tenant_id != self.claimed:
            claimed = self.claimed[:SHOWN_CHARACTERS] or "<none>"
            raise unauthorized(f"the token authorizes tenant '{claimed}', not '{tenant_id[:SHOWN_CHARACTERS]}'")


class GatewayDoor:
    """Admits by gateway tokens, and says in plain text why not, as gateways know it."""

    def __init__(self, verifier: Verifier) -> None:
        self._verifier = verifier

    async def admit(self, exchange: Exchange) -> Admission:
        """Return who the token was signed for.

        Raises:
            Refusal: 401 without a valid token, 400 where it names nobody, 503 while the gateway's keys are not known.
        """
        token = find_bearer(exchange)
        if token is None:
            raise unauthorized("missing gateway bearer token")
        try:
            verified = await self._verifier.verify(token)
        except TokenRefused as refused:
            raise unauthorized(str(refused)) from None
        except Unavailable as error:
            raise unavailable(error.message, error.retry_after) from error
        except Exception as error:  # a door that breaks stays shut
            log.exception("a token could not be judged")
            raise unauthorized("verification failed") from error
        if not verified.caller.key:
            raise _plain(400, "identity missing key")
        return ClaimedTenant(verified.caller, frozenset({verified.tenant}), claimed=verified.tenant)


def unauthorized(reason: str) -> Refusal:
    """Make the refusal of a caller who may not do this."""
    return _plain(401, f"unauthorized: {reason}", CHALLENGE)


def _plain(status: int, text: str, headers: RawHeaders = ()) -> Refusal:
    return Refusal(Reply(status, text.encode("utf-8", "replace"), headers, b"text/plain; charset=utf-8"))
