"""The JSON-RPC envelope: what is refused with which code, and that nothing is done then."""

import json

import pytest
from a2a.types import a2a_pb2

from innkeeper.contract import errors
from innkeeper.edge.methods import METHODS

pytestmark = pytest.mark.anyio

GET = {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "t1"}}
JSON_TYPE = {"content-type": "application/json"}


@pytest.fixture
def post(client):
    async def post(content, path="/agents/hello", headers=()):
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        response = await client.post(path, content=body, headers=JSON_TYPE | dict(headers))
        assert (response.status_code, response.headers["content-type"]) == (200, "application/json")
        return response.json()

    return post


def without(key):
    return {name: value for name, value in GET.items() if name != key}


NOT_JSON = [b"", b'{"jsonrpc":"2.0",', b"\xff\xfe\xfa", b'{"id":1,"id":1}', b'{"id":NaN}', b"[" * 10**3]


@pytest.mark.parametrize("body", NOT_JSON)
async def test_what_is_no_json_is_a_parse_error_without_id(post, engine, body):
    answer = await post(body)
    assert answer["id"] is None
    assert answer["error"]["code"] == -32700
    assert answer["error"]["message"] == "Invalid JSON payload"
    assert engine.calls == []


# (request, code, id of the answer)
REFUSED = {
    "an empty batch": ([], -32600, None),
    "a batch": ([GET, GET], -32600, None),
    "null": (None, -32600, None),
    "a string": ("x", -32600, None),
    "a number": (5, -32600, None),
    "nothing in it": ({}, -32600, None),
    "no version": (without("jsonrpc"), -32600, 1),
    "a number as version": (GET | {"jsonrpc": 2.0}, -32600, 1),
    "version 1": (GET | {"jsonrpc": "1.0"}, -32600, 1),
    "no method": (without("method"), -32600, 1),
    "a number as method": (GET | {"method": 5}, -32600, 1),
    "null as method": (GET | {"method": None}, -32600, 1),
    "true as id": (GET | {"id": True}, -32600, None),
    "a fraction as id": (GET | {"id": 1.5}, -32600, None),
    "a whole fraction as id": (GET | {"id": 1.0}, -32600, None),
    "an object as id": (GET | {"id": {}}, -32600, None),
    "a list as id": (GET | {"id": [1]}, -32600, None),
    "an unknown method": (GET | {"method": "Frobnicate"}, -32601, 1),
    "a method in another case": (GET | {"method": "getTask"}, -32601, 1),
    "a method of protocol 0.3": (GET | {"method": "message/send"}, -32601, 1),
    "a method of Python's": (GET | {"method": "__class__"}, -32601, 1),
    "a list as params": (GET | {"params": ["t1"]}, -32602, 1),
    "a string as params": (GET | {"params": "t1"}, -32602, 1),
    "false as params": (GET | {"params": False}, -32602, 1),
    "zero as params": (GET | {"params": 0}, -32602, 1),
    "an empty list as params": (GET | {"params": []}, -32602, 1),
    "no params where some are needed": (without("params"), -32602, 1),
    "null as params where some are needed": (GET | {"params": None}, -32602, 1),
    "a number as tenant": (GET | {"params": {"id": "t1", "tenant": 5}}, -32602, 1),
    "another tenant than the path's": (GET | {"params": {"id": "t1", "tenant": "mute"}}, -32602, 1),
}


@pytest.mark.parametrize(("request_", "code", "request_id"), REFUSED.values(), ids=REFUSED.keys())
async def test_a_wrong_envelope_is_refused_and_nothing_is_done(post, engine, request_, code, request_id):
    answer = await post(request_)
    assert set(answer) == {"jsonrpc", "id", "error"}
    assert (answer["error"]["code"], answer["id"]) == (code, request_id)
    assert engine.calls == []


@pytest.mark.parametrize("request_id", [1, 0, -1, 2**63, "", "x", "1", "\u2028\0é", None])
async def test_the_id_comes_back_as_it_was(client, engine, request_id):
    engine.add("t1")
    response = await client.post("/agents/hello", json=GET | {"id": request_id})
    answer = response.json()
    assert (answer["id"], type(answer["id"])) == (request_id, type(request_id))
    assert answer["result"]["id"] == "t1"
    assert response.content.isascii()


async def test_a_refusal_carries_error_info(post):
    answer = await post(GET | {"params": {"id": "none"}})
    assert answer["error"] == {
        "code": -32001,
        "message": "Task not found",
        "data": [
            {
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": "TASK_NOT_FOUND",
                "domain": "a2a-protocol.org",
                "metadata": {},
            }
        ],
    }


