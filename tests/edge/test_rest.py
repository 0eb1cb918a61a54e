"""The HTTP+JSON binding: what each path does, what it refuses, and that JSON-RPC says the same."""

import json
from dataclasses import replace

import anyio
import httpx
import pytest
from a2a.types import a2a_pb2 as pb
from a2a.utils.errors import A2A_REASON_TO_ERROR
from google.protobuf import json_format

from innkeeper.contract import errors
from innkeeper.edge.app import Limits
from innkeeper.edge.http import refusal
from innkeeper.edge.methods import METHODS
from innkeeper.edge.rest import ROUTES, SAID_BY_PATH, find_route
from innkeeper.ports.events import State
from innkeeper.ports.store import TaskQuery

pytestmark = pytest.mark.anyio

HELLO = "/agents/hello"
JSON_TYPE = {"content-type": "application/json"}
SEND = {"message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "hi"}]}}
SEND_BODY = json.dumps(SEND).encode()

# Every operation once: (HTTP method, path, body), and (JSON-RPC method, params) that mean the same.
OPERATIONS = {
    "send": (("POST", "/message:send", SEND), ("SendMessage", SEND)),
    "stream": (("POST", "/message:stream", SEND), ("SendStreamingMessage", SEND)),
    "get": (("GET", "/tasks/t1", None), ("GetTask", {"id": "t1"})),
    "get with history": (("GET", "/tasks/t1?historyLength=1", None), ("GetTask", {"id": "t1", "historyLength": 1})),
    "list": (("GET", "/tasks", None), ("ListTasks", {})),
    "cancel": (("POST", "/tasks/t1:cancel", {}), ("CancelTask", {"id": "t1"})),
    "subscribe by GET": (("GET", "/tasks/t1:subscribe", None), ("SubscribeToTask", {"id": "t1"})),
    "subscribe by POST": (("POST", "/tasks/t1:subscribe", None), ("SubscribeToTask", {"id": "t1"})),
    "card": (("GET", "/extendedAgentCard", None), ("GetExtendedAgentCard", {})),
    "create push": (
        ("POST", "/tasks/t1/pushNotificationConfigs", {"url": "https://hooks.example/x"}),
        ("CreateTaskPushNotificationConfig", {"taskId": "t1", "url": "https://hooks.example/x"}),
    ),
    "get push": (
        ("GET", "/tasks/t1/pushNotificationConfigs/p1", None),
        ("GetTaskPushNotificationConfig", {"taskId": "t1", "id": "p1"}),
    ),
    "list push": (
        ("GET", "/tasks/t1/pushNotificationConfigs?pageSize=3", None),
        ("ListTaskPushNotificationConfigs", {"taskId": "t1", "pageSize": 3}),
    ),
    "delete push": (
        ("DELETE", "/tasks/t1/pushNotificationConfigs/p1", None),
        ("DeleteTaskPushNotificationConfig", {"taskId": "t1", "id": "p1"}),
    ),
}  # fmt: skip
REST = {name: rest for name, (rest, _) in OPERATIONS.items()}


@pytest.fixture
def ask(client):
    """Send a request to a tenant; an object as body is sent as JSON."""

    async def ask(method, path, body=None, *, base=HELLO, headers=()):
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        sent = ({} if body is None else JSON_TYPE) | dict(headers)
        return await client.request(method, base + path, content=content, headers=sent)

    return ask


@pytest.fixture
def set_up(engine, new_watch, committed):
    """Make the world anew: a task ``t1`` in some state, or none; a last event to watch for; what the engine raises."""

    def set_up(state=None, error=None, *, from_start=True):
        engine.views.clear()
        engine.calls.clear()
        engine.error = error
        if state is not None:
            engine.add("t1", state)
        engine.watch_next = new_watch(committed(9, State.COMPLETED), from_start=from_start)

    return set_up


def error_of(response, status):
    assert (response.status_code, response.headers["content-type"]) == (status, "application/json")
    error = response.json()["error"]
    assert error["code"] == status
    return error


# --- routes -----------------------------------------------------------------------------------------------------------


def test_every_method_has_a_route_and_every_route_a_method():
    assert {name for methods in ROUTES.values() for name in methods.values()} == set(METHODS)


def test_each_operation_of_the_tests_is_routed_to_its_method():
    routed = {name: find_route(path.partition("?")[0]).methods[method] for name, (method, path, _) in REST.items()}
    assert routed == {name: rpc_method for name, (_, (rpc_method, _)) in OPERATIONS.items()}
    assert set(routed.values()) == set(METHODS)


@pytest.mark.parametrize(
    "path", ["/tasks/x", "/tasks/x:cancel", "/tasks/x/pushNotificationConfigs", "/tasks/x/pushNotificationConfigs/y"]
)
def test_what_a_path_says_is_a_field_of_each_request(path):
    route = find_route(path)
    assert route.params
    for name in route.methods.values():
        assert set(route.params) <= {field.json_name for field in METHODS[name].request.DESCRIPTOR.fields}


def test_no_request_that_is_told_by_a_query_has_lists_or_objects_but_times():
    told = {name for methods in ROUTES.values() for method, name in methods.items() if method != "POST"}
    fields = [field for name in told for field in METHODS[name].request.DESCRIPTOR.fields]
    assert not any(field.is_repeated for field in fields)
    assert {field.message_type.full_name for field in fields if field.message_type} == {"google.protobuf.Timestamp"}


@pytest.mark.parametrize(
    ("path", "params"),
    [
        ("/tasks/a", {"id": "a"}),
        ("/tasks/a:b", {"id": "a:b"}),
        ("/tasks/a:b:cancel", {"id": "a:b"}),
        ("/tasks/a%3Acancel", {"id": "a:cancel"}),
        ("/tasks/a%2Fb%20%C3%A9", {"id": "a/b é"}),
        ("/tasks/a+b", {"id": "a+b"}),
        ("/tasks/%2e%2e", {"id": ".."}),
        ("/tasks/a%2Fb/pushNotificationConfigs/c%3Ad", {"taskId": "a/b", "id": "c:d"}),
    ],
)
def test_a_param_in_a_path_is_opaque(path, params):
    assert find_route(path).params == params


async def test_an_encoded_id_is_decoded_once(ask, engine):
    await ask("GET", "/tasks/a%252Fb%2Fc")
    assert engine.calls == [("find", "hello", "anonymous", "a%2Fb/c", None)]


async def test_a_server_that_keeps_no_encoded_path_is_served_too(open_wire, engine):
    engine.add("a b")
    wire = open_wire(f"{HELLO}/tasks/a b", method="GET")
    del wire.scope["raw_path"]
    await wire.run()
    assert (wire.status, json.loads(wire.body)["id"]) == (200, "a b")


@pytest.mark.parametrize(
    "path", ["http://127.0.0.1:8080/agents/hello/tasks/t1", "HTTP://inn.example/agents/hello/tasks/t1"]
)
async def test_a_whole_url_as_target_is_served(open_wire, engine, path):
    engine.add("t1")
    wire = open_wire(path, method="GET")
    await wire.run()
    assert (wire.status, json.loads(wire.body)["id"]) == (200, "t1")


UNLISTED = [
    "/message", "/message:", "/message:sent", "/message%3Asend", "/messages:send", "/Message:send", "/v1/message:send",
    "/message:send/x", "//message:send", "/message:send//", "/tasks//", "/tasks/t1/x",
    "/tasks/t1:cancel/x", "/tasks//pushNotificationConfigs", "/tasks/t1/pushNotificationConfigs/p1/x",
    "/tasks/t1/pushnotificationconfigs", "/extendedagentcard", "/extendedAgentCard/x", "/card", "/.well-known/x",
]  # fmt: skip


@pytest.mark.parametrize("path", UNLISTED)
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_an_unlisted_path_is_not_found(ask, engine, path, method):
    assert error_of(await ask(method, path, SEND if method == "POST" else None), 404)["status"] == "NOT_FOUND"
    assert engine.calls == []


@pytest.mark.parametrize("path", ["/message:send", "/message:stream"])
async def test_a_path_without_a_tenant_is_not_found(ask, engine, path):
    error_of(await ask("POST", path, SEND, base="/agents"), 404)
    assert engine.calls == []


@pytest.mark.parametrize(("method", "path", "body"), REST.values(), ids=list(REST))
async def test_the_only_tenant_need_not_be_named(make_edge, engine, set_up, method, path, body):
    async def answer(base, at):
        set_up(State.WORKING)
        transport = httpx.ASGITransport(make_edge(sole_tenant=at))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8080") as client:
            response = await client.request(method, base + path, json=body)
        return response.status_code, response.content, engine.calls[:]

    told, unnamed = await answer(HELLO, "hello"), await answer("/agents", "hello")
    assert unnamed[0] == told[0] != 404
    assert [call[0] for call in unnamed[2]] == [call[0] for call in told[2]]
    assert (await answer("/agents", None))[0] in (404, 405)


@pytest.mark.parametrize("sole", ["tasks", "hello"])
async def test_a_tenant_that_a_path_names_comes_before_the_only_one(make_edge, engine, sole):
    """A tenant may be called "tasks"; what its paths mean is not taken from them."""
    engine.tenants["tasks"] = replace(engine.tenants["hello"], id="tasks")
    engine.add("t1", State.WORKING)
    transport = httpx.ASGITransport(make_edge(sole_tenant=sole))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8080") as client:

        async def asked_for(method, path, **more):
            engine.calls.clear()
            assert (await client.request(method, f"/agents{path}", **more)).status_code == 200
            return engine.calls[-1][:2]

        assert await asked_for("GET", "/tasks/tasks") == ("list", "tasks")
        assert await asked_for("GET", "/tasks/tasks/t1") == ("find", "tasks")
        assert await asked_for("GET", "/tasks/t1") == ("find", sole)
        assert await asked_for("GET", "/tasks") == ("list", sole)
        assert await asked_for("POST", "/tasks/t1:cancel") == ("find", sole)
        rpc = {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "t1"}}
        assert await asked_for("POST", "/tasks", json=rpc) == ("find", "tasks")


