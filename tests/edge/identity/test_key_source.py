"""Key sets over a real socket, from servers that do not behave."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import anyio
import pytest

from innkeeper.edge.identity.key_sets import KeySetFault
from innkeeper.edge.identity.key_source import HttpKeySource
from innkeeper.edge.identity.urls import Url, url_from_text

pytestmark = pytest.mark.anyio

Answer = Callable[[anyio.abc.SocketStream], Awaitable[None]]


@asynccontextmanager
async def serving(answer: Answer) -> AsyncIterator[tuple[Url, list[bytes]]]:
    """Serve what ``answer`` sends after each request; yields where, and the requests."""
    requests: list[bytes] = []

    async def handle(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            requests.append(await stream.receive())
            await answer(stream)

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, handle)
        port = listener.extra(anyio.abc.SocketAttribute.local_port)  # noqa: S610 - this is no Django
        yield url_from_text(f"http://127.0.0.1:{port}/keys"), requests
        tasks.cancel_scope.cancel()


def saying(status: str, body: bytes, *headers: str) -> Answer:
    async def answer(stream: anyio.abc.SocketStream) -> None:
        head = "\r\n".join((f"HTTP/1.1 {status}", *headers, "connection: close", "", ""))
        with suppress(anyio.BrokenResourceError):  # the client may have heard enough
            await stream.send(head.encode() + body)

    return answer


async def test_a_document_is_fetched_as_it_is():
    async with serving(saying("200 OK", b'{"keys":[]}')) as (url, requests):
        assert await HttpKeySource(loopback_http=True).fetch(url) == b'{"keys":[]}'
    assert requests[0].startswith(b"GET /keys HTTP/1.1")


async def silent(stream: anyio.abc.SocketStream) -> None:
    await anyio.sleep_forever()


async def dripping(stream: anyio.abc.SocketStream) -> None:
    await stream.send(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        await stream.send(b" ")
        await anyio.sleep(0.02)


async def hanging_up(stream: anyio.abc.SocketStream) -> None:
    await stream.aclose()


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (saying("500 Oops", b"{}"), "500"),
        (saying("404 Not Found", b"{}"), "404"),
        (saying("204 No Content", b""), "204"),
        (saying("301 Moved", b"", "location: http://127.0.0.1:1/"), "301"),
        (saying("200 OK", b"{}", "content-encoding: gzip"), "compressed"),
        (saying("200 OK", b"x" * 2000), "longer than 1000"),
        (saying("200 OK", b"x" * 10, "content-length: 11"), "ProtocolError"),
        (saying("no http", b""), "ProtocolError"),
        (hanging_up, "Error"),
        (silent, "no answer within 0.1"),
        (dripping, "no answer within 0.1"),
    ],
)
async def test_a_server_that_does_not_behave_is_a_fault(answer, why):
    async with serving(answer) as (url, requests):
        source = HttpKeySource(loopback_http=True, seconds=0.1 if "0.1" in why else 5, document_bytes=1000)
        with pytest.raises(KeySetFault, match=why):
            await source.fetch(url)
    assert len(requests) <= 1  # none, where the time was up before the request had been read


async def test_plain_http_is_for_loopback_and_only_where_it_is_allowed():
    async with serving(saying("200 OK", b"{}")) as (url, requests):
        with pytest.raises(KeySetFault, match="https"):
            await HttpKeySource().fetch(url)
    with pytest.raises(KeySetFault, match="https"):
        await HttpKeySource(loopback_http=True).fetch(url_from_text("http://192.0.2.1/keys"))
    assert requests == []


async def test_a_server_without_a_certificate_is_a_fault():
    async with serving(saying("200 OK", b"{}")) as (url, _):
        with pytest.raises(KeySetFault, match="ConnectError"):
            await HttpKeySource().fetch(url_from_text(url.address.replace("http:", "https:")))
