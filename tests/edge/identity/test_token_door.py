"""Tokens of the host at the wire: who is let in, as whom, and that what is wrong is not told."""

import json
from dataclasses import replace

import pytest

from innkeeper.contract.caller import Caller
from innkeeper.contract.errors import Unavailable
from innkeeper.edge.http import Exchange
from innkeeper.edge.identity.api_tokens import is_valid, new_secret, new_token_id, split
from innkeeper.edge.identity.token_door import EitherDoor, TokenDoor
from innkeeper.ports.clock import World
from innkeeper.ports.tokens import ApiToken

pytestmark = pytest.mark.anyio

NOW_US = 1_800_000_000_000_000


class FakeTokens:
    def __init__(self):
        self.tokens = {}
        self.asked = []
        self.error = None

    def issue(self, caller="ann", tenants=("hello",), **more):
        token_id = new_token_id()
        secret = new_secret(token_id)
        token = ApiToken(
            id=token_id, name="Ann", caller=caller, tenants=tuple(tenants), created_at_us=0, digest=secret.digest,
            **{"operator": False, "expires_at_us": None, **more},
        )  # fmt: skip
        self.tokens[token_id] = token
        return secret.text

    async def find(self, token_id):
        self.asked.append(token_id)
        if self.error is not None:
            raise self.error
        return self.tokens.get(token_id)


@pytest.fixture
def tokens():
    return FakeTokens()


@pytest.fixture
def token_door(tokens):
    return TokenDoor(tokens, World(now_us=lambda: NOW_US))


@pytest.fixture
def ask(open_wire, make_edge, token_door):
    async def asking(token, body=None, path="/a2a", method="POST", **parts):
        app = make_edge(**{"door": token_door, "public_tenant_cards": False, "tenants": ("hello", "mute"), **parts})
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        wire = open_wire(path, app=app, method=method, headers=headers)
        if body is None:
            wire.scope["headers"] = [pair for pair in wire.scope["headers"] if pair[0] != b"transfer-encoding"]
        else:
            wire.say(json.dumps({"jsonrpc": "2.0", "id": 1, **body}).encode())
        await wire.run()
        return wire

    return asking


async def test_a_token_lets_its_caller_in(ask, tokens, engine):
    engine.add("t1")
    wire = await ask(tokens.issue(caller="ann"), {"method": "GetTask", "params": {"tenant": "hello", "id": "t1"}})
    assert json.loads(wire.body)["result"]["id"] == "t1"
    assert engine.calls[0][:3] == ("find", "hello", "ann")


def other_secret(text):
    return text[:-43] + new_secret("0" * 12).text[-43:]


@pytest.mark.parametrize(
    "spoil",
    [
        other_secret,
        lambda text: text[:-1],
        lambda text: f"{text}A",
        lambda text: text.upper(),
        lambda text: text.removeprefix("ink_"),
        lambda text: f"ink_{'0' * 12}{text[16:]}",
        lambda _: "ink_",
        lambda _: "e30.e30.e30",
        lambda _: "é" * 60,
    ],
)
async def test_whatever_is_wrong_with_a_token_the_answer_is_the_same(ask, tokens, engine, spoil):
    wrong, unknown = await ask(spoil(tokens.issue())), await ask(new_secret(new_token_id()).text)
    assert (wrong.sent, wrong.taken) == (unknown.sent, 0)
    assert (wrong.status, wrong.headers[b"www-authenticate"]) == (401, b'Bearer error="invalid_token"')
    assert json.loads(wrong.body)["error"]["message"] == "The token is not valid"
    assert engine.calls == []


async def test_without_a_token_there_is_none_to_be_wrong(ask, tokens):
    wire = await ask(None)
    assert (wire.status, wire.headers[b"www-authenticate"], wire.taken) == (401, b"Bearer", 0)
    assert json.loads(wire.body)["error"]["message"] == "A bearer token is required"
    assert tokens.asked == []


async def test_an_expired_token_is_no_token(ask, tokens):
    body = {"method": "ListTasks", "params": {"tenant": "hello"}}
    assert (await ask(tokens.issue(expires_at_us=NOW_US + 1), body)).status == 200
    assert (await ask(tokens.issue(expires_at_us=NOW_US), body)).status == 401


async def test_the_secret_before_the_last_rotation_works_for_a_while(tokens):
    old = tokens.issue()
    token_id, old_digest = split(old)
    new = new_secret(token_id)
    token = replace(tokens.tokens[token_id], digest=new.digest, previous_digest=old_digest, previous_until_us=NOW_US)
    assert is_valid(token, new.digest, NOW_US)
    assert is_valid(token, old_digest, NOW_US - 1)
    assert not is_valid(token, old_digest, NOW_US)
    assert not is_valid(replace(token, expires_at_us=NOW_US - 1), old_digest, NOW_US - 1)
    assert not is_valid(token, bytes(32), 0)


