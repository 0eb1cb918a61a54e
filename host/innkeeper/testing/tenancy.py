"""Which tenant a test means."""

from collections.abc import Iterable

from innkeeper.testing.echo import ECHO


def sole_tenant(tenant: str, tenants: Iterable[str]) -> str:
    """Return the tenant of that id, or else the only one; the agent of every host under test counts if it is alone.

    Raises:
        LookupError: there is no such tenant, or none is named and there are several.
    """
    known = list(tenants)
    meant = [tenant] if tenant else [each for each in known if each != ECHO] or known
    if len(meant) == 1 and meant[0] in known:
        return meant[0]
    which = f"no tenant {tenant!r}" if tenant else "several tenants, name one"
    raise LookupError(f"{which}; there are: {', '.join(known) or 'none'}")
