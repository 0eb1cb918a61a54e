"""What A2A v1.0 asks of a server, section by section, over both bindings, with and without a bearer token.

Each test and each row names the section it holds. What holds for every answer, ``conforming`` checks on each.
"""

import json
import uuid
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace

import httpx
import pytest
from a2a.types import AgentCard
from a2a.utils.proto_utils import validate_proto_required_fields
from conforming import METHODS, Wire, saying
from google.protobuf import json_format
from livehost import innkeeper, running_host

pytestmark = pytest.mark.anyio

NOBODYS = "00000000-0000-4000-8000-000000000000"
HOOK = {"url": "https://93.184.216.34/hook", "token": "t"}
NEEDED = "https://extensions.example/needed/v1"
TENANTS = ("artifacts", "asker", "echo", "flood", "needs-extension", "refuser", "waits")
TABLES = "[push]\nenabled = true\n[tenants]\n" + "".join(f"{tenant} = {{ use = [] }}\n" for tenant in TENANTS)
MUTE = 'mute = { agent = "echo", use = [], streaming = false }\n'


@dataclass(frozen=True)
class Door:
    """A running host, and the tokens of two callers where it wants one."""

    url: str
    ann: str | None = None
    bob: str | None = None


@pytest.fixture(scope="module", params=["open", "bearer"])
def door(request, plugins, tmp_path_factory):
    path = tmp_path_factory.mktemp(request.param) / "innkeeper.toml"
    auth = '[auth]\nmode = "token"\n' if request.param == "bearer" else ""
    path.write_text(f'[host]\nbind = ["127.0.0.1:0"]\n{auth}{TABLES}{MUTE}')
    tokens = {}
    if request.param == "bearer":
        assert innkeeper("keys", "new", plugins=plugins, cwd=path.parent).returncode == 0
        reach = [argument for tenant in (*TENANTS, "mute") for argument in ("--tenant", tenant)]
        for caller in ("ann", "bob"):
            made = innkeeper("token", "create", "--caller", caller, *reach, plugins=plugins, cwd=path.parent)
            tokens[caller] = made.stdout.strip()
    with running_host(path, plugins) as host:
        yield Door(host.url, **tokens)


@pytest.fixture(params=["JSONRPC", "HTTP+JSON"])
async def wire(request, door):
    async with httpx.AsyncClient(timeout=30, trust_env=False) as http:
        yield Wire(request.param, f"{door.url}/agents/echo", http, door.ann)


GUARDED = pytest.mark.parametrize("door", ["bearer"], indirect=True, scope="module")


def bearer(token):
    return {} if token is None else {"authorization": f"Bearer {token}"}


async def started(wire, tenant, text="go", **fields):
    """Begin a task and return it as it was accepted."""
    return (
        await wire.at(tenant).done("SendMessage", saying(text, configuration={"returnImmediately": True}, **fields))
    ).task


async def asking(wire):
    """Make a task that waits for its caller."""
    return (await wire.at("asker").done("SendMessage", saying("a ball"))).task


async def ended(wire, **fields):
    return (await wire.done("SendMessage", saying("hi", **fields))).task


# --- refusals: section, tenant, method, params, reason ----------------------------------------------------------------

