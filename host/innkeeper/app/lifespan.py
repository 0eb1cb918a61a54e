"""A host under a server that is not ours: built when the server starts the application, stopped when it ends it."""

import ipaddress
from collections.abc import Callable
from typing import Final

from innkeeper.app.host import Host
from innkeeper.app.logs import configure_logs
from innkeeper.contract.errors import StartFault
from innkeeper.edge.app import Receive, Scope, Send
from innkeeper.edge.http import Exchange, refusal
from innkeeper.settings import Settings, SettingsFault

NOT_LOOPBACK: Final = refusal(403, "Open mode is served on loopback addresses only").reply


class HostedApp:
    """An ASGI application (3.0, lifespan required) that serves one host.

    Such a server may cancel streams before the host hears of its end, and its exit code is its own; turns are safe
    all the same.
    """

    def __init__(self, settings_from: Callable[[], Settings]) -> None:
        self._settings_from = settings_from
        self._host: Host | None = None
        self._loopback_only = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one scope."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif self._host is None:
            raise RuntimeError("the server did not start the application: Innkeeper needs the ASGI lifespan protocol")
        elif self._loopback_only and not _reaches_loopback(scope):
            await Exchange(scope, receive, send).reply(NOT_LOOPBACK)
        else:
            await self._host(scope, receive, send)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            host = await self._started()
        except (StartFault, SettingsFault) as fault:
            await send({"type": "lifespan.startup.failed", "message": "\n".join(fault.faults)})
            return
        try:
            await send({"type": "lifespan.startup.complete"})
            await receive()
        finally:
            await host.stop()
            self._host = None
        await send({"type": "lifespan.shutdown.complete"})

    async def _started(self) -> Host:
        settings = self._settings_from()
        if settings.host.public_url is None:
            raise StartFault("host.public_url: required where another server than `innkeeper serve` runs the host")
        secrets = configure_logs(settings.host.log_level, settings.host.log_format)
        self._loopback_only = settings.auth.mode == "open"
        host = Host(settings, settings.host.public_url, secrets=secrets)
        await host.start()
        self._host = host
        return host


async def follow(receive: Receive, send: Send) -> None:
    """Go along with a server's lifespan where the host is started and stopped by somebody else."""
    for step in ("startup", "shutdown"):
        await receive()
        await send({"type": f"lifespan.{step}.complete"})


def _reaches_loopback(scope: Scope) -> bool:
    server = scope.get("server")
    try:
        return server is not None and ipaddress.ip_address(server[0]).is_loopback
    except ValueError:
        return False