@pytest.mark.parametrize("method", [*METHODS, "Frobnicate"])
async def test_a_notification_is_answered_by_nothing_and_does_nothing(client, engine, message, method):
    request = {"jsonrpc": "2.0", "method": method, "params": message()}
    response = await client.post("/agents/hello", json=request)
    assert (response.status_code, response.content) == (204, b"")
    assert "content-type" not in response.headers
    assert engine.calls == []


# --- versions ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("headers", [[], [""], ["1.0"], ["1.0.0"], ["1.0.17"], [" 1.0 "]])
async def test_a_served_version_is_served(post, engine, headers):
    assert (await post(GET, headers=[("A2A-Version", value) for value in headers]))["error"]["code"] == -32001
    assert engine.names == ["find"]


@pytest.mark.parametrize(
    "version", ["0.3", "0.3.0", "2.0", "1", "1.1", "1.0.", "1.0, 0.3", "1.0,1.0", "v1.0", "\uff11.0"]
)
async def test_another_version_is_refused_naming_what_is_served(post, engine, version):
    error = (await post(GET, headers={b"A2A-Version": version.encode()}))["error"]
    assert error["code"] == -32009
    assert "1.0" in error["message"]
    assert (await post(GET, path=f"/agents/hello?A2A-Version={version}"))["error"]["code"] == -32009
    assert engine.calls == []


@pytest.mark.parametrize("values", [(b"1.0", b"0.3"), (b"1.0", b"1.0")])
async def test_two_versions_are_refused(open_wire, engine, values):
    wire = open_wire()
    wire.scope["headers"] += [(b"a2a-version", value) for value in values]
    wire.call("GetTask", {"id": "t1"})
    await wire.run()
    assert json.loads(wire.body)["error"]["code"] == -32009
    assert engine.calls == []


@pytest.mark.parametrize("query", ["A2A-Version=1.0", "A2A-Version=", "other=0.3", "A2A-Version=1.0.2&x=y"])
async def test_the_query_may_name_a_served_version(post, query):
    assert (await post(GET, path=f"/agents/hello?{query}"))["error"]["code"] == -32001


async def test_the_header_wins_over_the_query(post):
    answer = await post(GET, path="/agents/hello?A2A-Version=0.3", headers={"A2A-Version": "1.0"})
    assert answer["error"]["code"] == -32001


# --- tenants ----------------------------------------------------------------------------------------------------------