REFUSALS = [
    ("3.1.1", "echo", "SendMessage", saying("hi", taskId=NOBODYS), "TASK_NOT_FOUND"),
    ("3.1.1", "echo", "SendMessage", {}, "INVALID_PARAMS"),
    ("3.1.1", "echo", "SendMessage", saying("hi", parts=[]), "INVALID_PARAMS"),
    ("3.1.1", "echo", "SendMessage", saying("hi", messageId=""), "INVALID_PARAMS"),
    ("3.1.1", "echo", "SendMessage", saying("hi", role="ROLE_UNSPECIFIED"), "INVALID_PARAMS"),
    ("3.1.1", "echo", "SendMessage", saying("hi", parts=[{"raw": "dGNr", "mediaType": "application/x-no"}]),
     "CONTENT_TYPE_NOT_SUPPORTED"),
    ("3.1.2", "echo", "SendStreamingMessage", saying("hi", parts=[{"url": "https://a.example/b", "mediaType": "a/b"}]),
     "CONTENT_TYPE_NOT_SUPPORTED"),
    ("3.1.2", "echo", "SendStreamingMessage", saying("hi", taskId=NOBODYS), "TASK_NOT_FOUND"),
    ("3.1.3", "echo", "GetTask", {"id": NOBODYS}, "TASK_NOT_FOUND"),
    ("3.2.4", "echo", "GetTask", {"id": NOBODYS, "historyLength": -1}, "INVALID_PARAMS"),
    ("3.1.4", "echo", "ListTasks", {"pageSize": 0}, "INVALID_PARAMS"),
    ("3.1.4", "echo", "ListTasks", {"pageSize": 101}, "INVALID_PARAMS"),
    ("3.1.4", "echo", "ListTasks", {"pageToken": "made-up"}, "INVALID_PARAMS"),
    ("3.1.4", "echo", "ListTasks", {"status": "TASK_STATE_RUNNING"}, "INVALID_PARAMS"),
    ("3.1.4", "echo", "ListTasks", {"historyLength": -5}, "INVALID_PARAMS"),
    ("5.6.1", "echo", "ListTasks", {"statusTimestampAfter": "yesterday"}, "INVALID_PARAMS"),
    ("3.1.5", "echo", "CancelTask", {"id": NOBODYS}, "TASK_NOT_FOUND"),
    ("3.1.6", "echo", "SubscribeToTask", {"id": NOBODYS}, "TASK_NOT_FOUND"),
    ("3.1.7", "echo", "CreateTaskPushNotificationConfig", {"taskId": NOBODYS, **HOOK}, "TASK_NOT_FOUND"),
    ("3.1.8", "echo", "GetTaskPushNotificationConfig", {"taskId": NOBODYS, "id": "p"}, "TASK_NOT_FOUND"),
    ("3.1.9", "echo", "ListTaskPushNotificationConfigs", {"taskId": NOBODYS}, "TASK_NOT_FOUND"),
    ("3.1.10", "echo", "DeleteTaskPushNotificationConfig", {"taskId": NOBODYS, "id": "p"}, "TASK_NOT_FOUND"),
    ("3.3.4", "mute", "SendStreamingMessage", saying("hi"), "UNSUPPORTED_OPERATION"),
    ("3.3.4", "mute", "SubscribeToTask", {"id": NOBODYS}, "UNSUPPORTED_OPERATION"),
    ("3.3.4", "needs-extension", "SendMessage", saying("hi"), "EXTENSION_SUPPORT_REQUIRED"),
    ("3.3.4", "needs-extension", "SendStreamingMessage", saying("hi"), "EXTENSION_SUPPORT_REQUIRED"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("tenant", "method", "params", "reason"), [row[1:] for row in REFUSALS], ids=[f"§{row[0]}" for row in REFUSALS]
)
async def test_a_request_that_must_be_refused_is(wire, tenant, method, params, reason):
    assert (await wire.at(tenant).call(method, params)).reason == reason


PUSH = {
    "CreateTaskPushNotificationConfig": {"taskId": NOBODYS, **HOOK},
    "GetTaskPushNotificationConfig": {"taskId": NOBODYS, "id": "p"},
    "ListTaskPushNotificationConfigs": {"taskId": NOBODYS},
    "DeleteTaskPushNotificationConfig": {"taskId": NOBODYS, "id": "p"},
    "SendMessage": saying("hi", configuration={"taskPushNotificationConfig": HOOK}),
    "SendStreamingMessage": saying("hi", configuration={"taskPushNotificationConfig": HOOK}),
}


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
async def test_what_needs_push_is_refused_where_the_card_does_not_say_it(host, binding):
    """§3.3.4."""
    async with httpx.AsyncClient(timeout=30, trust_env=False) as http:
        wire = Wire(binding, host.agent("echo"), http)
        assert not (await wire.done("GetExtendedAgentCard")).result["capabilities"].get("pushNotifications")
        for method, params in PUSH.items():
            assert (await wire.call(method, params)).reason == "PUSH_NOTIFICATION_NOT_SUPPORTED"


@pytest.mark.parametrize("end", ["completed", "canceled", "rejected"])
async def test_a_task_that_has_ended_takes_no_message_no_cancellation_and_no_stream(wire, end):
    """§3.1.1, §3.1.2, §3.1.5, §3.1.6."""
    if end == "canceled":
        task = await started(wire, "waits")
        tenant = wire.at("waits")
        await tenant.done("CancelTask", {"id": task["id"]})
    else:
        tenant = wire.at("refuser" if end == "rejected" else "echo")
        task = await ended(tenant)
    known = (await tenant.done("GetTask", {"id": task["id"]})).task
    assert known["status"]["state"] == f"TASK_STATE_{end.upper()}"
    for method in ("SendMessage", "SendStreamingMessage"):
        assert (await tenant.call(method, saying("more", taskId=task["id"]))).reason == "UNSUPPORTED_OPERATION"
    assert (await tenant.call("SubscribeToTask", {"id": task["id"]})).reason == "UNSUPPORTED_OPERATION"
    if end != "canceled":  # §3.3.1: canceling twice has the effect of canceling once
        assert (await tenant.call("CancelTask", {"id": task["id"]})).reason == "TASK_NOT_CANCELABLE"


# --- §3.1.1, §3.2.2: sending ------------------------------------------------------------------------------------------


async def test_sending_answers_with_the_task_when_it_has_ended(wire):
    """§3.1.1, §3.2.2, §3.4.2: blocking is the default; ids are the server's."""
    first, second = await ended(wire), await ended(wire)
    assert first["status"]["state"] == "TASK_STATE_COMPLETED"
    assert first["status"]["message"]["parts"][0]["text"] == "hi"
    assert first["id"] != second["id"]
    assert first["contextId"] != second["contextId"]
    assert {message["contextId"] for message in first["history"]} == {first["contextId"]}


async def test_sending_waits_for_an_interrupted_state_too_and_the_answer_goes_on_with_the_task(wire):
    """§3.2.2, §3.4.2, §3.4.3: the context is that of the task, said or not."""
    task = await asking(wire)
    assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    answered = (await wire.at("asker").done("SendMessage", saying("red", taskId=task["id"]))).task
    assert answered["status"]["state"] == "TASK_STATE_COMPLETED"
    assert (answered["id"], answered["contextId"]) == (task["id"], task["contextId"])


async def test_sending_returns_at_once_if_asked_to(wire):
    """§3.2.2."""
    task = await started(wire, "waits")
    assert task["status"]["state"] in ("TASK_STATE_SUBMITTED", "TASK_STATE_WORKING")
    await wire.at("waits").done("CancelTask", {"id": task["id"]})


async def test_a_context_is_kept_and_may_not_contradict_the_task(wire):
    """§3.4.1, §3.4.3."""
    context_id = str(uuid.uuid4())
    assert (await ended(wire, contextId=context_id))["contextId"] == context_id
    task = await asking(wire)
    wrong = saying("red", taskId=task["id"], contextId=context_id)
    assert (await wire.at("asker").call("SendMessage", wrong)).reason == "INVALID_PARAMS"


async def test_fields_of_a_later_version_are_passed_over(wire):
    """§5.7."""
    params = saying("hi", fromTheFuture={"a": 1}, parts=[{"text": "hi", "alsoNew": 2}])
    assert (await wire.done("SendMessage", {**params, "newToo": [3]})).task["status"]["state"] == "TASK_STATE_COMPLETED"


async def test_every_kind_of_part_arrives_and_comes_back(wire):
    """§4.1.6: exactly one of text, raw, url and data; metadata and media types stay with it."""
    parts = [
        {"text": "a", "metadata": {"k": {"deep": [1, None, True]}}},
        {"raw": "AAECAw==", "filename": "b.bin"},
        {"url": "https://files.example/c"},
        {"data": {"count": 42, "nested": [1.5, "x", None]}, "mediaType": "application/json"},
    ]
    task = await ended(wire, parts=parts, metadata={"said": "by the client"})
    (asked,) = [message for message in task["history"] if message["role"] == "ROLE_USER"]
    assert (asked["parts"], asked["metadata"]) == (parts, {"said": "by the client"})


# --- §3.1.2, §3.1.6, §3.5.2: streams ----------------------------------------------------------------------------------


async def test_a_stream_begins_with_the_task_and_closes_with_its_end(wire):
    """§3.1.2, §3.5.2: the order is that in which the events came to be."""
    async with wire.at("artifacts").stream("SendStreamingMessage", saying("go")) as events:
        told = [event async for _, event in events]
    assert "task" in told[0]
    assert all(set(event) <= {"statusUpdate", "artifactUpdate"} for event in told[1:])
    assert told[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"
    pieces = [event["artifactUpdate"] for event in told if "artifactUpdate" in event]
    assert [piece["artifact"]["parts"][0]["text"] for piece in pieces] == ["one", "two"]
    assert [piece.get("append", False) for piece in pieces] == [False, True]
    task = (await wire.at("artifacts").done("GetTask", {"id": told[0]["task"]["id"]})).task
    assert [len(artifact["parts"]) for artifact in task["artifacts"]] == [3]


async def test_a_task_that_waits_is_followed_to_its_end_by_all_who_subscribed(wire):
    """§3.1.6, §3.5.2: the task comes first; the same events go to every stream, and none minds that another closes."""
    task = await asking(wire)
    asker = wire.at("asker")
    async with AsyncExitStack() as stack:
        streams = [
            await stack.enter_async_context(asker.stream("SubscribeToTask", {"id": task["id"]})) for _ in range(2)
        ]
        async with asker.stream("SubscribeToTask", {"id": task["id"]}) as leaving:
            firsts = [(await anext(events))[1] for events in (*streams, leaving)]
        await asker.done("SendMessage", saying("red", taskId=task["id"]))
        first, second = [[event async for event in events] for events in streams]
    assert [begun["task"]["status"]["state"] for begun in firsts] == ["TASK_STATE_INPUT_REQUIRED"] * 3
    assert first == second
    assert first[-1][1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"


async def test_a_stream_goes_on_where_its_reader_left_off(wire):
    """What the specification leaves to servers: ids on events, and ``Last-Event-ID`` (WHATWG HTML §9.2.4)."""
    async with wire.at("artifacts").stream("SendStreamingMessage", params := saying("go")) as events:
        told = [event async for event in events]
    task_id, after = told[0][1]["task"]["id"], told[1][0]
    for method, asked in (("SubscribeToTask", {"id": task_id}), ("SendStreamingMessage", params)):
        async with wire.at("artifacts").stream(method, asked, last_event_id=after) as events:
            assert [event async for event in events] == told[2:]


# --- §3.1.3, §3.1.4, §3.2.4: reading ----------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [None, 0, 1, 99])
async def test_history_is_as_long_as_asked(wire, length):
    """§3.2.4: unset is all, 0 is none and no field, and otherwise the most recent messages, in order."""
    task = await asking(wire)
    asker = wire.at("asker")
    limit = {} if length is None else {"historyLength": length}
    sent = (await asker.done("SendMessage", saying("red", taskId=task["id"], configuration=limit))).task
    for read in (sent, (await asker.done("GetTask", {"id": task["id"], **limit})).task):
        said = [message["parts"][0]["text"] for message in read.get("history", [])]
        whole = [
            message["parts"][0]["text"] for message in (await asker.done("GetTask", {"id": task["id"]})).task["history"]
        ]
        assert said == (whole[-length:] if length else whole if length is None else [])
        assert length != 0 or "history" not in read
    assert whole[0] == "a ball"
    assert "red" in whole


async def test_tasks_are_listed_page_by_page_newest_first(wire):
    """§3.1.4: every field of the answer is there on every page, and an empty token ends it."""
    context_id = str(uuid.uuid4())
    made = [(await ended(wire, contextId=context_id))["id"] for _ in range(5)]
    listed, token, sizes = [], "", []
    while True:
        page = (await wire.done("ListTasks", {"contextId": context_id, "pageSize": 2, "pageToken": token})).result
        assert set(page) == {"tasks", "nextPageToken", "pageSize", "totalSize"}
        assert (page["pageSize"], page["totalSize"]) == (2, 5)
        listed += page["tasks"]
        sizes.append(len(page["tasks"]))
        token = page["nextPageToken"]
        if not token:
            break
    assert sizes == [2, 2, 1]
    assert [task["id"] for task in listed] == made[::-1]
    assert all("artifacts" not in task for task in listed)


async def test_a_list_is_narrowed_by_what_is_asked(wire):
    """§3.1.4: context, state, time of the status; history and artifacts as asked."""
    context_id = str(uuid.uuid4())
    tenant = wire.at("artifacts")
    task = await ended(tenant, contextId=context_id)
    at = task["status"]["timestamp"]

    async def listed(**params):
        page = (await tenant.done("ListTasks", {"contextId": context_id, **params})).result
        return page["tasks"]

    assert [found["id"] for found in await listed(status="TASK_STATE_COMPLETED")] == [task["id"]]
    assert await listed(status="TASK_STATE_FAILED") == []
    assert len(await listed(statusTimestampAfter="2020-01-01T00:00:00Z")) == 1
    assert len(await listed(statusTimestampAfter=at)) == 1
    assert await listed(statusTimestampAfter="2999-01-01T00:00:00Z") == []
    assert "history" not in (await listed(historyLength=0))[0]
    assert len((await listed(historyLength=1))[0]["history"]) == 1
    (whole,), (bare,) = await listed(includeArtifacts=True), await listed(includeArtifacts=False)
    assert whole["artifacts"]
    assert "artifacts" not in bare


# --- §3.1.5: canceling ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["working", "waiting"])
async def test_canceling_answers_with_the_canceled_task_as_often_as_it_is_asked(wire, state):
    """§3.1.5, §3.3.1."""
    task = await (started(wire, "waits") if state == "working" else asking(wire))
    tenant = wire.at("waits" if state == "working" else "asker")
    for _ in range(2):
        canceled = (await tenant.done("CancelTask", {"id": task["id"]})).task
        assert (canceled["id"], canceled["status"]["state"]) == (task["id"], "TASK_STATE_CANCELED")


# --- §3.1.7 to §3.1.10: push configurations ---------------------------------------------------------------------------


async def test_push_configurations_are_kept_read_listed_and_forgotten(wire):
    task_id = (await asking(wire))["id"]
    asker = wire.at("asker")
    for name in ("p1", "p2"):
        config = {"taskId": task_id, "id": name, **HOOK}
        kept = (await asker.done("CreateTaskPushNotificationConfig", config)).result
        assert (kept["taskId"], kept["id"], kept["url"]) == (task_id, name, HOOK["url"])
    named = {"taskId": task_id, "id": "p1"}
    assert (await asker.done("GetTaskPushNotificationConfig", named)).result["url"] == HOOK["url"]
    listed = (await asker.done("ListTaskPushNotificationConfigs", {"taskId": task_id})).result
    assert sorted(config["id"] for config in listed["configs"]) == ["p1", "p2"]
    for _ in range(2):  # §3.1.10: forgetting is idempotent
        assert (await asker.done("DeleteTaskPushNotificationConfig", named)).result == {}
    assert (await asker.call("GetTaskPushNotificationConfig", named)).reason == "TASK_NOT_FOUND"
    await asker.done("CancelTask", {"id": task_id})


async def test_a_push_configuration_may_come_with_the_message(wire):
    """§3.2.2."""
    inline = {"taskPushNotificationConfig": {"id": "inline", **HOOK}}
    task = (await wire.at("asker").done("SendMessage", saying("a ball", configuration=inline))).task
    listed = (await wire.at("asker").done("ListTaskPushNotificationConfigs", {"taskId": task["id"]})).result
    assert [config["id"] for config in listed["configs"]] == ["inline"]
    await wire.at("asker").done("CancelTask", {"id": task["id"]})


# --- §3.1.11, §4.4, §8: cards -----------------------------------------------------------------------------------------


async def test_the_card_says_where_and_how_the_agent_is_reached(wire, door):
    """§3.1.11, §4.4.1, §5.2, §8.3: the card that callers get, and the one at the well-known place."""
    card = (await wire.done("GetExtendedAgentCard")).result
    found = await wire.http.get(f"{wire.url}/.well-known/agent-card.json", headers=bearer(door.ann))
    public = json_format.ParseDict(found.json(), AgentCard(), ignore_unknown_fields=True)
    validate_proto_required_fields(public)
    assert found.headers["etag"]
    assert "cache-control" in found.headers
    for each in (card, found.json()):
        assert each["capabilities"]["streaming"] is each["capabilities"]["extendedAgentCard"] is True
        assert each["capabilities"]["pushNotifications"] is True
        reached = {(way["protocolBinding"], way["url"]) for way in each["supportedInterfaces"]}
        assert {("JSONRPC", wire.url), ("HTTP+JSON", wire.url)} <= reached
        assert {way["protocolVersion"] for way in each["supportedInterfaces"]} <= {"1.0", "0.3"}
        assert each["signatures"]
    assert bool(card.get("securitySchemes")) is (door.ann is not None)


# --- §3.6: versions; §4.6: extensions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("version", ["0.5", "2.0", "1", "one"])
async def test_a_version_that_is_not_served_is_refused_by_every_method(wire, method, version):
    """§3.6.2."""
    params = {"id": NOBODYS, "taskId": NOBODYS}
    assert (await wire.call(method, params, headers={"a2a-version": version})).reason == "VERSION_NOT_SUPPORTED"


@pytest.mark.parametrize("version", ["1.0", "1.0.0", "1.0.17"])
async def test_patch_versions_make_no_difference(wire, version):
    """§3.6."""
    await wire.done("ListTasks", headers={"a2a-version": version})


async def test_the_version_may_be_said_in_the_query(wire):
    """§3.6.1."""
    bare = {"a2a-version": ""}
    assert (await wire.call("ListTasks", {}, headers=bare, query={"A2A-Version": "1.0"})).reason == ""
    assert (
        await wire.call("ListTasks", {}, headers=bare, query={"A2A-Version": "7.0"})
    ).reason == "VERSION_NOT_SUPPORTED"


async def test_extensions_are_asked_for_by_header_and_unknown_ones_passed_over(wire):
    """§4.6.3, §3.3.4."""
    asked = {"a2a-extensions": f"https://nobody.example/x, {NEEDED}"}
    answer = await wire.at("needs-extension").call("SendMessage", saying("hi"), headers=asked)
    assert answer.task["status"]["state"] == "TASK_STATE_COMPLETED"
    assert "https://nobody.example/x" not in answer.response.headers.get("a2a-extensions", "")
    assert (
        await wire.call("SendMessage", saying("hi"), headers={"a2a-extensions": "https://nobody.example/x"})
    ).reason == ""


# --- §7, §13: who comes in, and what they see -------------------------------------------------------------------------


@GUARDED
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("token", [None, "made-up"])
async def test_without_a_good_token_nobody_comes_in(wire, method, token):
    """§7.4, §3.3.2: refused before anything else, with a challenge."""
    stranger = replace(wire, token=token)
    response = await wire.http.send(stranger.request(method, {"id": NOBODYS, "taskId": NOBODYS}, {}, {}))
    assert response.status_code == 401
    assert response.headers["www-authenticate"].startswith("Bearer")


@GUARDED
async def test_the_tasks_of_others_are_as_if_they_were_not(wire, door):
    """§13.1, §3.3.2."""
    task = await asking(wire)
    bob = replace(wire.at("asker"), token=door.bob)
    for method in ("GetTask", "CancelTask", "SubscribeToTask"):
        mine, nobodys = [await bob.call(method, {"id": task_id}) for task_id in (task["id"], NOBODYS)]
        assert (mine.reason, mine.error) == ("TASK_NOT_FOUND", nobodys.error)
    seen = {"last-event-id": f"{task['id']}:1"}
    assert (await bob.call("SubscribeToTask", {"id": task["id"]}, headers=seen)).reason == "TASK_NOT_FOUND"
    assert (await bob.call("SendMessage", saying("red", taskId=task["id"]))).reason == "TASK_NOT_FOUND"
    assert (await bob.call("ListTaskPushNotificationConfigs", {"taskId": task["id"]})).reason == "TASK_NOT_FOUND"
    assert (await bob.done("ListTasks", {"contextId": task["contextId"]})).result["totalSize"] == 0
    await wire.at("asker").done("CancelTask", {"id": task["id"]})


# --- §9: JSON-RPC alone -----------------------------------------------------------------------------------------------

GET = {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": NOBODYS}}
ENVELOPES = [
    (b"{", -32700, None),
    (b"[]", -32600, None),
    (json.dumps([GET]).encode(), -32600, None),
    (json.dumps(GET | {"jsonrpc": "1.0"}).encode(), -32600, 1),
    (json.dumps(GET | {"method": 5}).encode(), -32600, 1),
    (json.dumps(GET | {"id": {}}).encode(), -32600, None),
    (json.dumps(GET | {"method": "GetTaskNow"}).encode(), -32601, 1),
    (json.dumps(GET | {"method": "gettask"}).encode(), -32601, 1),
    (json.dumps(GET | {"params": [1]}).encode(), -32602, 1),
    (json.dumps(GET | {"params": {"id": 5}}).encode(), -32602, 1),
    (json.dumps(GET | {"id": "a-string"}).encode(), -32001, "a-string"),
    (json.dumps(GET | {"id": 0}).encode(), -32001, 0),
]


@pytest.mark.parametrize(("body", "code", "request_id"), ENVELOPES)
async def test_json_rpc_has_errors_of_its_own(door, body, code, request_id):
    """§9.3, §9.5; the id comes back as it was, and null where none could be read."""
    async with httpx.AsyncClient(trust_env=False) as http:
        headers = {"content-type": "application/json", "a2a-version": "1.0", **bearer(door.ann)}
        response = await http.post(f"{door.url}/agents/echo", content=body, headers=headers)
    assert (response.status_code, response.headers["content-type"]) == (200, "application/json")
    answer = response.json()
    assert (answer["jsonrpc"], answer["id"], answer["error"]["code"]) == ("2.0", request_id, code)
    assert answer["error"]["message"]


# --- §11: HTTP+JSON alone ---------------------------------------------------------------------------------------------

# Method, path, content type, body, status.
REQUESTS = [
    ("§11.3 no such path", "GET", "/message", None, None, 404),
    ("§11.3 wrong verb", "GET", "/message:send", None, None, 405),
    ("§11.3 wrong verb", "DELETE", "/tasks/x", None, None, 405),
    ("§11.3 subscribing by GET", "GET", "/tasks/x:subscribe", None, None, 404),
    ("§11.3 canceling without a body", "POST", "/tasks/x:cancel", None, None, 404),
    ("§11.3 canceling with a type alone", "POST", "/tasks/x:cancel", "application/json", None, 404),
    ("§11.1 either type", "POST", "/tasks/x:cancel", "application/json", b"{}", 404),
    ("§11.1 either type", "POST", "/tasks/x:cancel", "application/a2a+json", b"{}", 404),
    ("§11.1 with a charset", "POST", "/message:send", "application/a2a+json; charset=utf-8", b"{}", 400),
    ("§11.1 another type", "POST", "/message:send", "text/plain", b"{}", 415),
    ("§11.4 no JSON", "POST", "/message:send", "application/a2a+json", b"{", 400),
    ("§11.4 no object", "POST", "/message:send", "application/a2a+json", b"[]", 400),
    ("§11.4 nothing said", "POST", "/message:send", "application/a2a+json", b"{}", 400),
    ("§11.5 camelCase", "GET", "/tasks?pageSize=1", None, None, 200),
    ("§11.5 unknown ones are passed over", "GET", "/tasks?page_size=1&x=2", None, None, 200),
    ("§11.5 of the wrong type", "GET", "/tasks?pageSize=many", None, None, 400),
    ("§11.5 of the wrong type", "GET", "/tasks?includeArtifacts=yes", None, None, 400),
    ("§11.5 a state", "GET", "/tasks?status=TASK_STATE_WORKING", None, None, 200),
    ("§11.5 a time", "GET", "/tasks?statusTimestampAfter=2026-01-01T00:00:00.000Z", None, None, 200),
    ("§11.5 a time that is none", "GET", "/tasks?statusTimestampAfter=now", None, None, 400),
]  # fmt: skip


@pytest.mark.parametrize(
    ("verb", "path", "kind", "body", "status"), [row[1:] for row in REQUESTS], ids=[r[0] for r in REQUESTS]
)
async def test_paths_verbs_types_and_queries_mean_what_the_binding_says(door, verb, path, kind, body, status):
    headers = {"a2a-version": "1.0", **bearer(door.ann), **({"content-type": kind} if kind else {})}
    async with httpx.AsyncClient(trust_env=False) as http:
        response = await http.request(verb, f"{door.url}/agents/echo{path}", content=body, headers=headers)
    assert response.status_code == status
    if status >= 400:  # §11.6
        error = response.json()["error"]
        assert (error["code"], bool(error["message"]), error["status"].isupper()) == (status, True, True)


def test_each_method_has_a_place_here():
    """§5.3: the eleven of them."""
    assert len(METHODS) == 11
