"""Push configurations over both bindings: what is kept, what is said of it, and what is refused."""

import json

import httpx
import pytest
from a2a.types import a2a_pb2 as pb
from google.protobuf import json_format

from innkeeper.edge.app import Limits
from innkeeper.edge.page_tokens import token_from_position
from innkeeper.edge.push import INLINE, Push
from innkeeper.edge.service import Service
from innkeeper.edge.webhooks import Webhooks
from innkeeper.ports.push import PushConfig

pytestmark = pytest.mark.anyio

HOOK = "https://hooks.example/x"
WHOLE = {"id": "p1", "url": HOOK, "token": "tok", "authentication": {"scheme": "Bearer", "credentials": "s3cret"}}
SHOWN = {"id": "p1", "taskId": "t1", "url": HOOK, "authentication": {"scheme": "Bearer"}}
CONFIG = PushConfig(HOOK, "p1", "tok", "Bearer", "s3cret")
MESSAGE = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "hi"}]}
SENDS = ["SendMessage", "SendStreamingMessage"]


class FakeResolver:
    """Every name is at a public address but those inside."""

    def __init__(self):
        self.asked = []

    async def addresses(self, host):
        self.asked.append(host)
        return ["10.0.0.1"] if host.endswith(".inside") else ["93.184.215.14"]


@pytest.fixture
def resolver():
    return FakeResolver()


@pytest.fixture
def required():
    return False


@pytest.fixture
def edge(make_edge, engine, cards, resolver, required):
    service = Service(engine, cards, Push(Webhooks(resolver), required=required))
    return make_edge(service=service, limits=Limits(body_bytes=20_000))


async def rest(client, method, path, body=None):
    response = await client.request(method, f"/agents/hello{path}", json=body, headers={"a2a-version": "1.0"})
    if response.status_code == 200:
        return response.json()
    info = response.json()["error"]
    return {"error": (response.status_code, info["message"], info["details"][0]["reason"])}


async def over_rest(client, operation, params):
    """Do what a JSON-RPC method does, over HTTP+JSON; a refusal is (status, message, reason)."""
    params = dict(params)
    path = f"/tasks/{params.pop('taskId')}/pushNotificationConfigs"
    if operation == "Create":
        return await rest(client, "POST", path, params)
    if operation == "List":
        return await rest(client, "GET", f"{path}?{httpx.QueryParams(params)}")
    return await rest(client, {"Get": "GET", "Delete": "DELETE"}[operation], f"{path}/{params['id']}")


@pytest.fixture(params=["JSONRPC", "HTTP+JSON"])
def do(request, rpc, client):
    """Do an operation over a binding; a refusal is {"error": message}."""

    async def over_rpc(operation, params):
        name = f"{operation}TaskPushNotificationConfig{'s' * (operation == 'List')}"
        answer = await rpc(name, params)
        return answer["result"] if "result" in answer else {"error": answer["error"]["message"]}

    async def over_http(operation, params):
        answer = await over_rest(client, operation, params)
        return {"error": answer["error"][1]} if "error" in answer else answer

    return over_rpc if request.param == "JSONRPC" else over_http


# --- the four operations ----------------------------------------------------------------------------------------------


async def test_a_config_is_kept_whole_and_shown_without_its_secrets(do, engine):
    engine.add("t1")
    created = await do("Create", {"taskId": "t1", **WHOLE})
    assert engine.push_configs["t1"] == {"p1": CONFIG}
    got = await do("Get", {"taskId": "t1", "id": "p1"})
    listed = await do("List", {"taskId": "t1"})
    assert (created, got, listed) == (SHOWN, SHOWN, {"configs": [SHOWN], "nextPageToken": ""})
    json_format.ParseDict(created, pb.TaskPushNotificationConfig())
    json_format.ParseDict(listed, pb.ListTaskPushNotificationConfigsResponse())


async def test_a_config_without_an_id_gets_one_and_the_same_id_replaces(do, engine):
    engine.add("t1")
    assert (await do("Create", {"taskId": "t1", "url": HOOK})) == {"id": "t1", "taskId": "t1", "url": HOOK}
    await do("Create", {"taskId": "t1", "url": "https://other.example/"})
    assert [each["url"] for each in (await do("List", {"taskId": "t1"}))["configs"]] == ["https://other.example/"]


async def test_deleting_is_done_once_and_may_be_asked_twice(do, engine):
    engine.add("t1")
    await do("Create", {"taskId": "t1", **WHOLE})
    for _ in range(2):
        assert await do("Delete", {"taskId": "t1", "id": "p1"}) == {}
    assert (await do("List", {"taskId": "t1"}))["configs"] == []
    assert (await do("Get", {"taskId": "t1", "id": "p1"})) == {"error": "Push notification config not found"}


