"""Each operation: what it asks of the engine and what it answers."""

import json

import pytest
from a2a.types import a2a_pb2 as pb
from google.protobuf import json_format

from innkeeper.contract.errors import Unavailable
from innkeeper.ports.events import State
from innkeeper.ports.store import TaskQuery

pytestmark = pytest.mark.anyio


# --- SendMessage ------------------------------------------------------------------------------------------------------


async def test_a_message_is_submitted_and_answered_when_its_task_has_settled(rpc, engine, message):
    answer = await rpc("SendMessage", message("hi", contextId="c1", taskId="t9", metadata={"k": 1}))
    assert engine.names == ["submit", "until_settled", "find"]
    _, tenant, caller, submission = engine.calls[0]
    assert (tenant, caller) == ("hello", "anonymous")
    assert (submission.message_id, submission.task_id, submission.context_id) == ("m1", "t9", "c1")
    assert json.loads(submission.body)["parts"] == [{"text": "hi"}]
    assert submission.metadata == {"k": 1}
    response = json_format.ParseDict(answer["result"], pb.SendMessageResponse())
    assert response.task.status.state == pb.TASK_STATE_COMPLETED


async def test_a_message_that_should_not_wait_does_not(rpc, engine, message):
    await rpc("SendMessage", message(configuration={"returnImmediately": True}))
    assert engine.names == ["submit", "find"]


LENGTHS = [
    (None, None),
    ({}, None),
    ({"historyLength": 0}, 0),
    ({"historyLength": 1}, 1),
    ({"historyLength": 2**31 - 1}, 2**31 - 1),
]


@pytest.mark.parametrize(("configuration", "asked"), LENGTHS)
async def test_the_history_is_as_long_as_asked(rpc, engine, message, configuration, asked):
    answer = await rpc("SendMessage", message(configuration=configuration))
    assert engine.calls[-1] == ("find", "hello", "anonymous", "t1", asked)
    assert len(answer["result"]["task"].get("history", [])) == min(2, 2 if asked is None else asked)


REFUSED_MESSAGES = [
    ({"role": "ROLE_AGENT"}, None, -32602),
    ({"role": "ROLE_UNSPECIFIED"}, None, -32602),
    ({"messageId": ""}, None, -32602),
    ({"parts": []}, None, -32602),
    ({"parts": [{}]}, None, -32602),
    ({}, {"historyLength": -1}, -32602),
    ({}, {"taskPushNotificationConfig": {"url": "https://hooks.example/x"}}, -32003),
    ({}, {"taskPushNotificationConfig": {}}, -32003),
]


@pytest.mark.parametrize("method", ["SendMessage", "SendStreamingMessage"])
@pytest.mark.parametrize("refused", REFUSED_MESSAGES)
async def test_a_message_that_cannot_be_taken_never_reaches_the_engine(rpc, engine, message, method, refused):
    fields, configuration, code = refused
    assert (await rpc(method, message(configuration=configuration, **fields)))["error"]["code"] == code
    assert engine.calls == []


async def test_a_host_that_stops_while_a_caller_waits_is_unavailable(client, engine, message):
    async def stop(task_id):
        raise Unavailable("The host is stopping")

    engine.until_settled = stop
    response = await client.post(
        "/agents/hello", json={"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": message()}
    )
    assert response.status_code == 503


# --- GetTask, CancelTask ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "kept"), [({}, 2), ({"historyLength": 0}, 0), ({"historyLength": 1}, 1), ({"historyLength": 9}, 2)]
)
async def test_a_task_is_read_with_the_history_asked_for(rpc, engine, asked, kept):
    engine.add("t1")
    task = json_format.ParseDict((await rpc("GetTask", {"id": "t1", **asked}))["result"], pb.Task())
    assert (task.id, task.context_id, len(task.history)) == ("t1", "c1", kept)


async def test_a_task_is_canceled_and_read(rpc, engine):
    engine.add("t1", State.WORKING)
    task = (await rpc("CancelTask", {"id": "t1"}))["result"]
    assert task["status"]["state"] == "TASK_STATE_CANCELED"
    assert engine.calls[0] == ("cancel", "hello", "anonymous", "t1")


@pytest.mark.parametrize("method", ["GetTask", "CancelTask", "SubscribeToTask"])
async def test_a_task_that_is_not_the_callers_is_not_found(rpc, method):
    assert (await rpc(method, {"id": "other"}))["error"]["code"] == -32001


@pytest.mark.parametrize("method", ["GetTask", "CancelTask", "SubscribeToTask"])
@pytest.mark.parametrize("params", [{}, {"id": ""}])
async def test_an_id_is_required(rpc, engine, method, params):
    error = (await rpc(method, params))["error"]
    assert (error["code"], error["message"]) == (-32602, "id is required")
    assert engine.calls == []


@pytest.mark.parametrize("method", ["GetTask", "ListTasks"])
async def test_a_negative_history_is_refused(rpc, engine, method):
    assert (await rpc(method, {"id": "t1", "historyLength": -1}))["error"]["code"] == -32602
    assert engine.calls == []


# --- ListTasks --------------------------------------------------------------------------------------------------------


async def test_a_list_has_all_its_fields_even_when_empty(rpc):
    assert (await rpc("ListTasks", {}))["result"] == {"tasks": [], "nextPageToken": "", "pageSize": 50, "totalSize": 0}


