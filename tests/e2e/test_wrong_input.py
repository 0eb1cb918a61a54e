"""Requests that are refused: each gets its answer over a bare socket, and leaves no trace."""

import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPResponse
from urllib.parse import urlsplit

import pytest

TENANT = "untouched"
REST = f"/agents/{TENANT}"
MESSAGE = {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "hi"}]}
SEND = {"jsonrpc": "2.0", "id": 7, "method": "SendMessage", "params": {"message": MESSAGE}}
LIST = {"jsonrpc": "2.0", "id": 8, "method": "ListTasks", "params": {}}


def sending(**changes: object) -> bytes:
    """Return a SendMessage request with another message."""
    return json.dumps({**SEND, "params": {"message": {**MESSAGE, **changes}}}).encode()


@dataclass(frozen=True)
class Wrong:
    """A request and its answer: an HTTP status, and in a JSON-RPC answer (200) the error's code and words."""

    status: int = 200
    code: int | None = None
    words: str = ""
    answered_id: object = 7
    method: str = "POST"
    path: str = f"/agents/{TENANT}"
    body: bytes = json.dumps(SEND).encode()
    headers: Mapping[str, str] = field(default_factory=dict)


WRONG = {
    "broken JSON": Wrong(code=-32700, answered_id=None, body=b'{"jsonrpc": "2.0", '),
    "not UTF-8": Wrong(code=-32700, answered_id=None, body=json.dumps(SEND).encode().replace(b"hi", b"\xff")),
    "NaN": Wrong(code=-32700, answered_id=None, body=json.dumps({**SEND, "id": float("nan")}).encode()),
    "a key twice": Wrong(code=-32700, answered_id=None, body=b'{"id": 7,' + json.dumps(SEND).encode()[1:]),
    "a batch": Wrong(code=-32600, answered_id=None, body=json.dumps([SEND]).encode()),
    "no method": Wrong(code=-32600, body=b'{"jsonrpc": "2.0", "id": 7}'),
    "unknown method": Wrong(code=-32601, body=json.dumps({**SEND, "method": "SendMassage"}).encode()),
    "no parts": Wrong(code=-32602, words="parts", body=sending(parts=[])),
    "no message id": Wrong(code=-32602, words="message", body=sending(messageId="")),
    "another's role": Wrong(code=-32602, words="role", body=sending(role="ROLE_AGENT")),
    "unknown task": Wrong(code=-32001, body=sending(taskId="no-such-task")),
    "unknown tenant in the path": Wrong(code=-32602, words="unknown tenant", path="/agents/nobody"),
    "unknown tenant in the parameters": Wrong(
        code=-32602,
        words="unknown tenant",
        path="/a2a",
        body=json.dumps({**SEND, "params": {"tenant": "nobody", "message": MESSAGE}}).encode(),
    ),
    "contradicting tenant": Wrong(
        code=-32602,
        words="tenant",
        body=json.dumps({**SEND, "params": {"tenant": "echo", "message": MESSAGE}}).encode(),
    ),
    "a version that is not served": Wrong(code=-32009, words="1.0", headers={"A2A-Version": "9.9"}),
    "oversized body": Wrong(status=413, body=sending(parts=[{"text": "x" * 1_100_000}])),
    "wrong content type": Wrong(status=415, headers={"Content-Type": "text/plain"}),
    "foreign Host": Wrong(status=421, headers={"Host": "elsewhere.example"}),
    "foreign host in an absolute target": Wrong(status=421, path="http://elsewhere.example/agents/untouched"),
    "no host in an absolute target": Wrong(status=421, path="http:///agents/untouched"),
    "encoded content": Wrong(status=415, headers={"Content-Encoding": "gzip"}),
    "foreign Origin": Wrong(status=403, headers={"Origin": "https://elsewhere.example"}),
    "wrong HTTP method": Wrong(status=405, method="PUT"),
    "unknown path": Wrong(status=404, path="/agents"),
    "REST: broken JSON": Wrong(status=400, path=f"{REST}/message:send", body=b"{"),
    "REST: a JSON-RPC envelope": Wrong(status=400, path=f"{REST}/message:send"),
    "REST: no message id": Wrong(status=400, path=f"{REST}/message:stream", body=b'{"message": {}}'),
    "REST: another tenant in the body": Wrong(
        status=400,
        path=f"{REST}/message:send",
        body=json.dumps({"tenant": "echo", "message": MESSAGE}).encode(),
    ),
    "REST: unknown tenant": Wrong(status=404, path="/agents/nobody/message:send"),
    "REST: no tenant": Wrong(status=404, path="/agents/message:send"),
    "REST: unknown task": Wrong(status=404, path=f"{REST}/tasks/none:cancel", body=b""),
    "REST: a body on a GET": Wrong(status=404, method="GET", path=f"{REST}/tasks/none"),
    "REST: an encoded slash": Wrong(status=404, method="GET", path=f"{REST}/tasks/a%2F..%2Fb", body=b""),
    "REST: a foreign host in an absolute target": Wrong(
        status=421, path=f"http://elsewhere.example{REST}/message:send"
    ),
    "REST: a query of bytes": Wrong(status=400, method="GET", path=f"{REST}/tasks?contextId=%ff", body=b""),
    "REST: version 0.3": Wrong(status=400, path=f"{REST}/message:send", headers={"A2A-Version": "0.3"}),
    "REST: wrong content type": Wrong(status=415, path=f"{REST}/message:send", headers={"Content-Type": "text/plain"}),
    "REST: wrong HTTP method": Wrong(status=405, method="PUT", path=f"{REST}/message:send"),
    "REST: push": Wrong(status=400, method="DELETE", path=f"{REST}/tasks/t/pushNotificationConfigs/p", body=b""),
}


def exchange(url: str, wrong: Wrong) -> tuple[int, bytes]:
    """Send the request over a socket of its own."""
    target = urlsplit(url)
    headers = {"Host": target.netloc, "Content-Type": "application/json", **wrong.headers}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    length = f"Content-Length: {len(wrong.body)}\r\n\r\n"
    with socket.create_connection((target.hostname, target.port), timeout=10) as connection:
        connection.sendall(f"{wrong.method} {wrong.path} HTTP/1.1\r\n{head}{length}".encode() + wrong.body)
        response = HTTPResponse(connection, method=wrong.method)
        response.begin()
        return response.status, response.read()


def tasks_of(url: str) -> object:
    status, body = exchange(url, Wrong(body=json.dumps(LIST).encode()))
    assert status == 200
    return json.loads(body)["result"]


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_a_wrong_request_is_answered_and_touches_nothing(host, wrong):
    before = tasks_of(host.url)
    status, body = exchange(host.url, wrong)
    assert status == wrong.status
    if wrong.code is not None:
        answer = json.loads(body)
        assert answer["error"]["code"] == wrong.code
        assert answer["id"] == wrong.answered_id
        assert wrong.words in answer["error"]["message"].lower()
        assert "Traceback" not in body.decode()
    assert tasks_of(host.url) == before == {**before, "tasks": [], "totalSize": 0}


@pytest.mark.parametrize("target", ["/agents/echo", "/agents/echo/", "{}/agents/echo"])
def test_the_request_that_the_table_varies_is_accepted_as_it_is(host, target):
    status, body = exchange(host.url, Wrong(path=target.format(host.url)))
    assert status == 200
    assert json.loads(body)["result"]["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
