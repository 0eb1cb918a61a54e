"""Speaking A2A by hand, in either binding, and checking of whatever comes back what holds for all of it."""

import json
import re
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
from a2a.types import a2a_pb2 as pb
from a2a.utils.proto_utils import validate_proto_required_fields
from google.protobuf import json_format

Object = Mapping[str, Any]

# §5.3, §9.4, §11.3: what each method is over HTTP+JSON, and what it answers.
METHODS = {
    "SendMessage": ("POST", "/message:send", pb.SendMessageResponse),
    "SendStreamingMessage": ("POST", "/message:stream", pb.StreamResponse),
    "GetTask": ("GET", "/tasks/{id}", pb.Task),
    "ListTasks": ("GET", "/tasks", pb.ListTasksResponse),
    "CancelTask": ("POST", "/tasks/{id}:cancel", pb.Task),
    "SubscribeToTask": ("POST", "/tasks/{id}:subscribe", pb.StreamResponse),
    "CreateTaskPushNotificationConfig": (
        "POST", "/tasks/{taskId}/pushNotificationConfigs", pb.TaskPushNotificationConfig,
    ),
    "GetTaskPushNotificationConfig": (
        "GET", "/tasks/{taskId}/pushNotificationConfigs/{id}", pb.TaskPushNotificationConfig,
    ),
    "ListTaskPushNotificationConfigs": (
        "GET", "/tasks/{taskId}/pushNotificationConfigs", pb.ListTaskPushNotificationConfigsResponse,
    ),
    "DeleteTaskPushNotificationConfig": ("DELETE", "/tasks/{taskId}/pushNotificationConfigs/{id}", None),
    "GetExtendedAgentCard": ("GET", "/extendedAgentCard", pb.AgentCard),
}  # fmt: skip

# §5.4: code, HTTP status and status name by reason; the last four are JSON-RPC's own.
ERRORS = {
    "TASK_NOT_FOUND": (-32001, 404, "NOT_FOUND"),
    "TASK_NOT_CANCELABLE": (-32002, 400, "FAILED_PRECONDITION"),
    "PUSH_NOTIFICATION_NOT_SUPPORTED": (-32003, 400, "FAILED_PRECONDITION"),
    "UNSUPPORTED_OPERATION": (-32004, 400, "FAILED_PRECONDITION"),
    "CONTENT_TYPE_NOT_SUPPORTED": (-32005, 400, "INVALID_ARGUMENT"),
    "EXTENSION_SUPPORT_REQUIRED": (-32008, 400, "FAILED_PRECONDITION"),
    "VERSION_NOT_SUPPORTED": (-32009, 400, "FAILED_PRECONDITION"),
    "INVALID_PARAMS": (-32602, 400, "INVALID_ARGUMENT"),
    "INVALID_REQUEST": (-32600, 400, "INVALID_ARGUMENT"),
    "METHOD_NOT_FOUND": (-32601, 404, "NOT_FOUND"),
}

FREE = frozenset({"metadata", "data", "params", "securitySchemes", "schemes"})
"""Fields whose keys are not the protocol's."""

CAMEL = re.compile(r"[a-z][a-zA-Z0-9]*")
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@dataclass(frozen=True)
class Answer:
    """A response, taken apart; ``reason`` is that of an error."""

    response: httpx.Response
    result: Any = None
    error: Object = field(default_factory=dict)
    reason: str = ""

    @property
    def task(self) -> Object:
        """The task that a message has made, or that was asked for."""
        return self.result.get("task", self.result)