QUERIES = [
    ({}, TaskQuery(history_length=None)),
    ({"pageSize": 1}, TaskQuery(limit=1, history_length=None)),
    ({"pageSize": 100}, TaskQuery(limit=100, history_length=None)),
    ({"contextId": "c1"}, TaskQuery(context_id="c1", history_length=None)),
    ({"status": "TASK_STATE_WORKING"}, TaskQuery(state=State.WORKING, history_length=None)),
    ({"status": "TASK_STATE_UNSPECIFIED"}, TaskQuery(history_length=None)),
    ({"historyLength": 0}, TaskQuery(history_length=0)),
    ({"historyLength": 3, "includeArtifacts": True}, TaskQuery(history_length=3, artifacts=True)),
    ({"statusTimestampAfter": "1970-01-01T00:00:00Z"}, TaskQuery(status_since_us=0, history_length=None)),
    ({"statusTimestampAfter": "1970-01-01T00:00:01.000002Z"}, TaskQuery(status_since_us=1000002, history_length=None)),
    ({"statusTimestampAfter": "1970-01-01T00:00:01.0000011Z"}, TaskQuery(status_since_us=1000002, history_length=None)),
]  # fmt: skip


@pytest.mark.parametrize(("params", "query"), QUERIES)
async def test_a_list_asks_for_what_the_request_says(rpc, engine, params, query):
    await rpc("ListTasks", params)
    assert engine.calls == [("list", "hello", "anonymous", query)]


@pytest.mark.parametrize("size", [0, -1, 101, 2**31 - 1])
async def test_a_page_size_out_of_range_is_refused(rpc, engine, size):
    error = (await rpc("ListTasks", {"pageSize": size}))["error"]
    assert error["code"] == -32602
    assert "pageSize" in error["message"]
    assert engine.calls == []


@pytest.fixture
async def token(rpc, engine):
    for name in ("t1", "t2", "t3"):
        engine.add(name)
    page = (await rpc("ListTasks", {"pageSize": 2, "contextId": "c1"}))["result"]
    assert (len(page["tasks"]), page["totalSize"]) == (2, 3)
    engine.calls.clear()
    return page["nextPageToken"]


async def test_a_token_continues_after_the_last_task_of_its_page(rpc, engine, token):
    await rpc("ListTasks", {"pageSize": 50, "contextId": "c1", "pageToken": token, "includeArtifacts": True})
    (query,) = [call[-1] for call in engine.calls]
    assert (query.after, query.context_id, query.limit) == ((1_700_000_000_000_000, "t2"), "c1", 50)


@pytest.mark.parametrize(
    "other",
    [{}, {"contextId": "c2"}, {"contextId": "c1", "status": "TASK_STATE_WORKING"},
     {"contextId": "c1", "statusTimestampAfter": "2024-01-01T00:00:00Z"}],
)  # fmt: skip
async def test_a_token_of_another_listing_is_refused(rpc, engine, token, other):
    assert (await rpc("ListTasks", {"pageToken": token, **other}))["error"]["code"] == -32602
    assert engine.calls == []


async def test_a_token_of_another_tenant_is_refused(rpc, engine, token):
    answer = await rpc("ListTasks", {"pageToken": token, "contextId": "c1"}, path="/agents/mute")
    assert answer["error"]["code"] == -32602
    assert engine.calls == []


MADE_UP = [
    lambda token: token[:-1],
    lambda token: "A" + token[1:],
    lambda token: token[:22] + "AAAA",
    lambda token: token + "AAAA",
    *(lambda _, text=text: text for text in ("0", "50", "\u00e9", "A", "\0", "A" * 400, "====")),
]


@pytest.mark.parametrize("change", MADE_UP)
async def test_a_token_made_up_is_refused(rpc, engine, token, change):
    error = (await rpc("ListTasks", {"pageToken": change(token), "contextId": "c1"}))["error"]
    assert (error["code"], error["message"]) == (-32602, "pageToken is not one of this listing")
    assert engine.calls == []


# --- cards and push ---------------------------------------------------------------------------------------------------


async def test_the_card_tells_the_way_it_was_asked_for(rpc, client):
    under_path = (await rpc("GetExtendedAgentCard", {}))["result"]
    by_name = (await rpc("GetExtendedAgentCard", {"tenant": "hello"}, path="/a2a"))["result"]
    assert [i.get("tenant", "") for i in under_path["supportedInterfaces"]] == ["", ""]
    assert [i.get("tenant", "") for i in by_name["supportedInterfaces"]] == ["hello", "hello"]
    assert under_path == (await client.get("/agents/hello/.well-known/agent-card.json")).json()


PUSH = ["CreateTaskPushNotificationConfig", "GetTaskPushNotificationConfig", "ListTaskPushNotificationConfigs",
        "DeleteTaskPushNotificationConfig"]  # fmt: skip


@pytest.mark.parametrize("method", PUSH)
async def test_push_is_not_supported(rpc, engine, method):
    assert (await rpc(method, {"taskId": "t1", "id": "p1"}))["error"]["code"] == -32003
    assert (await rpc(method, {"taskId": 5}))["error"]["code"] == -32602
    assert engine.calls == []