@pytest.mark.parametrize(
    ("path", "allow"),
    [
        ("/message:send", "POST"),
        ("/message:stream", "POST"),
        ("/tasks", "GET, HEAD"),
        ("/tasks/t1", "GET, HEAD"),
        ("/tasks/t1:cancel", "POST"),
        ("/tasks/t1:subscribe", "GET, HEAD, POST"),
        ("/tasks/t1/pushNotificationConfigs", "GET, HEAD, POST"),
        ("/tasks/t1/pushNotificationConfigs/p1", "DELETE, GET, HEAD"),
        ("/extendedAgentCard", "GET, HEAD"),
    ],
)
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
async def test_a_wrong_method_is_told_the_right_ones(ask, engine, method, path, allow):
    if method in allow.split(", "):
        return
    response = await ask(method, path)
    assert (response.status_code, response.headers["allow"]) == (405, allow)
    assert engine.calls == []


@pytest.mark.parametrize("request_", REST.values(), ids=REST)
async def test_a_slash_at_the_end_changes_nothing(ask, set_up, request_):
    method, path, body = request_
    bare, mark, query = path.partition("?")
    answers = []
    for target in (path, f"{bare}/{mark}{query}"):
        set_up(State.INPUT_REQUIRED)
        response = await ask(method, target, body)
        answers.append((response.status_code, response.content))
    assert answers[0] == answers[1]