async def test_a_list_is_read_page_by_page(do, engine):
    engine.add("t1")
    for name in "cab":
        await do("Create", {"taskId": "t1", "id": name, "url": HOOK})
    first = await do("List", {"taskId": "t1", "pageSize": 2})
    second = await do("List", {"taskId": "t1", "pageSize": 2, "pageToken": first["nextPageToken"]})
    assert [[each["id"] for each in page["configs"]] for page in (first, second)] == [["a", "b"], ["c"]]
    assert second["nextPageToken"] == ""


BAD_PAGES = {
    "negative": {"pageSize": -1},
    "too many": {"pageSize": 101},
    "garbage": {"pageToken": "AAAA"},
    "no token": {"pageToken": "\u20ac"},
    "another task's": {"pageToken": token_from_position(b"a", "t2")},
    "made up": {"pageToken": token_from_position(b"\xff", "t1")},
}


@pytest.mark.parametrize("page", BAD_PAGES.values(), ids=BAD_PAGES)
async def test_a_page_that_there_cannot_be_is_refused(do, engine, page):
    engine.add("t1")
    words = {"pageSize": "pageSize must be 1 to 100", "pageToken": "pageToken is not one of this listing"}
    assert await do("List", {"taskId": "t1", **page}) == {"error": words[next(iter(page))]}
    assert engine.calls == []


@pytest.mark.parametrize("operation", ["Create", "Get", "List", "Delete"])
async def test_of_a_task_that_is_not_there_nothing_is_kept_or_told(do, engine, resolver, operation):
    assert await do(operation, {"taskId": "t9", "id": "p1", "url": HOOK}) == {"error": "Task not found"}
    assert (engine.push_configs, resolver.asked) == ({}, [])


@pytest.mark.parametrize("operation", ["Create", "Get", "List", "Delete"])
async def test_a_request_names_its_task(rpc, engine, operation):
    name = f"{operation}TaskPushNotificationConfig{'s' * (operation == 'List')}"
    error = (await rpc(name, {"id": "p1", "url": HOOK}))["error"]
    assert (error["code"], error["message"], engine.calls) == (-32602, "taskId is required", [])


@pytest.mark.parametrize("operation", ["Get", "Delete"])
async def test_a_request_about_a_config_names_it(rpc, engine, operation):
    error = (await rpc(f"{operation}TaskPushNotificationConfig", {"taskId": "t1"}))["error"]
    assert (error["code"], error["message"], engine.calls) == (-32602, "id is required", [])


# --- what is no config ------------------------------------------------------------------------------------------------

PRINTABLE = "must be printable ASCII, as it is sent in a header"
SCHEME = "authentication.scheme must be the name of an HTTP authentication scheme"

WRONG_FIELDS = {
    "no url": ({"url": ""}, "url is required"),
    "a long url": ({"url": f"https://hooks.example/{'x' * 2048}"}, "url is longer than 2048 characters"),
    "a long id": ({"id": "x" * 257}, "id is longer than 256 characters"),
    "a long token": ({"token": "x" * 4097}, "token is longer than 4096 characters"),
    "a token of two lines": ({"token": "a\r\nx: y"}, f"token {PRINTABLE}"),
    "a token that ends a line": ({"token": "a\n"}, f"token {PRINTABLE}"),
    "a blank token": ({"token": " "}, f"token {PRINTABLE}"),
    "a token beyond ASCII": ({"token": "\u00e9"}, f"token {PRINTABLE}"),
    "no scheme": ({"authentication": {"credentials": "s3cret"}}, SCHEME),
    "an empty authentication": ({"authentication": {}}, SCHEME),
    "a scheme of two words": ({"authentication": {"scheme": "a b"}}, SCHEME),
    "a scheme of two lines": ({"authentication": {"scheme": "a\r\nb"}}, SCHEME),
    "a long scheme": ({"authentication": {"scheme": "x" * 257}}, "authentication.scheme is longer than 256 characters"),
    "credentials of two lines": (
        {"authentication": {"scheme": "Bearer", "credentials": "s3cret\nx: y"}},
        f"authentication.credentials {PRINTABLE}",
    ),
    "long credentials": (
        {"authentication": {"scheme": "Bearer", "credentials": "x" * 4097}},
        "authentication.credentials is longer than 4096 characters",
    ),
}
WRONG_URLS = {
    "relative": ({"url": "/x"}, "url is not an absolute URL without credentials"),
    "with credentials": ({"url": "https://u:p@hooks.example/"}, "url is not an absolute URL without credentials"),
    "http": ({"url": "http://hooks.example/"}, "url does not begin with https://"),
    "a port": ({"url": "https://hooks.example:22/"}, "url has a port that is not for this"),
    "loopback": ({"url": "https://127.0.0.1/"}, "url leads to an address that is not allowed"),
    "metadata": ({"url": "https://169.254.169.254/"}, "url leads to an address that is not allowed"),
    "a name inside": ({"url": "https://db.inside/"}, "url leads to an address that is not allowed"),
}
WRONG = WRONG_FIELDS | WRONG_URLS