UNKNOWN = ["nobody", "Hello", "hello ", "a/../hello", "x" * 300, "hello\0", "__proto__", "toString"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("tenant", UNKNOWN)
async def test_an_unknown_tenant_is_refused_by_every_method(rpc, engine, message, method, tenant):
    error = (await rpc(method, message() | {"tenant": tenant}, path="/a2a"))["error"]
    assert (error["code"], error["message"]) == (-32602, "unknown tenant")
    assert engine.calls == []


@pytest.mark.parametrize("path", ["/agents/nobody", "/agents/Hello", "/agents/hello%00"])
async def test_an_unknown_tenant_in_the_path_is_refused_alike(rpc, engine, path):
    error = (await rpc("GetTask", {"id": "t1"}, path=path))["error"]
    assert (error["code"], error["message"]) == (-32602, "unknown tenant")
    assert engine.calls == []


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("tenant", [{}, {"tenant": ""}, {"tenant": None}])
async def test_a_missing_tenant_is_named(rpc, engine, message, method, tenant):
    error = (await rpc(method, message() | tenant, path="/a2a"))["error"]
    assert error["code"] == -32602
    assert "params.tenant is required" in error["message"]
    assert engine.calls == []


@pytest.mark.parametrize(
    ("path", "params"),
    [
        ("/a2a", {"tenant": "hello"}),
        ("/agents/hello", {}),
        ("/agents/hello", {"tenant": ""}),
        ("/agents/hello", {"tenant": "hello"}),
    ],
)
async def test_path_or_params_name_the_tenant(rpc, engine, path, params):
    engine.add("t1")
    assert (await rpc("GetTask", {"id": "t1", **params}, path=path))["result"]["id"] == "t1"
    assert engine.calls == [("find", "hello", "anonymous", "t1", None)]


async def test_the_only_tenant_need_not_be_named(open_wire, make_edge, engine):
    engine.add("t1")
    wire = open_wire("/a2a", app=make_edge(sole_tenant="hello"))
    wire.call("GetTask", {"id": "t1"})
    await wire.run()
    assert json.loads(wire.body)["result"]["id"] == "t1"


# --- params -----------------------------------------------------------------------------------------------------------

MALFORMED = [
    ("GetTask", {"id": 5}, "id"),
    ("GetTask", {"id": "t1", "historyLength": "many"}, "historyLength"),
    ("GetTask", {"id": "t1", "historyLength": 1.5}, "historyLength"),
    ("GetTask", {"id": "t1", "historyLength": 2**40}, "historyLength"),
    ("ListTasks", {"status": "RUNNING"}, "status"),
    ("ListTasks", {"status": "completed"}, "status"),
    ("ListTasks", {"status": 99}, "status"),
    ("ListTasks", {"statusTimestampAfter": "yesterday"}, "statusTimestampAfter"),
    ("ListTasks", {"includeArtifacts": "yes"}, "includeArtifacts"),
    ("SendMessage", {"message": {"messageId": 5}}, "message.messageId"),
    ("SendMessage", {"message": {"parts": [{"text": 3}]}}, "message.parts.text"),
    ("SendMessage", {"message": {"parts": [{"text": "a", "url": "b"}]}}, "message.parts[0]"),
    ("SendMessage", {"configuration": {"historyLength": 1.5}}, "configuration.historyLength"),
    ("SendMessage", {"metadata": 5}, "metadata"),
    ("SendMessage", {"message": "hi"}, "message.messageId"),
    ("SendMessage", {"message": {"parts": {"text": "hi"}}}, "message"),
    ("SendMessage", {}, "message"),
]


@pytest.mark.parametrize(("method", "params", "field"), MALFORMED)
async def test_a_malformed_field_is_named_and_nothing_else(rpc, engine, method, params, field):
    error = (await rpc(method, params))["error"]
    assert error["code"] == -32602
    assert error["message"].startswith(f"{field} ")
    for internal in ("pb", "proto", "Request", "expected", "parse", "Python"):
        assert internal not in error["message"]
    assert engine.calls == []


async def test_fields_of_a_later_version_are_passed_over(rpc, engine):
    engine.add("t1")
    assert (await rpc("GetTask", {"id": "t1", "somethingNew": {"deep": [1]}}))["result"]["id"] == "t1"


# --- errors -----------------------------------------------------------------------------------------------------------

ANSWERS = [kind for kind in errors.Answerable.__subclasses__() if kind is not errors.Unavailable]


@pytest.mark.parametrize("kind", ANSWERS)
async def test_every_error_has_its_own_answer(rpc, engine, kind):
    engine.error = kind("Words for the caller")
    error = (await rpc("GetTask", {"id": "t1"}))["error"]
    assert (error["code"], error["message"], error["data"][0]["reason"]) == (
        kind.code,
        "Words for the caller",
        kind.reason,
    )


@pytest.mark.parametrize(
    ("method", "params"), [("GetTask", {"id": "t1"}), ("CancelTask", {"id": "t1"}), ("ListTasks", {})]
)
async def test_what_nobody_expected_is_told_by_a_number_only(rpc, engine, caplog, method, params):
    engine.error = RuntimeError("sk-secret of the agent")
    answer = await rpc(method, params)
    assert answer["error"]["code"] == -32603
    assert "sk-secret" not in json.dumps(answer)
    error_id = answer["error"]["message"].rpartition(" ")[2]
    (record,) = [record for record in caplog.records if error_id in record.message]
    assert record.exc_info[1] is engine.error
    assert caplog.text.count("RuntimeError: sk-secret of the agent") == 1


@pytest.mark.parametrize("method", ["SendMessage", "SendStreamingMessage"])
async def test_overload_is_a_503_of_http(client, engine, message, method, new_watch):
    engine.error = errors.Unavailable("Too many messages wait", retry_after=7)
    response = await client.post("/agents/hello", json=GET | {"method": method, "params": message()})
    assert (response.status_code, response.headers["retry-after"]) == (503, "7")
    assert response.json() == {"error": {"code": 503, "status": "UNAVAILABLE", "message": "Too many messages wait"}}


def test_every_method_of_the_service_is_answered():
    service = a2a_pb2.DESCRIPTOR.services_by_name["A2AService"]
    assert {name: METHODS[name].request.DESCRIPTOR.full_name for name in METHODS} == {
        method.name: method.input_type.full_name for method in service.methods
    }