# --- what is answered -------------------------------------------------------------------------------------------------


async def test_a_message_is_sent_and_answered_when_its_task_has_settled(ask, engine):
    response = await ask("POST", "/message:send", SEND)
    assert engine.names == ["submit", "until_settled", "find"]
    assert (response.status_code, response.headers["content-type"]) == (200, "application/a2a+json")
    assert response.headers["cache-control"] == "private, no-store"
    sent = json_format.Parse(response.content, pb.SendMessageResponse())
    assert sent.task.status.state == pb.TASK_STATE_COMPLETED


@pytest.mark.parametrize("media_type", ["application/json", "application/a2a+json", "Application/JSON; charset=utf-8"])
async def test_a_body_may_be_declared_in_two_ways(ask, engine, media_type):
    response = await ask("POST", "/message:send", SEND, headers={"content-type": media_type})
    assert response.status_code == 200


@pytest.mark.parametrize("body", [None, b"", {}, {"id": "t1"}, {"id": "", "tenant": None}, {"tenant": "hello"}])
@pytest.mark.parametrize("action", ["cancel", "subscribe"])
async def test_what_the_path_says_needs_no_body_and_may_be_said_again(ask, engine, action, body):
    engine.add("t1", State.INPUT_REQUIRED)
    assert (await ask("POST", f"/tasks/t1:{action}", body)).status_code == 200


