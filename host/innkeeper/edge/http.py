"""One HTTP request and its answer, over ASGI."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, TypeAlias
from urllib.parse import quote

import anyio

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
ASGI: TypeAlias = Callable[[Any, Any, Any], Awaitable[None]]  # every framework has its own types for the three
RawHeaders: TypeAlias = tuple[tuple[bytes, bytes], ...]

MEDIA_TYPES: Final = frozenset({"application/json", "application/a2a+json"})
"""What request bodies may be (A2A v1.0 §9.1, §11.1)."""

LINGER_SECONDS: Final = 1.0
"""How long a refused request may go on sending before it is cut off: a client hears the answer only once it is done."""

_STATUS_NAMES: Final = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    405: "UNIMPLEMENTED",
    408: "DEADLINE_EXCEEDED",
    413: "INVALID_ARGUMENT",
    415: "INVALID_ARGUMENT",
    421: "INVALID_ARGUMENT",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}


@dataclass(frozen=True, slots=True)
class Limits:
    """What one client may take of us.

    A request's body has at most ``body_bytes`` and arrives within ``body_seconds``. On a stream a comment is sent every
    ``ping_seconds``, so that nobody on the way takes a quiet stream for a dead one; a client that takes no bytes for
    ``write_seconds`` is cut off.
    """

    body_bytes: int = 1_048_576
    body_seconds: float = 30.0
    ping_seconds: float = 15.0
    write_seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer. ``body`` is JSON unless ``media_type`` says otherwise."""

    status: int
    body: bytes = b""
    headers: RawHeaders = ()
    media_type: bytes = b"application/json"


