"""``innkeeper call`` underneath: the SDK's client against a server that answers whatever a test wants."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from a2a.types import a2a_pb2 as pb
from google.protobuf.json_format import ParseDict

from innkeeper.edge.client import CallFailed, Transcript, call, find_state, json_line, without_snapshot
from innkeeper.ports.events import State

pytestmark = pytest.mark.anyio

CARD_PATH = "/agents/hello/.well-known/agent-card.json"


@dataclass
class Request:
    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class Server:
    """An HTTP server with one canned answer per path; ``requests`` is what it was asked."""

    port: int = 0
    answers: dict[str, bytes] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/agents/hello"

    def serve_agent(self, answer: bytes, *, at: str = "", streaming: bool = True) -> None:
        """Serve a card that points here, or to the origin ``at``, and ``answer`` for what is posted."""
        rpc = (at or f"http://127.0.0.1:{self.port}") + "/a2a"
        card = {
            "name": "hello",
            "supportedInterfaces": [
                {"url": rpc, "protocolBinding": "JSONRPC", "protocolVersion": "1.0", "tenant": "hello"}
            ],
            "capabilities": {"streaming": streaming},
        }
        self.answers |= {CARD_PATH: http(json.dumps(card)), "/a2a": answer}

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        path = head[0].split()[1]
        self.requests.append(Request(path, headers, json.loads(body) if body else None))
        writer.write(self.answers.get(path, http("not found", status="404 Not Found")))
        writer.close()
        await writer.wait_closed()


@asynccontextmanager
async def serving() -> AsyncIterator[Server]:
    server = Server()
    listener = await asyncio.start_server(server.handle, "127.0.0.1", 0)
    server.port = listener.sockets[0].getsockname()[1]
    async with listener:
        yield server


def http(body: str, *, status: str = "200 OK", kind: str = "application/json", more: int = 0) -> bytes:
    """An answer, which breaks off ``more`` bytes before the end that it announces."""
    length = len(body.encode()) + more
    return f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}".encode()


def sse(*results: dict[str, Any], more: int = 0) -> bytes:
    lines = [f"data: {json.dumps({'jsonrpc': '2.0', 'id': '1', 'result': result})}\n\n" for result in results]
    return http(": ping\n\n".join(lines), kind="text/event-stream", more=more)


def rpc_error(code: int, message: str) -> bytes:
    return http(json.dumps({"jsonrpc": "2.0", "id": "1", "error": {"code": code, "message": message}}))


def status(state: str, text: str = "") -> dict[str, Any]:
    message = {"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": text}]}} if text else {}
    return {"statusUpdate": {"taskId": "t", "contextId": "c", "status": {"state": f"TASK_STATE_{state}"} | message}}


def artifact(*parts: dict[str, Any], append: bool = False, artifact_id: str = "a") -> dict[str, Any]:
    laid = {"artifactId": artifact_id, "parts": list(parts)}
    return {"artifactUpdate": {"taskId": "t", "contextId": "c", "artifact": laid, "append": append}}


OPENING = {"task": {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_SUBMITTED"}}}


async def called(server: Server, **options: Any) -> list[pb.StreamResponse]:
    return [update async for update in call(server.url, "hi", **options)]


async def test_a_call_sends_one_new_message_and_yields_every_update() -> None:
    async with serving() as server:
        server.serve_agent(sse(OPENING, status("WORKING", "on it"), status("COMPLETED", "Hello")))
        updates = await called(server, context_id="c")
        await called(server)
    assert [find_state(update) for update in updates] == [State.SUBMITTED, State.WORKING, State.COMPLETED]
    sent = [request.body for request in server.requests if request.path == "/a2a"]
    assert [body["method"] for body in sent] == ["SendStreamingMessage"] * 2
    assert [body["params"]["tenant"] for body in sent] == ["hello"] * 2
    messages = [body["params"]["message"] for body in sent]
    assert messages[0]["messageId"] != messages[1]["messageId"]
    assert messages[0]["parts"] == [{"text": "hi"}]
    assert [message.get("contextId") for message in messages] == ["c", None]
    assert not any("authorization" in request.headers for request in server.requests)


async def test_an_agent_that_does_not_stream_yields_its_task() -> None:
    task = {"task": {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"}}}
    async with serving() as server:
        server.serve_agent(http(json.dumps({"jsonrpc": "2.0", "id": "1", "result": task})), streaming=False)
        assert [json.loads(json_line(update)) for update in await called(server)] == [task]


async def test_a_token_goes_to_the_cards_origin_only() -> None:
    async with serving() as server, serving() as elsewhere:
        server.serve_agent(sse(status("COMPLETED")))
        await called(server, token="s3cret")
        assert [request.headers["authorization"] for request in server.requests] == ["Bearer s3cret"] * 2

        elsewhere.answers["/a2a"] = sse(status("COMPLETED"))
        server.serve_agent(b"", at=f"http://127.0.0.1:{elsewhere.port}")
        await called(server, token="s3cret")
        assert [request.path for request in elsewhere.requests] == ["/a2a"]
        assert "authorization" not in elsewhere.requests[0].headers


async def test_a_redirect_is_not_followed() -> None:
    async with serving() as server, serving() as elsewhere:
        head = f"HTTP/1.1 307 Temporary Redirect\r\nlocation: http://127.0.0.1:{elsewhere.port}/\r\n"
        server.answers[CARD_PATH] = f"{head}content-length: 0\r\n\r\n".encode()
        with pytest.raises(CallFailed, match="HTTP 307"):
            await called(server, token="s3cret")
        assert elsewhere.requests == []


async def test_a_caller_may_stop_reading() -> None:
    async with serving() as server:
        server.serve_agent(sse(OPENING, status("COMPLETED", "Hello")))
        async with aclosing(call(server.url, "hi")) as updates:
            assert find_state(await anext(updates)) is State.SUBMITTED


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (rpc_error(-32602, "unknown tenant"), r"refuses: unknown tenant \(JSON-RPC error -32602\)$"),
        (rpc_error(-32009, "1.0 is served"), r"refuses: 1\.0 is served \(JSON-RPC error -32009\)$"),
        (rpc_error(-32099, "odd"), r"JSON-RPC Error -32099: odd$"),
        (http("no", status="401 Unauthorized"), r"not without a token that is good there \(HTTP 401\)$"),
        (http("busy\n  now", status="503 Service Unavailable"), r"HTTP 503 busy now$"),
        (http("<html>"), r"Invalid JSON-RPC response"),
        (sse({"task": {"id": 5}}), r"the answer broke off or cannot be read"),
        (sse(OPENING, more=10), r"Network communication error|peer closed connection"),
        (b"", r"Server disconnected"),
    ],
)
async def test_what_goes_wrong_is_one_sentence_that_names_the_url(answer: bytes, sentence: str) -> None:
    async with serving() as server:
        server.serve_agent(answer)
        with pytest.raises(CallFailed, match=sentence) as failed:
            await called(server)
    assert str(failed.value).startswith(server.url)
    assert "\n" not in str(failed.value)


@pytest.mark.parametrize(
    ("card", "sentence"),
    [
        (http("", status="404 Not Found"), r"there is no agent card$"),
        (http("", status="401 Unauthorized"), r"not without a token"),
        (http("<html>"), r"Failed to parse JSON for agent card"),
        (http('{"name": 5}'), r"Failed to validate agent card structure"),
        (http('{"name": "x"}'), r"no compatible transports found"),
    ],
)
async def test_a_card_that_is_missing_or_useless_is_one_sentence_too(card: bytes, sentence: str) -> None:
    async with serving() as server:
        server.answers[CARD_PATH] = card
        with pytest.raises(CallFailed, match=sentence) as failed:
            await called(server)
    assert "\n" not in str(failed.value)


async def test_where_nothing_listens_it_is_said_so() -> None:
    async with serving() as server:
        url = server.url
    with pytest.raises(CallFailed, match="nothing answers there; is the host running"):
        [update async for update in call(url, "hi")]


@pytest.mark.parametrize("url", ["hello", "ftp://x.test", "http://[", "", "http://:80"])
async def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(CallFailed):
        [update async for update in call(url, "hi", token="t")]


SNAPSHOT = pb.StreamResponse(task=pb.Task(id="t1", status=pb.TaskStatus(state=pb.TASK_STATE_INPUT_REQUIRED)))
WORKING = pb.StreamResponse(status_update=pb.TaskStatusUpdateEvent(status=pb.TaskStatus(state=pb.TASK_STATE_WORKING)))
SAID = pb.StreamResponse(message=pb.Message(message_id="m1"))


@pytest.mark.parametrize(
    ("updates", "kept"),
    [
        ([], []),
        ([SNAPSHOT], [SNAPSHOT]),
        ([SNAPSHOT, WORKING], [WORKING]),
        ([WORKING, WORKING], [WORKING, WORKING]),
        ([WORKING, SNAPSHOT], [WORKING, SNAPSHOT]),
        ([SAID], [SAID]),
    ],
)
async def test_only_a_task_that_comes_before_the_rest_is_how_it_stood(
    updates: list[pb.StreamResponse], kept: list[pb.StreamResponse]
) -> None:
    async def stream() -> AsyncIterator[pb.StreamResponse]:
        for update in updates:
            yield update

    assert [update async for update in without_snapshot(stream())] == kept


def test_an_update_is_one_line_of_json_whatever_it_says() -> None:
    update = status("WORKING", "a\u2028b\nc")
    line = json_line(ParseDict(update, pb.StreamResponse()))
    assert json.loads(line) == update
    assert len(line.splitlines()) == 1


def printed(updates: Iterable[dict[str, Any]]) -> str:
    transcript = Transcript()
    return "".join(transcript.add(ParseDict(update, pb.StreamResponse())) for update in updates)


@pytest.mark.parametrize(
    ("updates", "text"),
    [
        ([OPENING, status("WORKING"), status("COMPLETED", "Hello")], "Hello\n"),
        ([OPENING, status("COMPLETED")], ""),
        ([{"message": {"messageId": "m", "parts": [{"text": "Hello"}]}}], "Hello\n"),
        ([status("WORKING", "looking"), status("COMPLETED", "Hello")], "… looking\nHello\n"),
        (
            [artifact({"text": "Hel"}), artifact({"text": "lo"}, append=True), status("COMPLETED", "Hello")],
            "Hello\n",
        ),
        ([artifact({"text": "report"}), status("COMPLETED", "Done.")], "report\nDone.\n"),
        ([artifact({"text": "1"}), artifact({"text": "2"}, artifact_id="b"), status("COMPLETED")], "1\n2\n"),
        (
            [artifact({"text": "Hel"}), status("WORKING", "wait"), artifact({"text": "lo"}, append=True)],
            "Hel\n… wait\nlo",
        ),
        ([artifact({"text": "half"}), status("FAILED", "Broken.")], "half\n[failed] Broken.\n"),
        ([status("INPUT_REQUIRED", "Which?")], "[input-required] Which?\n"),
        ([status("CANCELED")], "[canceled]\n"),
        ([artifact({"data": {"é": [1, None]}}), status("COMPLETED")], '{"é": [1, null]}\n'),
        ([artifact({"raw": "AAAA", "filename": "a.bin"}), status("COMPLETED")], "[a.bin: 3 bytes]\n"),
        ([artifact({"url": "https://x.test"}), status("COMPLETED")], "https://x.test\n"),
        (
            [{"task": {"status": {"state": "TASK_STATE_COMPLETED"}, "artifacts": [{"parts": [{"text": "all"}]}]}}],
            "all\n",
        ),
    ],
)
def test_a_transcript_reads_as_it_was_said(updates: list[dict[str, Any]], text: str) -> None:
    assert printed(updates) == text