@dataclass(frozen=True)
class Wire:
    """One way to a host: a binding, and the token of whoever speaks."""

    binding: str
    url: str
    http: httpx.AsyncClient
    token: str | None = None

    def at(self, tenant: str) -> "Wire":
        """Speak to another tenant of the host."""
        return Wire(self.binding, f"{self.url.rpartition('/')[0]}/{tenant}", self.http, self.token)

    def request(self, method: str, params: Object, headers: Object, query: Object) -> httpx.Request:
        """Make the request that means this, as the binding has it (§9.3, §11.3, §11.5)."""
        sent = {"a2a-version": "1.0", **({"authorization": f"Bearer {self.token}"} if self.token else {}), **headers}
        if self.binding == "JSONRPC":
            body = {"jsonrpc": "2.0", "id": "r-1", "method": method, "params": params}
            return self.http.build_request("POST", self.url, json=body, headers=sent, params=query or None)
        verb, path, _ = METHODS[method]
        rest = {name: value for name, value in params.items() if f"{{{name}}}" not in path}
        url = self.url + path.format_map(params)
        if verb == "POST":
            sent["content-type"] = "application/a2a+json"
            return self.http.build_request(verb, url, content=json.dumps(rest), headers=sent, params=query or None)
        spelled = {name: json.dumps(value) if isinstance(value, bool) else value for name, value in rest.items()}
        return self.http.build_request(verb, url, params={**spelled, **query}, headers=sent)

    async def call(
        self, method: str, params: Object | None = None, *, headers: Object | None = None, query: Object | None = None
    ) -> Answer:
        """Call a method, check what holds for every answer, and return it."""
        response = await self.http.send(self.request(method, params or {}, headers or {}, query or {}))
        return self.answer(method, response)

    async def done(self, method: str, params: Object | None = None, **more: Any) -> Answer:
        """Call a method that must succeed."""
        answer = await self.call(method, params, **more)
        assert not answer.reason, answer.error
        return answer

    def answer(self, method: str, response: httpx.Response) -> Answer:
        """Take a response apart."""
        body = response.json()
        if self.binding == "JSONRPC":
            assert (response.status_code, response.headers["content-type"]) == (200, "application/json")  # §9.1
            assert body["jsonrpc"] == "2.0"
            assert ("error" in body) != ("result" in body)
            if "error" in body:
                assert type(body["error"]["code"]) is int
                return Answer(response, error=body["error"], reason=checked_error(body["error"], self.binding))
            assert body["id"] == "r-1"
            result = body["result"]
        elif response.status_code >= 400:
            assert response.headers["content-type"] == "application/json"  # §11.6
            assert body["error"]["code"] == response.status_code
            return Answer(response, error=body["error"], reason=checked_error(body["error"], self.binding))
        else:
            assert (response.status_code, response.headers["content-type"]) == (200, "application/a2a+json")  # §11.1
            result = body
        checked_result(result, METHODS[method][2])
        return Answer(response, result)

    @asynccontextmanager
    async def stream(
        self, method: str, params: Object, **headers: str
    ) -> AsyncIterator[AsyncIterator[tuple[str, Object]]]:
        """Open a stream: its events one by one, each as its id and the ``StreamResponse``."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        response = await self.http.send(self.request(method, params, named, {}), stream=True)
        try:
            assert (response.status_code, response.headers["content-type"]) == (200, "text/event-stream")
            async with aclosing(self._events(response)) as events:
                yield events
        finally:
            await response.aclose()

    async def _events(self, response: httpx.Response) -> AsyncIterator[tuple[str, Object]]:
        fields: dict[str, str] = {}
        async for line in response.aiter_lines():
            if line.startswith(":"):
                continue
            if line:
                name, _, value = line.partition(": ")
                assert name in ("id", "data", "event")
                assert name not in fields
                fields[name] = value
            elif fields:
                yield fields.get("id", ""), self._unwrapped(json.loads(fields.pop("data")))
                fields.clear()

    def _unwrapped(self, body: Any) -> Object:
        """§9.4.2: each event is a whole response; §11.7: each is the message itself."""
        if self.binding == "JSONRPC":
            assert {name: body[name] for name in ("jsonrpc", "id")} == {"jsonrpc": "2.0", "id": "r-1"}
            body = body["result"]
        assert len(body) == 1
        checked_result(body, pb.StreamResponse)
        laid: Object = body
        return laid


def saying(text: str, *, configuration: Object | None = None, **fields: Any) -> Object:
    """Make the params of a message that nobody has sent before."""
    message = {"messageId": str(uuid.uuid4()), "role": "ROLE_USER", "parts": [{"text": text}], **fields}
    return {"message": message, **({"configuration": configuration} if configuration is not None else {})}


def checked_error(error: Object, binding: str) -> str:
    """Check an error against §5.4, §9.5 and §11.6, and return its reason."""
    details = error["data" if binding == "JSONRPC" else "details"]
    (info,) = [each for each in details if each["@type"] == "type.googleapis.com/google.rpc.ErrorInfo"]
    assert info["domain"] == "a2a-protocol.org"
    code, status, name = ERRORS[info["reason"]]
    assert error["message"]
    if binding == "JSONRPC":
        assert error["code"] == code
    else:
        assert (error["code"], error["status"]) == (status, name)
    reason: str = info["reason"]
    return reason


def checked_result(result: Any, kind: Any) -> None:
    """Check a result against the message type that it is, and against §5.5 to §5.7."""
    check_spelling(result)
    if kind is None:
        return
    parsed = kind()
    json_format.ParseDict(result, parsed)
    if kind is not pb.ListTasksResponse:  # an empty list and an empty token are what is required there
        validate_proto_required_fields(parsed)


def check_spelling(value: Any) -> None:
    """Names in camelCase (§5.5), enumerations by their names (§5.5), times in UTC with milliseconds (§5.6.1)."""
    if isinstance(value, list):
        for item in value:
            check_spelling(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            assert CAMEL.fullmatch(name)
            assert item is not None
            if name == "state":
                assert pb.TaskState.Value(item) > 0
            if name == "role":
                assert item in ("ROLE_USER", "ROLE_AGENT")
            if name == "timestamp":
                assert MOMENT.fullmatch(item)
            if name not in FREE:
                check_spelling(item)