async def test_only_what_the_path_says_needs_no_body():
    assert {"CancelTask", "SubscribeToTask"} == SAID_BY_PATH


QUERIES = [
    ("", TaskQuery(history_length=None)),
    ("pageSize=1", TaskQuery(limit=1, history_length=None)),
    ("pageSize=100&pageToken=", TaskQuery(limit=100, history_length=None)),
    ("contextId=c%201", TaskQuery(context_id="c 1", history_length=None)),
    ("contextId=c+1", TaskQuery(context_id="c 1", history_length=None)),
    ("contextId=%C3%A9%26%3D", TaskQuery(context_id="é&=", history_length=None)),
    ("contextId=", TaskQuery(history_length=None)),
    ("status=TASK_STATE_WORKING", TaskQuery(state=State.WORKING, history_length=None)),
    ("status=TASK_STATE_UNSPECIFIED", TaskQuery(history_length=None)),
    ("historyLength=0", TaskQuery(history_length=0)),
    ("historyLength=3&includeArtifacts=true", TaskQuery(history_length=3, artifacts=True)),
    ("includeArtifacts=false", TaskQuery(history_length=None)),
    ("statusTimestampAfter=1970-01-01T00:00:01.000002Z", TaskQuery(status_since_us=1000002, history_length=None)),
    ("tenant=hello", TaskQuery(history_length=None)),
    ("somethingNew=1&somethingNew=2&A2A-Version=1.0", TaskQuery(history_length=None)),
]  # fmt: skip


@pytest.mark.parametrize(("query", "asked"), QUERIES)
async def test_a_list_asks_for_what_the_query_says(ask, engine, query, asked):
    assert (await ask("GET", f"/tasks?{query}")).status_code == 200
    assert engine.calls == [("list", "hello", "anonymous", asked)]


async def test_pages_are_followed_by_their_tokens(ask, engine):
    for number in range(3):
        engine.add(f"t{number}")
    first = (await ask("GET", "/tasks?pageSize=2")).json()
    assert [task["id"] for task in first["tasks"]] == ["t0", "t1"]
    await ask("GET", f"/tasks?pageSize=2&pageToken={first['nextPageToken']}")
    assert engine.calls[-1][-1].after is not None


async def test_the_card_is_that_of_the_path(ask, client):
    response = await ask("GET", "/extendedAgentCard")
    assert response.content == (await client.get(f"{HELLO}/.well-known/agent-card.json")).content
    assert response.headers["cache-control"] == "private, no-store"


@pytest.mark.parametrize("path", ["/tasks", "/tasks/t1", "/tasks/none", "/extendedAgentCard", "/tasks/t1:subscribe"])
async def test_head_says_what_get_says_without_the_body(ask, engine, path):
    engine.add("t1", State.INPUT_REQUIRED)
    got, headed = await ask("GET", path), await ask("HEAD", path)
    assert (headed.status_code, headed.headers, headed.content) == (got.status_code, got.headers, b"")


async def test_head_on_a_stream_ends_with_the_headers_and_leaves_no_watch(open_wire, engine, new_watch):
    engine.add("t1", State.WORKING)
    engine.watch_next = new_watch(finished=False)
    wire = open_wire(f"{HELLO}/tasks/t1:subscribe", method="HEAD")
    with anyio.fail_after(5):
        await wire.run()
    assert (wire.headers[b"content-type"], wire.body, wire.ended) == (b"text/event-stream", b"", True)
    assert engine.watch_next.closed


@pytest.mark.parametrize(("method", "path", "body"), [each for each in REST.values() if each[0] in ("GET", "DELETE")])
async def test_the_body_of_a_get_or_delete_is_not_read(open_wire, engine, method, path, body):
    engine.add("t1")  # its watch is none and its task has ended, so that no stream listens for the client
    wire = open_wire(HELLO + path.partition("?")[0], method=method)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wire.run)
        await wire.until(lambda wire: wire.status is not None)
        assert wire.taken == 0
        wire.say(b"x" * 10_000)
    assert wire.status in (200, 400)


# --- streams ----------------------------------------------------------------------------------------------------------