async def test_a_token_without_a_secret_before_has_none_that_is_empty(tokens):
    token_id, _ = split(tokens.issue())
    assert not is_valid(replace(tokens.tokens[token_id], previous_until_us=NOW_US + 1), bytes(32), NOW_US)


METHODS = [
    "SendMessage", "SendStreamingMessage", "GetTask", "ListTasks", "CancelTask", "SubscribeToTask",
    "GetExtendedAgentCard", "CreateTaskPushNotificationConfig", "GetTaskPushNotificationConfig",
    "ListTaskPushNotificationConfigs", "DeleteTaskPushNotificationConfig",
]  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
async def test_a_tenant_that_is_not_the_callers_looks_like_one_that_is_not_there(ask, tokens, engine, method):
    token = tokens.issue()
    for path, named in (("/a2a", True), ("/agents/{}", False)):
        answers = []
        for tenant in ("mute", "nobody"):
            params = {"tenant": tenant} if named else {}
            wire = await ask(token, {"method": method, "params": params}, path=path.format(tenant))
            answers.append((wire.status, wire.headers, wire.body))
        assert answers[0] == answers[1]
        error = json.loads(answers[0][2])["error"]
        assert (answers[0][0], error["code"], error["message"]) == (200, -32602, "unknown tenant")
    assert engine.calls == []


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/message:send"),
        ("GET", "/tasks"),
        ("GET", "/tasks/t1"),
        ("POST", "/tasks/t1:cancel"),
        ("GET", "/tasks/t1:subscribe"),
        ("DELETE", "/tasks/t1/pushNotificationConfigs/c1"),
        ("GET", "/extendedAgentCard"),
        ("GET", "/.well-known/agent-card.json"),
    ],
)
async def test_over_http_it_looks_like_a_path_that_leads_nowhere(ask, tokens, engine, method, path):
    wires = [await ask(tokens.issue(), path=f"/agents/{tenant}{path}", method=method) for tenant in ("mute", "nobody")]
    assert [(wire.status, wire.body) for wire in wires] == [(404, wires[0].body)] * 2
    assert engine.calls == []


class Inner:
    async def __call__(self, scope, receive, send):
        told = [scope["innkeeper.caller"].key, scope["innkeeper.tenants"]]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": json.dumps(told).encode()})


async def test_an_operator_is_let_in_everywhere(ask, tokens):
    operator = tokens.issue(caller="root", tenants=(), operator=True)
    wire = await ask(operator, {"method": "ListTasks", "params": {"tenant": "mute"}})
    assert "result" in json.loads(wire.body)
    page = await ask(operator, path="/plugins.json", method="GET", inner=Inner())
    assert json.loads(page.body) == ["root", ["hello", "mute"]]


async def test_what_is_of_the_whole_host_is_for_operators(ask, tokens):
    wire = await ask(tokens.issue(), path="/plugins.json", method="GET", inner=Inner())
    assert (wire.status, json.loads(wire.body)["error"]["status"]) == (403, "PERMISSION_DENIED")
    page = await ask(tokens.issue(tenants=("hello", "gone")), path="/plugins/x/", method="GET", inner=Inner())
    assert json.loads(page.body) == ["ann", ["hello"]]


async def test_while_no_token_can_be_looked_up_it_is_not_the_callers_fault(ask, tokens):
    token = tokens.issue()
    tokens.error = Unavailable("The host cannot read this now")
    wire = await ask(token)
    assert (wire.status, wire.headers[b"retry-after"]) == (503, b"1")


async def test_in_gateway_mode_tokens_of_the_host_open_its_pages_only(ask, tokens, door, token_door, token):
    either = {"door": door, "pages_door": EitherDoor(token_door, door), "inner": Inner()}
    operator = tokens.issue(caller="root", tenants=(), operator=True)
    assert (await ask(operator, **either)).status == 401
    assert (await ask(operator, path="/plugins.json", method="GET", **either)).status == 200
    assert (await ask(token(), path="/plugins.json", method="GET", **either)).status == 403
    assert json.loads((await ask(token(), path="/plugins/x/", method="GET", **either)).body) == [
        "remote:1:ann",
        ["hello"],
    ]
    assert (await ask(None, path="/plugins/x/", method="GET", **either)).status == 401


async def test_a_caller_is_shown_by_the_name_that_the_token_was_given(tokens, token_door):
    headers = [(b"authorization", f"Bearer {tokens.issue()}".encode())]
    admission = await token_door.admit(Exchange({"method": "GET", "path": "/", "headers": headers}, None, None))
    assert admission.caller == Caller("ann", "Ann", "token")
