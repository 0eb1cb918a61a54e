"""Push as the settings offer it."""

from innkeeper.contract.errors import StartFault
from innkeeper.edge.push import Push
from innkeeper.edge.webhooks import Webhooks
from innkeeper.ports.resolver import Resolver
from innkeeper.settings import Settings


def push_from_settings(settings: Settings, resolver: Resolver) -> Push | None:
    """Return what is offered, None for nothing.

    Raises:
        StartFault: one of the allowed hosts is none.
    """
    push = settings.push
    try:
        webhooks = Webhooks(resolver, allow_hosts=push.allow_hosts, loopback_http=push.allow_loopback_http)
    except ValueError as error:
        raise StartFault(f"push.allow_hosts: {error}") from None
    if not push.enabled:
        return None
    required = settings.auth.mode == "gateway" if push.required is None else push.required
    return Push(webhooks, required=required)