async def test_a_stream_carries_bare_responses_with_the_ids_of_json_rpc(open_wire, engine, new_watch, committed):
    engine.watch_next = new_watch(committed(1), committed(2, State.COMPLETED))
    wire = open_wire(f"{HELLO}/message:stream")
    wire.say(SEND_BODY)
    await wire.run()
    assert wire.headers == {
        b"content-type": b"text/event-stream",
        b"cache-control": b"no-store",
        b"x-accel-buffering": b"no",
    }
    assert wire.body == (
        b'id: t1:1\ndata: {"statusUpdate":{"n":1}}\n\n'
        b'id: t1:2\ndata: {"statusUpdate":{"n":2}}\n\n'
    )  # fmt: skip
    assert wire.ended
    assert engine.watch_next.closed


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_subscribing_starts_with_a_snapshot(open_wire, engine, new_watch, committed, method):
    engine.add("t1", State.WORKING, seq=4)
    engine.watch_next = new_watch(committed(5, State.COMPLETED), from_start=False)
    wire = open_wire(f"{HELLO}/tasks/t1:subscribe", method=method, headers={"content-length": "0"})
    wire.say(b"")
    await wire.run()
    assert [line for line in wire.body.split(b"\n") if line.startswith(b"id:")] == [b"id: t1:4", b"id: t1:5"]
    assert json.loads(wire.body.split(b"\n")[1].removeprefix(b"data: "))["task"]["id"] == "t1"


@pytest.mark.parametrize("error", [RuntimeError("sk-secret"), errors.Unavailable("The store is gone")])
async def test_what_breaks_in_a_stream_is_an_event_of_its_own_type(open_wire, engine, new_watch, committed, error):
    engine.watch_next = new_watch(committed(1), finished=False)
    engine.watch_next.push(error)
    wire = open_wire(f"{HELLO}/message:stream")
    wire.say(SEND_BODY)
    await wire.run()
    kind, data = wire.body.decode().split("\n\n")[1].split("\n")
    assert kind == "event: error"
    told = json.loads(data.removeprefix("data: "))["error"]
    assert told["code"] == (503 if isinstance(error, errors.Unavailable) else 500)
    assert "sk-secret" not in data
    assert wire.ended


async def test_what_breaks_before_the_first_event_is_a_plain_answer(ask, engine, new_watch):
    engine.watch_next = new_watch(finished=False)
    engine.watch_next.push(RuntimeError("sk-secret"))
    response = await ask("POST", "/message:stream", SEND)
    assert error_of(response, 500)["status"] == "INTERNAL"
    assert engine.watch_next.closed


# --- what is refused --------------------------------------------------------------------------------------------------

