"""Run a host on hypercorn, in an order of our own: bind, build, listen, serve; stop listening, drain, close."""

import asyncio
import contextlib
import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import Final, cast

from hypercorn.asyncio import serve as hypercorn_serve
from hypercorn.config import Config
from hypercorn.typing import ASGIFramework

from innkeeper.app import http2
from innkeeper.app.host import Host
from innkeeper.app.lifespan import follow
from innkeeper.app.logs import configure_logs
from innkeeper.app.uncaught import log_uncaught
from innkeeper.contract.errors import StartFault
from innkeeper.edge.app import Receive, Scope, Send
from innkeeper.registry.process import run_process
from innkeeper.settings import Settings
from innkeeper.store.forks import not_for_children

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Listening:
    """A host that listens, for those who want to speak to it.

    ``address`` is the URL of the first bind, ``tenants`` are ids, ``lacks`` what is not served, a line each.
    """

    base_url: str
    address: str
    tenants: tuple[str, ...]
    lacks: tuple[str, ...]
    wants_token: bool


Announce = Callable[[Listening], None]

CLOSING_SECONDS: Final = 3.0
"""How long connections may take to close once their streams have ended."""


def serve(
    settings: Settings,
    *,
    announce: Announce,
    safe_mode: bool = False,
    entry_points: Iterable[EntryPoint] | None = None,
) -> int:
    """Serve until SIGTERM or SIGINT; a second signal cuts the grace short.

    In safe mode no plugin is loaded; otherwise those of ``entry_points``, by default those on the path.
    Returns the exit code: 0 after an orderly stop, 2 after start faults, which are printed to stderr, one per line.
    """
    secrets = configure_logs(settings.host.log_level, settings.host.log_format)
    log_uncaught(secrets)

    def make_host(base_url: str, bound: Sequence[str]) -> Host:
        return Host(settings, base_url, bound=bound, safe_mode=safe_mode, entry_points=entry_points, secrets=secrets)

    return run_process(_exit_code(settings, announce, make_host))


async def _exit_code(
    settings: Settings,
    announce: Announce,
    make_host: Callable[[str, Sequence[str]], Host],
) -> int:
    try:
        await _serve(settings, announce, make_host)
    except StartFault as fault:
        try:
            print(*fault.faults, sep="\n", file=sys.stderr, flush=True)  # noqa: T201 - the report of a start that failed
        except (OSError, ValueError):  # a plugin has closed it
            log.error("%s", "\n".join(fault.faults))  # noqa: TRY400 - the report, not a traceback
        return 2
    return 0


async def _serve(
    settings: Settings,
    announce: Announce,
    make_host: Callable[[str, Sequence[str]], Host],
) -> None:
    with contextlib.ExitStack() as opened:
        faults: list[str] = []
        sockets: list[socket.socket] = []
        for bind in settings.host.bind:
            try:
                listener = opened.enter_context(_bound(bind))
                opened.enter_context(not_for_children((listener.fileno(),)))
                sockets.append(listener)
            except StartFault as fault:
                faults += fault.faults
        bound = tuple(map(_address, sockets))
        address = f"http://{(*bound, *settings.host.bind)[0]}"
        base_url = settings.host.public_url or address
        host = make_host(base_url, bound)
        stopping = _on_signals(host)
        try:
            await host.start(faults)
        except asyncio.CancelledError:
            if not stopping.is_set():
                raise
            log.info("stopped before it was ready")
            return

        def listening() -> None:
            wants_token = settings.auth.mode != "open"
            try:
                announce(Listening(base_url, address, tuple(host.tenants), host.lacks, wants_token))
            except (OSError, ValueError) as error:  # a plugin has closed standard output, or nobody reads it
                log.warning("listening on %s, which cannot be said on standard output: %s", address, error)

        try:
            await _run(host, sockets, listening, stopping)
        finally:
            await host.stop()


def _on_signals(host: Host) -> asyncio.Event:
    """Return what is set by the first SIGTERM or SIGINT; one that comes while the host starts ends that."""
    stopping = asyncio.Event()
    main = asyncio.current_task()

    def heard() -> None:
        if stopping.is_set():
            log.warning("second signal: nothing is waited for that could take longer")
            host.hurry.set()
        stopping.set()
        if host.state == "starting" and main is not None:
            main.cancel()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, heard)
    return stopping


async def _run(
    host: Host, sockets: Sequence[socket.socket], listening: Callable[[], None], stopping: asyncio.Event
) -> None:
    async def stopped() -> None:
        await stopping.wait()
        log.info("stopping: no new connections, turns may end")
        for listener, number in zip(sockets, numbers, strict=True):
            _stop_listening(listener, number)
        await host.drain()

    async def served(scope: Scope, receive: Receive, send: Send) -> None:
        await (follow(receive, send) if scope["type"] == "lifespan" else host(scope, receive, send))

    http2.install()
    config = Config()
    numbers = [os.dup(listener.fileno()) for listener in sockets]  # the server closes what it is given
    config.bind = [f"fd://{number}" for number in numbers]
    config.graceful_timeout = CLOSING_SECONDS
    config.include_server_header = False
    config.errorlog = logging.getLogger("hypercorn.error")
    for listener in sockets:
        listener.listen(config.backlog)
    gc.collect()
    gc.freeze()  # what a start leaves behind stays: the collector need not walk it again
    listening()
    with not_for_children(numbers):
        await hypercorn_serve(cast("ASGIFramework", served), config, shutdown_trigger=stopped, mode="asgi")


def _bound(bind: str) -> socket.socket:
    """Bind, without listening yet: a port that is taken is known before anything is built."""
    name, _, port = bind.rpartition(":")
    family = socket.AF_INET6 if name.startswith("[") else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((name.strip("[]"), int(port)))
    except OSError as error:
        listener.close()
        raise StartFault(f"host.bind {bind!r}: {error.strerror}") from error
    listener.setblocking(False)
    return listener


def _address(listener: socket.socket) -> str:
    name, port = listener.getsockname()[:2]
    return f"[{name}]:{port}" if listener.family == socket.AF_INET6 else f"{name}:{port}"


def _stop_listening(listener: socket.socket, number: int) -> None:
    """Refuse new connections while those that are open are served on; ``number`` is the server's descriptor of it."""
    asyncio.get_running_loop().remove_reader(number)
    with contextlib.suppress(OSError):  # not every platform shuts a listening socket down; there it is closed later
        listener.shutdown(socket.SHUT_RDWR)
