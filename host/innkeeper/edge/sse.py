"""Streams of events over HTTP (WHATWG HTML, server-sent events)."""

from collections.abc import Callable
from typing import Final, TypeAlias

import anyio
import anyio.lowlevel

from innkeeper.contract.errors import Unavailable
from innkeeper.edge.event_ids import event_id
from innkeeper.edge.http import Exchange, Limits
from innkeeper.edge.service import Stream
from innkeeper.ports.events import Committed

Failure: TypeAlias = Callable[[Exception], bytes]

_HEADERS: Final = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]


async def answer(
    exchange: Exchange,
    stream: Stream,
    limits: Limits,
    *,
    event: Callable[[bytes], bytes],
    failure: Failure,
) -> None:
    """Send the events of the stream until it ends or the client leaves; ``event`` makes the data of each.

    The turn behind it is not touched by either. The answer begins with the first event; what goes wrong before it is
    raised. What goes wrong later is the last event: ``failure`` makes its lines. A stream that was resumed may have no
    event for a while, or none at all: its answer begins at once. To HEAD only the headers are sent.

    Raises:
        Unavailable: the stream ended before its first event.
    """
    async with stream:
        first = None if stream.resumed else await anext(stream, None)
        if first is None and not stream.resumed:
            raise Unavailable
        if exchange.method == "HEAD":
            await exchange.start(200, list(_HEADERS))
            await exchange.send({"type": "http.response.body", "body": b""})
            return
        writer = _Writer(exchange, limits, event)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(writer.ping_until_gone, tasks.cancel_scope)
            await _feed(writer, first, stream, failure)
            tasks.cancel_scope.cancel()


async def _feed(writer: "_Writer", first: Committed | None, rest: Stream, failure: Failure) -> None:
    try:
        try:
            await writer.begin()
            if first is not None:
                await writer.event(first)
            async for committed in rest:
                await writer.event(committed)
        except _Stuck:
            raise
        except Exception as error:  # noqa: BLE001 - the client is told, the log has it
            await writer.end(failure(error) + b"\n\n")
        else:
            await writer.end()
    except _Stuck:
        return  # an answer without an end tells the client that it missed something


class _Stuck(Exception):
    """The client takes no bytes."""


class _Writer:
    """The way to one client, used by the stream and by its pings."""

    def __init__(self, exchange: Exchange, limits: Limits, data: Callable[[bytes], bytes]) -> None:
        self._exchange = exchange
        self._limits = limits
        self._data = data
        self._turn = anyio.Lock(fast_acquire=True)

    async def begin(self) -> None:
        async with self._turn:
            await self._exchange.start(200, list(_HEADERS))

    async def event(self, committed: Committed) -> None:
        head = f"id: {event_id(committed.task_id, committed.seq)}\ndata: ".encode()
        await self._write(head + self._data(committed.body) + b"\n\n")

    async def end(self, last: bytes = b"") -> None:
        await self._write(last, more=False)

    async def ping_until_gone(self, scope: anyio.CancelScope) -> None:
        """Listen for the client's leaving, and send a comment whenever that takes long; then stop everything."""
        while True:
            with anyio.move_on_after(self._limits.ping_seconds):
                while (await self._exchange.receive())["type"] != "http.disconnect":
                    pass
                scope.cancel()
                return
            if self._exchange.started:
                try:
                    await self._write(b": ping\n\n")
                except _Stuck:
                    scope.cancel()
                    return

    async def _write(self, data: bytes, *, more: bool = True) -> None:
        async with self._turn:
            with anyio.move_on_after(self._limits.write_seconds):
                # A server may take everything at once and a turn may have much to say: others want the loop, too.
                await anyio.lowlevel.checkpoint()
                await self._exchange.send({"type": "http.response.body", "body": data, "more_body": more})
                return
        raise _Stuck