# (HTTP method, path, body, HTTP status, reason)
REFUSED = {
    "no JSON": ("POST", "/message:send", b"{", 400, "INVALID_REQUEST"),
    "nothing": ("POST", "/message:send", b"", 400, "INVALID_REQUEST"),
    "not UTF-8": ("POST", "/message:send", b"\xff", 400, "INVALID_REQUEST"),
    "a name twice": ("POST", "/message:send", b'{"message":{},"message":{}}', 400, "INVALID_REQUEST"),
    "NaN": ("POST", "/message:send", b'{"metadata":{"n":NaN}}', 400, "INVALID_REQUEST"),
    "nested too deep": ("POST", "/message:send", b"[" * 900, 400, "INVALID_REQUEST"),
    "a list": ("POST", "/message:send", [SEND], 400, "INVALID_REQUEST"),
    "null": ("POST", "/message:send", b"null", 400, "INVALID_REQUEST"),
    "null to cancel": ("POST", "/tasks/t1:cancel", b"null", 400, "INVALID_REQUEST"),
    "a JSON-RPC envelope": (
        "POST", "/message:send", {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": SEND}, 400,
        "INVALID_PARAMS",
    ),
    "no message": ("POST", "/message:send", {}, 400, "INVALID_PARAMS"),
    "a wrong type": ("POST", "/message:stream", {"message": {"messageId": 5}}, 400, "INVALID_PARAMS"),
    "a negative history": ("GET", "/tasks/t1?historyLength=-1", None, 400, "INVALID_PARAMS"),
    "no number": ("GET", "/tasks/t1?historyLength=many", None, 400, "INVALID_PARAMS"),
    "a fraction": ("GET", "/tasks/t1?historyLength=1.5", None, 400, "INVALID_PARAMS"),
    "an empty number": ("GET", "/tasks/t1?historyLength=", None, 400, "INVALID_PARAMS"),
    "a number as Python writes it": ("GET", "/tasks/t1?historyLength=1_0", None, 400, "INVALID_PARAMS"),
    "digits of elsewhere": ("GET", "/tasks/t1?historyLength=%D9%A3", None, 400, "INVALID_PARAMS"),
    "a number beyond 32 bits": ("GET", "/tasks/t1?historyLength=4294967296", None, 400, "INVALID_PARAMS"),
    "a number beyond all": ("GET", f"/tasks/t1?historyLength={'9' * 5000}", None, 400, "INVALID_PARAMS"),
    "one field twice": ("GET", "/tasks/t1?historyLength=1&historyLength=1", None, 400, "INVALID_PARAMS"),
    "a query that is not UTF-8": ("GET", "/tasks?contextId=%FF", None, 400, "INVALID_PARAMS"),
    "an unknown state": ("GET", "/tasks?status=working", None, 400, "INVALID_PARAMS"),
    "no state": ("GET", "/tasks?status=", None, 400, "INVALID_PARAMS"),
    "a state by number": ("GET", "/tasks?status=2", None, 400, "INVALID_PARAMS"),
    "no truth": ("GET", "/tasks?includeArtifacts=yes", None, 400, "INVALID_PARAMS"),
    "no time": ("GET", "/tasks?statusTimestampAfter=yesterday", None, 400, "INVALID_PARAMS"),
    "an empty page": ("GET", "/tasks?pageSize=0", None, 400, "INVALID_PARAMS"),
    "a huge page": ("GET", "/tasks?pageSize=101", None, 400, "INVALID_PARAMS"),
    "a page of another listing": ("GET", "/tasks?pageToken=AAAA", None, 400, "INVALID_PARAMS"),
    "another tenant in the query": ("GET", "/tasks?tenant=mute", None, 400, "INVALID_PARAMS"),
    "another tenant in the body": ("POST", "/message:send", SEND | {"tenant": "mute"}, 400, "INVALID_PARAMS"),
    "a number as tenant": ("POST", "/message:send", SEND | {"tenant": 5}, 400, "INVALID_PARAMS"),
    "another task in the query": ("GET", "/tasks/t1?id=t2", None, 400, "INVALID_PARAMS"),
    "another task in the body": ("POST", "/tasks/t1:cancel", {"id": "t2"}, 400, "INVALID_PARAMS"),
    "another task of a push config": (
        "POST", "/tasks/t1/pushNotificationConfigs", {"taskId": "t2"}, 400, "INVALID_PARAMS",
    ),
    "push with a message": (
        "POST", "/message:send", SEND | {"configuration": {"taskPushNotificationConfig": {}}}, 400,
        "PUSH_NOTIFICATION_NOT_SUPPORTED",
    ),
    "push": ("GET", "/tasks/t1/pushNotificationConfigs", None, 400, "PUSH_NOTIFICATION_NOT_SUPPORTED"),
    "an action that is none": ("GET", "/tasks/t1:frob", None, 404, "TASK_NOT_FOUND"),
    "a task that is none": ("GET", "/tasks/none", None, 404, "TASK_NOT_FOUND"),
    "no id of this world": ("GET", "/tasks/%00%FF", None, 404, "TASK_NOT_FOUND"),
}  # fmt: skip
REACHING = {"TASK_NOT_FOUND"}
"""Refusals that the store alone can tell."""


@pytest.mark.parametrize("refused", REFUSED.values(), ids=REFUSED)
async def test_a_wrong_request_is_refused_and_nothing_is_done(ask, engine, refused):
    method, path, body, status, reason = refused
    error = error_of(await ask(method, path, body), status)
    assert error["details"] == [
        {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": reason,
            "domain": "a2a-protocol.org",
            "metadata": {},
        }
    ]
    for internal in ("pb", "proto", "Request", "expected", "parse", "Python"):
        assert internal not in error["message"]
    assert reason in REACHING or engine.calls == []


# (path, headers, HTTP status): what is refused before anybody looks into the body
UNREAD = {
    "a type that is not JSON": ("/agents/hello/message:send", {"content-type": "text/plain"}, 415),
    "a type that is not JSON where none is needed": (
        "/agents/hello/tasks/t1:cancel",
        {"content-type": "text/plain"},
        415,
    ),
    "a coding": ("/agents/hello/message:send", {"content-encoding": "gzip"}, 415),
    "a length beyond the limit": ("/agents/hello/message:send", {"content-length": "1001"}, 413),
    "version 0.3": ("/agents/hello/message:send", {"a2a-version": "0.3"}, 400),
    "an unknown tenant": ("/agents/nobody/message:send", {}, 404),
}


@pytest.mark.parametrize(("path", "headers", "status"), UNREAD.values(), ids=UNREAD)
async def test_what_can_be_refused_without_the_body_is(open_wire, engine, path, headers, status):
    wire = open_wire(path, headers=headers)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wire.run)
        await wire.until(lambda wire: wire.status is not None)
        assert (wire.status, wire.taken) == (status, 0)
        wire.say(b"")
    assert wire.headers[b"connection"] == b"close"
    assert engine.calls == []