@pytest.mark.parametrize(("fields", "words"), WRONG.values(), ids=WRONG)
async def test_a_config_that_cannot_be_is_not_kept(do, engine, fields, words):
    engine.add("t1")
    assert await do("Create", {"taskId": "t1", "url": HOOK, **fields}) == {"error": words}
    assert engine.push_configs == {}


@pytest.mark.parametrize("method", SENDS)
@pytest.mark.parametrize(("fields", "words"), WRONG.values(), ids=WRONG)
async def test_a_message_with_a_config_that_cannot_be_never_reaches_the_engine(rpc, engine, method, fields, words):
    configuration = {"taskPushNotificationConfig": {"url": HOOK, **fields}}
    error = (await rpc(method, {"message": MESSAGE, "configuration": configuration}))["error"]
    assert (error["code"], error["message"]) == (-32602, INLINE + words)
    assert engine.calls == []


# --- with a message ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/message:send", "/message:stream"])
async def test_a_message_brings_its_config_over_both_bindings(client, engine, new_watch, path):
    params = {"message": MESSAGE, "configuration": {"taskPushNotificationConfig": WHOLE}}
    rpc_request = {"jsonrpc": "2.0", "id": 1, "method": SENDS[path.endswith("stream")], "params": params}
    for where, body in (("", rpc_request), (path, params)):
        engine.watch_next = new_watch()
        await client.post(f"/agents/hello{where}", json=body)
    submissions = [call[3] for call in engine.calls if call[0].startswith("submit")]
    assert [submission.push for submission in submissions] == [CONFIG, CONFIG]
    assert len({(submission.body, submission.digest) for submission in submissions}) == 1


async def test_a_message_without_a_config_brings_none(rpc, engine):
    await rpc("SendMessage", {"message": MESSAGE, "configuration": {}})
    assert engine.calls[0][3].push is None


@pytest.mark.parametrize(
    ("message", "config", "words"),
    [
        ({}, {"taskId": "t1"}, "taskId contradicts the message"),
        ({"taskId": "t1"}, {"taskId": "t2"}, "taskId contradicts the message"),
        ({}, {"tenant": "mute"}, "tenant contradicts the request"),
        ({"taskId": "t1"}, {"taskId": "t1"}, None),
        ({"taskId": "t1"}, {"tenant": "hello"}, None),
    ],
)
async def test_a_config_may_say_again_what_its_message_says_in_the_same_words(rpc, engine, message, config, words):
    configuration = {"taskPushNotificationConfig": {"url": HOOK, **config}}
    answer = await rpc("SendMessage", {"message": MESSAGE | message, "configuration": configuration})
    assert answer.get("error", {}).get("message") == (words and INLINE + words)
    assert bool(engine.calls) is (words is None)


REQUIRED = [
    ({}, "url is required"),
    ({"taskPushNotificationConfig": {}}, "url is required"),
    ({"taskPushNotificationConfig": {"token": "tok"}}, "url is required"),
    ({"taskPushNotificationConfig": {"url": HOOK}}, "token is required"),
    ({"taskPushNotificationConfig": {"url": "/x"}}, "token is required"),
    ({"taskPushNotificationConfig": {"url": "/x", "token": "tok"}}, "url is not an absolute URL without credentials"),
    ({"taskPushNotificationConfig": {"url": HOOK, "token": "tok"}}, None),
]


@pytest.mark.parametrize("required", [True])
@pytest.mark.parametrize(("configuration", "words"), REQUIRED)
async def test_where_push_is_required_a_message_says_url_and_token(rpc, engine, configuration, words):
    answer = await rpc("SendMessage", {"message": MESSAGE, "configuration": configuration})
    assert answer.get("error", {}).get("message") == (words and INLINE + words)
    assert answer.get("error", {}).get("code", -32602) == -32602
    assert bool(engine.calls) is (words is None)


@pytest.mark.parametrize("required", [True])
async def test_who_streams_needs_no_push(client, engine, new_watch):
    engine.watch_next = new_watch()
    await client.post(
        "/agents/hello",
        json={"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": {"message": MESSAGE}},
    )
    assert engine.calls[0][3].push is None


# --- secrets ----------------------------------------------------------------------------------------------------------


async def test_secrets_are_in_no_refusal_and_in_no_log(rpc, engine, caplog):
    caplog.set_level("DEBUG")
    engine.add("t1")
    engine.error = RuntimeError("the store fails")
    answers = [
        await rpc("CreateTaskPushNotificationConfig", {"taskId": "t1", **WHOLE}),
        await rpc("CreateTaskPushNotificationConfig", {"taskId": "t1", **WHOLE, "token": "tok\n"}),
        await rpc("SendMessage", {"message": MESSAGE, "configuration": {"taskPushNotificationConfig": WHOLE}}),
    ]
    assert all("error" in answer for answer in answers)
    told = json.dumps(answers) + caplog.text
    assert "the store fails" in caplog.text
    assert "s3cret" not in told
    assert "tok\\n" not in told
