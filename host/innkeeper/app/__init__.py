"""The host as an ASGI application, for ``innkeeper serve`` and for any other ASGI server."""

import os
from pathlib import Path

from innkeeper.app.host import Host
from innkeeper.app.lifespan import HostedApp
from innkeeper.settings import Settings, load_settings

__all__ = ["Host", "asgi", "create_app"]


def create_app(settings: Settings) -> HostedApp:
    """Return an ASGI application that builds its host at lifespan start and stops it at lifespan end."""
    return HostedApp(lambda: settings)


asgi = HostedApp(lambda: load_settings(None, os.environ, Path.cwd()))
"""For ``hypercorn innkeeper.app:asgi`` and its like: settings are read when the server starts it, not on import.

``host.public_url`` is required, since the server's address is not ours to know. In open mode every request must reach
a loopback address.
"""