class ShutDoor:
    async def admit(self, exchange):
        raise refusal(401, "no")


@pytest.mark.parametrize("request_", REST.values(), ids=REST)
@pytest.mark.parametrize("tenant", ["hello", "nobody"])
async def test_the_door_is_asked_before_anything_else(open_wire, make_edge, engine, request_, tenant):
    method, path, _ = request_
    headers = {"content-type": "text/plain", "a2a-version": "9"}
    wire = open_wire(f"/agents/{tenant}{path}", method=method, app=make_edge(door=ShutDoor()), headers=headers)
    wire.scope["headers"] = [pair for pair in wire.scope["headers"] if pair[0] != b"transfer-encoding"]
    wire.scope["raw_path"], _, wire.scope["query_string"] = wire.scope["raw_path"].partition(b"?")
    wire.scope["path"] = wire.scope["raw_path"].decode()
    await wire.run()  # there is no body to be had: reading would wait for ever
    assert wire.status == 401
    assert engine.calls == []


async def test_no_type_at_all_is_refused_where_there_is_a_body(open_wire, engine):
    for path, body in (("/message:send", SEND_BODY), ("/tasks/t1:cancel", b"{}")):
        wire = open_wire(HELLO + path)
        wire.scope["headers"] = [pair for pair in wire.scope["headers"] if pair[0] != b"content-type"]
        wire.say(body)
        await wire.run()
        assert wire.status == 415
    assert engine.calls == []


async def test_a_body_that_is_too_long_or_late_is_refused(open_wire, make_edge, engine):
    for limits, status in ((Limits(body_bytes=10), 413), (Limits(body_seconds=0.01), 408)):
        wire = open_wire(f"{HELLO}/message:send", app=make_edge(limits=limits))
        wire.say(b"x" * 11, more=True)
        if status == 413:
            wire.say(b"")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wire.run)
            await wire.until(lambda wire: wire.status is not None)
            wire.leave()
        assert wire.status == status
    assert engine.calls == []


@pytest.mark.parametrize("version", ["", "1.0", "1.0.4"])
async def test_a_served_version_is_served_and_none_is_1_0(ask, version):
    assert (await ask("GET", "/tasks", headers={"a2a-version": version})).status_code == 200
    assert (await ask("GET", f"/tasks?A2A-Version={version}")).status_code == 200


@pytest.mark.parametrize("request_", REST.values(), ids=REST)
@pytest.mark.parametrize("version", ["0.3", "0.3.0", "1", "1.1", "2.0"])
async def test_another_version_is_refused_by_every_operation(ask, engine, request_, version):
    method, path, body = request_
    mark = "&" if "?" in path else "?"
    for response in (
        await ask(method, path, body, headers={"a2a-version": version}),
        await ask(method, f"{path}{mark}A2A-Version={version}", body),
    ):
        error = error_of(response, 400)
        assert error["details"][0]["reason"] == "VERSION_NOT_SUPPORTED"
        assert "1.0" in error["message"]
    assert engine.calls == []


# --- errors -----------------------------------------------------------------------------------------------------------

ANSWERS = [kind for kind in errors.Answerable.__subclasses__() if kind is not errors.Unavailable]


