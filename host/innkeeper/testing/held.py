"""One host after another, each of them started, held and stopped by a task of its own."""

import asyncio
from collections.abc import Callable
from typing import final

from innkeeper.app.host import Host
from innkeeper.registry.strays import Strays


@final
class HeldHost:
    """Makes a host at each start; ``start`` and ``stop`` may be called from any task of the event loop."""

    def __init__(self, make: Callable[[], Host]) -> None:
        self._make = make
        self._host: Host | None = None
        self._strays: list[Strays] = []
        self._leave = asyncio.Event()
        self._holding: asyncio.Future[None] | None = None

    @property
    def host(self) -> Host:
        """The host that was started last.

        Raises:
            RuntimeError: there is none.
        """
        if self._host is None:
            raise RuntimeError("the host has not been started: use it as a context manager")
        return self._host

    @property
    def left_behind(self) -> tuple[str, ...]:
        """What code of plugins still runs although its host gave it up."""
        return tuple(name for strays in self._strays for name in strays.names())

    async def start(self) -> None:
        """Make a host and start it.

        Raises:
            StartFault: it does not start.
        """
        opened: asyncio.Future[Host] = asyncio.get_running_loop().create_future()
        self._leave = asyncio.Event()
        self._holding = asyncio.ensure_future(self._hold(opened, self._leave))
        self._host = await opened
        if self._host.registry is not None:
            self._strays.append(self._host.registry.strays)

    async def stop(self) -> None:
        """Stop the host; running turns are not waited for."""
        self._leave.set()
        if self._holding is not None:
            await self._holding

    async def _hold(self, opened: "asyncio.Future[Host]", leave: asyncio.Event) -> None:
        try:
            host = self._make()
            await host.start()
        except Exception as error:  # noqa: BLE001 - raised where the start is waited for
            opened.set_exception(error)
            return
        opened.set_result(host)
        await leave.wait()
        host.hurry.set()
        await host.stop()
