"""One request at a plugin's web app: foreign code that is listened to, bounded, and ended."""

import asyncio
import re
from collections.abc import Iterable
from typing import Any, Final, final

import anyio

from innkeeper.edge.http import ASGI, Exchange, Message, Scope
from innkeeper.registry.foreign import Finished, Foreign, Raised, Strays
from innkeeper.turns.outlet import DEAF_SECONDS

PARTING_SECONDS: Final = 1.0
"""How long an app may take to stop once it has been canceled, before it is left behind."""

_NAME: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9a-z-]+")
_BROKEN_VALUE: Final = re.compile(rb"[\x00\r\n]")
_HOP_BY_HOP: Final = frozenset(
    {b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade"}
)
"""Headers that are between the server and the client: the server writes its own."""


class VisitOver(ConnectionError):
    """Nobody listens any more: the answer is complete, the client has left, or the host stops."""


@final
class Visit:
    """One run of an app for one request, whose ``body`` has been read. Make it, then ``run`` it to its end.

    Once the visit is over the app may go on for ``grace_seconds``. A client that takes no bytes for ``write_seconds``
    has left. After the run, ``started`` and ``complete`` say how far the answer came, ``cut`` whether the client left
    or the host stopped before it was complete, and ``fault`` what the app did wrong, if anything.
    """

    def __init__(self, exchange: Exchange, body: bytes, *, write_seconds: float, grace_seconds: float) -> None:
        self.started = False
        self.complete = False
        self.cut = False
        self.fault: BaseException | None = None
        self._exchange = exchange
        self._body: bytes | None = body
        self._write_seconds = write_seconds
        self._grace_seconds = grace_seconds
        self._over = asyncio.Event()
        self._running: Foreign[None] | None = None

    async def run(self, app: ASGI, scope: Scope, *, name: str, strays: Strays) -> None:
        """Run the app; when this returns or raises it has ended or is a counted stray."""
        running = self._running = Foreign(
            lambda: app(scope, self._receive, self._send), name=name, strays=strays, kind=name
        )
        own = [asyncio.create_task(self._listen()), asyncio.create_task(self._over.wait())]
        try:
            await asyncio.wait((running.task, own[1]), return_when=asyncio.FIRST_COMPLETED)
            await running.wait(0 if running.left_behind else self._grace_seconds)
        finally:
            for task in own:
                task.cancel()
            with anyio.CancelScope(shield=True):
                await running.stop(PARTING_SECONDS)
                await asyncio.wait(own)
        self.fault = self._judged(running)

    def cut_short(self) -> Foreign[None] | None:
        """Let nobody listen any more, and return what runs still."""
        self.cut = self.cut or not self.complete
        self._over.set()
        return self._running

    def _judged(self, running: Foreign[None]) -> BaseException | None:
        """Say what the app did wrong; what it does when nobody listens any more is not held against it."""
        if self.cut:
            return None
        match running.outcome:
            case Raised(VisitOver() | asyncio.CancelledError()) if self.complete:
                return None
            case Raised(error):
                return error
            case Finished() if not self.complete:
                return RuntimeError("the app returned before its answer was complete")
        return None

    async def _listen(self) -> None:
        while (await self._exchange.receive())["type"] != "http.disconnect":
            pass
        self.cut_short()

    async def _receive(self) -> Message:
        if self._body is None:
            await self._over.wait()
            await asyncio.sleep(DEAF_SECONDS)
            return {"type": "http.disconnect"}
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}

    async def _send(self, message: Message) -> None:
        if self._over.is_set():
            await asyncio.sleep(DEAF_SECONDS)  # an app in a loop that will not hear it must keep no core busy
            raise VisitOver
        match message["type"]:
            case "http.response.start" if not self.started:
                status, headers = _checked_status(message["status"]), _checked_headers(message.get("headers", ()))
                self.started = True
                await self._write({"type": "http.response.start", "status": status, "headers": headers})
            case "http.response.body" if self.started:
                body, more = memoryview(message.get("body", b"")), bool(message.get("more_body", False))
                await self._write({"type": "http.response.body", "body": bytes(body), "more_body": more})
                if not more:
                    self.complete = True
                    self._over.set()
            case unexpected:
                raise RuntimeError(f"{unexpected!r} is not expected here")

    async def _write(self, message: Message) -> None:
        with anyio.move_on_after(self._write_seconds):
            await asyncio.sleep(0)  # a server may take everything at once: others want the loop, too
            await self._exchange.send(message)
            return
        self.cut_short()
        raise VisitOver


def _checked_status(status: Any) -> int:
    if isinstance(status, int) and 200 <= status <= 599:
        return int(status)
    raise ValueError(f"{status!r} is not the status of an answer")


def _checked_headers(headers: Iterable[Any]) -> list[tuple[bytes, bytes]]:
    """Refuse headers that could be taken for others, or for more than one answer; leave the server's own out."""
    checked = [(bytes(memoryview(name)).lower(), bytes(memoryview(value)).strip()) for name, value in headers]
    for name, value in checked:
        if not _NAME.fullmatch(name) or _BROKEN_VALUE.search(value):
            raise ValueError(f"{name!r}: {value!r} is no header")
    lengths = {value for name, value in checked if name == b"content-length"}
    if len(lengths) > 1 or not all(map(bytes.isdigit, lengths)):
        raise ValueError(f"content-length: {sorted(lengths)} is no length")
    return [(name, value) for name, value in checked if name not in _HOP_BY_HOP]