class Refusal(Exception):
    """The request ends here, with this answer."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.status)
        self.reply = reply


class ClientGone(Exception):
    """The client left before its request was whole; nobody is there to answer."""


def status_json(code: int, status: str, message: str, *details: Mapping[str, Any]) -> bytes:
    """Encode an error in the shape of ``google.rpc.Status`` (A2A v1.0 §11.6); ``code`` is an HTTP status."""
    error: dict[str, Any] = {"code": code, "status": status, "message": message}
    if details:
        error["details"] = details
    return json.dumps({"error": error}).encode()


def refusal(status: int, message: str, headers: RawHeaders = ()) -> Refusal:
    """Make a refusal with a JSON body."""
    name = _STATUS_NAMES.get(status, "UNKNOWN")
    return Refusal(Reply(status, status_json(status, name, message or HTTPStatus(status).phrase), headers))


def _too_long(limit: int) -> Refusal:
    return refusal(413, f"The body must not be longer than {limit} bytes")


def unavailable(message: str, retry_after: int) -> Refusal:
    """Make the refusal of an overloaded or stopping host; ``retry_after`` is in seconds."""
    return refusal(503, message, ((b"retry-after", str(retry_after).encode()),))


class Exchange:
    """A request and its answer. Whoever has one sends one answer, by ``reply`` or by ``start`` and ``send``."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope = scope
        self.receive = receive
        self.send = send
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.query: bytes = scope.get("query_string", b"")
        self.started = False
        self._body_read = False

    @property
    def encoded_path(self) -> str:
        """The path as it was sent, percent-encoded."""
        raw: bytes | None = self.scope.get("raw_path")
        return quote(self.path) if raw is None else raw.decode("latin-1")

    def header(self, name: bytes) -> list[str]:
        """Return every value of a header, in order; ``name`` in lower case."""
        return [value.decode("latin-1").strip() for key, value in self.scope["headers"] if key == name]

    def require_json(self) -> None:
        """Refuse a body that is declared as anything but JSON, parameters aside.

        Raises:
            Refusal: 415.
        """
        declared = self.header(b"content-type")
        if len(declared) != 1 or declared[0].partition(";")[0].strip().lower() not in MEDIA_TYPES:
            raise refusal(415, "Content-Type must be application/json or application/a2a+json")
        if any(coding.lower() not in ("", "identity") for coding in self.header(b"content-encoding")):
            raise refusal(415, "A Content-Encoding is not taken")

    async def read_body(self, limits: Limits) -> bytes:
        """Read the body, within the limits.

        Raises:
            Refusal: 413 as soon as the body is known to be too long, 408 when it is not there in time.
            ClientGone: the client left.
        """
        limit, seconds = limits.body_bytes, limits.body_seconds
        for declared in self.header(b"content-length"):
            if declared.isascii() and declared.isdigit() and (len(declared) > 18 or int(declared) > limit):
                raise _too_long(limit)
        chunks: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(seconds):
                while not self._body_read:
                    message = await self.receive()
                    if message["type"] == "http.disconnect":
                        raise ClientGone
                    chunk: bytes = message.get("body", b"")
                    size += len(chunk)
                    self._body_read = not message.get("more_body", False)
                    if size > limit:
                        raise _too_long(limit)
                    chunks.append(chunk)
        except TimeoutError:
            raise refusal(408, f"The body did not arrive within {seconds:g} seconds") from None
        return b"".join(chunks)

    async def reply(self, reply: Reply) -> None:
        """Send a whole answer; a request whose body was not read is the last one on its connection."""
        body = b"" if reply.status in (204, 304) else reply.body
        headers = [*reply.headers]
        if reply.status not in (204, 304):
            headers += [(b"content-type", reply.media_type), (b"content-length", str(len(body)).encode())]
        unread = not self._body_read and self._has_body()
        if unread and self.scope.get("http_version", "1.1").startswith("1"):
            headers.append((b"connection", b"close"))
        await self.start(reply.status, headers)
        content = b"" if self.method == "HEAD" else body
        if unread:
            await self._end_unread(content)
        else:
            await self.send({"type": "http.response.body", "body": content})

    async def start(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        """Send status and headers."""
        self.started = True
        await self.send({"type": "http.response.start", "status": status, "headers": headers})

    def _has_body(self) -> bool:
        return any(
            name == b"transfer-encoding" or (name == b"content-length" and value.strip() != b"0")
            for name, value in self.scope["headers"]
        ) or not self.scope.get("http_version", "1.1").startswith("1")

    async def _end_unread(self, content: bytes) -> None:
        """Answer while the client may still be sending.

        What it sends is thrown away: unread, it would fill the server's queue, and the server could then neither read
        the end of the connection nor finish this answer. So somebody listens until the answer is out.
        """
        await self.send({"type": "http.response.body", "body": content, "more_body": True})
        with anyio.move_on_after(LINGER_SECONDS):
            await self._discard(to_disconnect=False)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._discard)
            await self.send({"type": "http.response.body", "body": b""})
            tasks.cancel_scope.cancel()

    async def _discard(self, *, to_disconnect: bool = True) -> None:
        while True:
            message = await self.receive()
            ended = not message.get("more_body", False)
            if message["type"] == "http.disconnect" or (ended and not to_disconnect):
                return


def etag_matches(exchange: Exchange, etag: str) -> bool:
    """Tell whether If-None-Match names the entity tag (RFC 9110 §13.1.2: weakly compared)."""
    named = [tag.strip().removeprefix("W/") for value in exchange.header(b"if-none-match") for tag in value.split(",")]
    return "*" in named or etag.removeprefix("W/") in named


def conditional(exchange: Exchange, body: bytes, etag: str, cache_control: str) -> Reply:
    """Answer with a document, or with 304 to a client that has it."""
    headers = ((b"etag", etag.encode()), (b"cache-control", cache_control.encode()))
    return Reply(304, headers=headers) if etag_matches(exchange, etag) else Reply(200, body, headers)


def allow(methods: Mapping[str, object]) -> RawHeaders:
    """Return the Allow header of a path with these methods."""
    return ((b"allow", ", ".join(sorted(methods)).encode()),)