@pytest.mark.parametrize("kind", ANSWERS)
async def test_every_error_has_its_own_answer(ask, engine, kind):
    engine.error = kind("Words for the caller")
    error = error_of(await ask("GET", "/tasks/t1"), kind.status)
    assert (error["status"], error["message"]) == (kind.grpc_status, "Words for the caller")
    assert error["details"][0]["reason"] == kind.reason
    assert kind.reason in A2A_REASON_TO_ERROR


async def test_what_nobody_expected_is_told_by_a_number_only(ask, engine, caplog):
    engine.error = RuntimeError("sk-secret of the agent")
    response = await ask("GET", "/tasks/t1")
    error_id = error_of(response, 500)["message"].rpartition(" ")[2]
    assert "sk-secret" not in response.text
    (record,) = [record for record in caplog.records if error_id in record.message]
    assert record.exc_info[1] is engine.error


@pytest.mark.parametrize("path", ["/message:send", "/message:stream"])
async def test_overload_asks_to_come_again(ask, engine, path):
    engine.error = errors.Unavailable("Too many messages wait", retry_after=7)
    response = await ask("POST", path, SEND)
    assert (error_of(response, 503)["status"], response.headers["retry-after"]) == ("UNAVAILABLE", "7")


# --- the same as JSON-RPC ---------------------------------------------------------------------------------------------


async def outcome_over_rest(ask, rest):
    """Return (what was answered, error reason and words): one of the two is None."""
    response = await ask(*rest)
    if response.status_code == 503:
        return response.content, None
    if response.status_code != 200:
        error = response.json()["error"]
        return None, (error["details"], error["message"])
    if response.headers["content-type"] == "text/event-stream":
        return [json.loads(line[6:]) for line in response.text.split("\n") if line.startswith("data: ")], None
    return response.json(), None


async def outcome_over_rpc(ask, rpc):
    method, params = rpc
    response = await ask("POST", "", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    if response.status_code == 503:
        return response.content, None
    if response.headers["content-type"] == "text/event-stream":
        return [json.loads(line[6:])["result"] for line in response.text.split("\n") if line.startswith("data: ")], None
    answer = response.json()
    if "error" in answer:
        return None, (answer["error"]["data"], answer["error"]["message"])
    return answer["result"], None


WORLDS = {
    "a task that ended": (State.COMPLETED, None),
    "a task that runs": (State.WORKING, None),
    "a task that waits": (State.INPUT_REQUIRED, None),
    "no such task": (None, None),
    "a task that cannot be canceled": (State.COMPLETED, errors.TaskNotCancelable()),
    "an overloaded host": (None, errors.Unavailable()),
}


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("operation", OPERATIONS)
async def test_both_bindings_come_to_the_same(ask, engine, set_up, operation, world):
    outcomes, calls = [], []
    for outcome_over, request in zip((outcome_over_rest, outcome_over_rpc), OPERATIONS[operation], strict=True):
        set_up(*WORLDS[world], from_start=operation == "stream")
        outcomes.append(await outcome_over(ask, request))
        calls.append(repr(engine.calls))
    assert outcomes[0] == outcomes[1]
    assert calls[0] == calls[1]


IDS = ["00000000-0000-4000-8000-000000000000", "t1", "t%2F1", "%E2%98%82", "x" * 300]


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/tasks/{}"), ("POST", "/tasks/{}:cancel"), ("GET", "/tasks/{}:subscribe")]
)
async def test_a_task_that_is_not_the_callers_looks_like_one_that_never_was(ask, engine, method, path):
    answers = {(response.status_code, response.content, tuple(response.headers.items()))
               for response in [await ask(method, path.format(task_id)) for task_id in IDS]}  # fmt: skip
    assert len(answers) == 1
    assert json.loads(answers.pop()[1])["error"]["details"][0]["reason"] == "TASK_NOT_FOUND"


@pytest.mark.parametrize("request_", REST.values(), ids=REST)
async def test_an_unknown_tenant_is_not_found_by_any_operation(ask, engine, request_):
    answers = [await ask(*request_, base=f"/agents/{name}") for name in ("nobody", "Hello", "hello%00", "a%2Fb")]
    assert len({response.content for response in answers}) == 1
    error = error_of(answers[0], 404)
    assert (error["status"], error["message"]) == ("NOT_FOUND", "unknown tenant")
    assert engine.calls == []
