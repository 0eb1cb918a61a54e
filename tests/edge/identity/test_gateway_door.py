"""Gateway mode at the wire: the order of checks, the answers to the letter, and that nothing comes after a refusal."""

import json

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from innkeeper.contract.caller import Caller
from innkeeper.edge.http import Exchange, Refusal
from innkeeper.edge.identity.gateway_door import ClaimedTenant, GatewayDoor
from innkeeper.testing.tokens import ABSENT, IDENTITY_CLAIM, TENANT_CLAIM

pytestmark = pytest.mark.anyio

CHALLENGE = b'Bearer error="invalid_token"'
PLAIN = b"text/plain; charset=utf-8"
SEND = {"message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "hi"}]}}
METHODS = [
    ("SendMessage", SEND),
    ("SendStreamingMessage", SEND),
    ("GetTask", {"id": "t1"}),
    ("ListTasks", {}),
    ("CancelTask", {"id": "t1"}),
    ("SubscribeToTask", {"id": "t1"}),
    ("GetExtendedAgentCard", {}),
    ("CreateTaskPushNotificationConfig", {"taskId": "t1"}),
    ("GetTaskPushNotificationConfig", {"taskId": "t1", "id": "c1"}),
    ("ListTaskPushNotificationConfigs", {"taskId": "t1"}),
    ("DeleteTaskPushNotificationConfig", {"taskId": "t1", "id": "c1"}),
    ("NoSuchMethod", {}),
]
REST = [
    ("POST", "/message:send"),
    ("POST", "/message:stream"),
    ("GET", "/tasks"),
    ("GET", "/tasks/t1"),
    ("HEAD", "/tasks/t1"),
    ("POST", "/tasks/t1:cancel"),
    ("GET", "/tasks/t1:subscribe"),
    ("POST", "/tasks/t1:subscribe"),
    ("GET", "/tasks/t1/pushNotificationConfigs"),
    ("POST", "/tasks/t1/pushNotificationConfigs"),
    ("GET", "/tasks/t1/pushNotificationConfigs/c1"),
    ("DELETE", "/tasks/t1/pushNotificationConfigs/c1"),
    ("GET", "/extendedAgentCard"),
    ("GET", "/.well-known/agent-card.json"),
]


@pytest.fixture
def guarded(make_edge, door):
    return make_edge(door=door, unversioned="0.3", public_tenant_cards=False)


@pytest.fixture
def ask(open_wire, guarded):
    """Send a request with an Authorization header; None for the body means that there is none to be had."""

    async def asking(authorization, body=None, path="/a2a", method="POST", version="1.0"):
        headers = {} if authorization is None else {"authorization": authorization}
        if version is not None:
            headers["a2a-version"] = version
        wire = open_wire(path, app=guarded, method=method, headers=headers)
        if body is None:
            wire.scope["headers"] = [pair for pair in wire.scope["headers"] if pair[0] != b"transfer-encoding"]
        else:
            wire.say(body)
        await wire.run()
        return wire

    return asking


def request(method, params):
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


def assert_unauthorized(wire, *reasons):
    text = wire.body.decode()
    assert (wire.status, wire.headers[b"www-authenticate"], wire.headers[b"content-type"]) == (401, CHALLENGE, PLAIN)
    assert text.startswith("unauthorized: ")
    for reason in reasons:
        assert reason in text


@pytest.mark.parametrize("authorization", [None, "", "Bearer", "Bearer ", "Basic abc", "Bearerabc", "token abc", "abc"])
async def test_1_without_a_bearer_token_nothing_is_looked_at(ask, source, engine, authorization):
    wire = await ask(authorization)
    assert_unauthorized(wire, "missing gateway bearer token")
    assert (wire.taken, source.fetched, engine.calls) == (0, [], [])


async def test_1_of_two_tokens_none_counts(open_wire, guarded, token, source):
    wire = open_wire("/a2a", app=guarded, headers={"authorization": f"Bearer {token()}"})
    wire.scope["headers"] = [pair for pair in wire.scope["headers"] if pair[0] != b"transfer-encoding"]
    wire.scope["headers"].append((b"authorization", f"Bearer {token()}".encode()))
    await wire.run()
    assert_unauthorized(wire, "missing gateway bearer token")
    assert source.fetched == []


@pytest.mark.parametrize("scheme", ["Bearer ", "bearer ", "BEARER   ", " Bearer\t", "bEaReR \t "])
async def test_1_the_scheme_has_no_case_and_any_space_behind_it(ask, token, scheme):
    wire = await ask(scheme + token() + "  ", request("ListTasks", {"tenant": "hello"}))
    assert "result" in json.loads(wire.body)


@pytest.mark.parametrize(
    ("more", "reason", "fetches"),
    [
        ({"header": {"jku": "https://evil.example/"}}, "jku is not at an allowed gateway", 0),
        ({"header": {"kid": "other"}}, "no key of this kid", 1),
        ({"claims": {"exp": 1}}, "has expired", 1),
        ({"audience": "https://other.example/a2a"}, "another audience", 1),
    ],
)
async def test_2_a_token_that_does_not_verify_is_refused_before_the_body_is_read(
    ask, token, source, engine, more, reason, fetches
):
    wire = await ask(f"Bearer {token(**more)}")
    assert_unauthorized(wire, reason)
    assert (wire.taken, len(source.fetched), engine.calls) == (0, fetches, [])


async def test_2_while_the_gateway_has_no_keys_to_show_it_is_not_the_callers_fault(ask, token, source):
    source.broken = "down"
    wire = await ask(f"Bearer {token()}")
    assert (wire.status, wire.headers[b"retry-after"], wire.taken) == (503, b"30", 0)


class BrokenVerifier:
    async def verify(self, text):
        raise RuntimeError("sk-secret")


async def test_2_a_door_that_breaks_stays_shut_and_says_nothing_of_why(open_wire, make_edge, caplog):
    wire = open_wire("/a2a", app=make_edge(door=GatewayDoor(BrokenVerifier())), headers={"authorization": "Bearer x"})
    wire.say(b"")
    await wire.run()
    assert_unauthorized(wire, "verification failed")
    assert "secret" not in wire.body.decode()
    assert "sk-secret" in caplog.text


@pytest.mark.parametrize("identity", [ABSENT, None, [{"key": "k"}], {}, {"key": ""}, {"key": 7}])
@pytest.mark.parametrize("tenant", ["hello", "nobody", ABSENT])
async def test_3_an_identity_without_a_key_is_refused_before_the_body_is_read(ask, token, engine, identity, tenant):
    wire = await ask(f"Bearer {token(claims={IDENTITY_CLAIM: identity, TENANT_CLAIM: tenant})}")
    assert (wire.status, wire.headers[b"content-type"], wire.body) == (400, PLAIN, b"identity missing key")
    assert (wire.taken, engine.calls) == (0, [])


@pytest.mark.parametrize(
    ("body", "code"), [(b"{", -32700), (b"", -32700), (b"[]", -32600), (b"3", -32600), (b"null", -32600)]
)
async def test_4_a_body_that_is_no_request_is_an_answer_of_the_binding(ask, token, engine, body, code):
    wire = await ask(f"Bearer {token()}", body)
    answer = json.loads(wire.body)
    assert (wire.status, answer["id"], answer["error"]["code"], engine.calls) == (200, None, code, [])


@pytest.mark.parametrize("params", [{}, {"tenant": ""}, {"tenant": None}, {"tenant": 3}, {"tenant": ["hello"]}])
@pytest.mark.parametrize("claim", ["hello", "other", ABSENT])
async def test_5_a_request_must_name_a_tenant(ask, token, engine, params, claim):
    wire = await ask(f"Bearer {token(claims={TENANT_CLAIM: claim})}", request("ListTasks", params))
    error = json.loads(wire.body)["error"]
    assert (wire.status, error["code"], engine.calls) == (200, -32602, [])
    assert "params.tenant is required" in error["message"]
    assert "GetExtendedAgentCard" in error["message"]


@pytest.mark.parametrize(("method", "params"), METHODS)
@pytest.mark.parametrize(("claim", "named"), [("hello", "hello"), (ABSENT, "<none>"), ("", "<none>"), (3, "<none>")])
@pytest.mark.parametrize("addressed", ["mute", "nobody", "toString", "Hello", "hello "])
async def test_6_a_token_for_another_tenant_is_refused_whatever_the_method(
    ask, token, engine, method, params, claim, named, addressed
):
    wire = await ask(
        f"Bearer {token(claims={TENANT_CLAIM: claim})}", request(method, {**params, "tenant": addressed}), version=None
    )
    assert_unauthorized(wire, f"authorizes tenant '{named}'", f"'{addressed}'")
    assert engine.calls == []


@pytest.mark.parametrize("tenant", ["mute", "nobody"])
@pytest.mark.parametrize(("method", "path"), [("POST", ""), ("POST", "/"), *REST])
async def test_6_a_path_that_names_another_tenant_is_refused_before_the_body_is_read(
    ask, token, engine, tenant, method, path
):
    wire = await ask(f"Bearer {token()}", path=f"/agents/{tenant}{path}", method=method)
    if method == "HEAD":
        assert wire.status == 401
    else:
        assert_unauthorized(wire, "authorizes tenant 'hello'", f"'{tenant}'")
    assert (wire.taken, engine.calls) == (0, [])


@pytest.mark.parametrize("tenant", ["nobody", "toString", "constructor", "__proto__"])
async def test_7_a_tenant_that_is_not_served_is_unknown_to_those_who_may_address_it(ask, token, tenant):
    body = request("ListTasks", {"tenant": tenant})
    error = json.loads((await ask(f"Bearer {token(tenant=tenant)}", body, version=None)).body)["error"]
    assert (error["code"], error["message"]) == (-32602, f"unknown tenant '{tenant}'")
    rest = await ask(f"Bearer {token(tenant=tenant)}", path=f"/agents/{tenant}/tasks", method="GET")
    assert rest.status == 404


@pytest.mark.parametrize("version", [None, "", "0.3", "1", "2.0"])
async def test_8_a_request_must_say_that_it_is_of_this_version(ask, token, engine, version):
    wire = await ask(f"Bearer {token()}", request("NoSuchMethod", {"tenant": "hello"}), version=version)
    assert (wire.status, json.loads(wire.body)["error"]["code"], engine.calls) == (200, -32009, [])
    rest = await ask(f"Bearer {token()}", path="/agents/hello/tasks", method="GET", version=version)
    assert (rest.status, engine.calls) == (400, [])


@pytest.mark.parametrize(("path", "named"), [("/a2a", {"tenant": "hello"}), ("/agents/hello", {})])
async def test_whoever_passes_is_the_caller_of_the_token(ask, token, engine, path, named):
    engine.add("t1")
    wire = await ask(f"Bearer {token(caller='remote:7:bob')}", request("GetTask", {"id": "t1", **named}), path=path)
    assert json.loads(wire.body)["result"]["id"] == "t1"
    assert engine.calls[0][:3] == ("find", "hello", "remote:7:bob")


async def test_a_card_that_is_not_public_is_shown_to_those_who_may_address_its_tenant(ask, token):
    path = "/agents/hello/.well-known/agent-card.json"
    assert_unauthorized(await ask(None, path=path, method="GET"), "missing")
    assert (await ask(f"Bearer {token()}", path=path, method="GET")).status == 200


# Nothing that a fixture made is changed by a token that is refused.
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=200) | st.from_regex(r"\A[Bb]earer [A-Za-z0-9_.=-]{0,80}\Z"))
def test_any_authorization_is_refused_in_words(make_verifier, authorization):
    scope = {"method": "POST", "path": "/a2a", "headers": [(b"authorization", authorization.encode())]}

    async def judged():
        with pytest.raises(Refusal) as caught:
            await GatewayDoor(make_verifier()).admit(Exchange(scope, None, None))
        return caught.value.reply

    reply = anyio.run(judged)
    assert (reply.status, reply.media_type) == (401, PLAIN)


def test_a_token_for_no_tenant_is_not_for_one_without_a_name():
    with pytest.raises(Refusal) as caught:
        ClaimedTenant(Caller("k"), claimed="").check("")
    assert caught.value.reply.status == 401
