"""Extensions of the protocol: on the card, asked for by a header, required, and told of when they are followed."""

import json
from typing import Any

import pytest

from innkeeper import Agent, Extension
from innkeeper.edge.cards import tenant_card

pytestmark = pytest.mark.anyio

TRACE, CITE = "https://a2a.example/trace/v1", "urn:cite"
MESSAGE = {"message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "hi"}]}}
EXTENSIONS = (Extension(TRACE, "Tells why.", params={"deep": {"levels": [1, 2]}}), Extension(CITE))


async def nothing(turn: object) -> None:
    """Says nothing."""


@pytest.fixture
def ask(client, engine):
    """Send a message over a binding; what the turn follows is told before the answer."""

    async def ask(binding: str, *asked: str, follows: tuple[str, ...] = ()) -> Any:
        record = engine.record

        def told(*call: Any) -> None:
            if call[0] == "submit":
                for uri in follows:
                    call[3].activated(uri)
            record(*call)

        engine.record = told
        headers = [("A2A-Extensions", value) for value in asked]
        if binding == "REST":
            return await client.post("/agents/hello/message:send", json=MESSAGE, headers=headers)
        request = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": MESSAGE}
        return await client.post("/agents/hello", json=request, headers=headers)

    return ask


@pytest.fixture(params=["JSON-RPC", "REST"])
def binding(request):
    return request.param


def submission(engine):
    return next(call[3] for call in engine.calls if call[0] == "submit")


def error_of(response):
    body = response.json()["error"]
    info = (body.get("data") or body.get("details"))[0]
    return body["message"], info["reason"]


@pytest.mark.parametrize(
    ("asked", "seen"),
    [
        ((), ()),
        ((TRACE,), (TRACE,)),
        ((f"{TRACE}, {CITE}",), (TRACE, CITE)),
        ((f" {CITE} ,,", TRACE, CITE), (CITE, TRACE)),
        (("https://unknown.example/x",), ("https://unknown.example/x",)),
    ],
)
async def test_what_a_caller_asks_for_is_read_from_every_header(ask, engine, binding, asked, seen):
    response = await ask(binding, *asked)
    assert response.status_code == 200
    assert submission(engine).extensions == seen
    assert "a2a-extensions" not in response.headers


@pytest.mark.parametrize(
    "asked", ["no uri", "relative", "https://[", "urn:" + "x" * 2048, ",".join(f"u:{n}" for n in range(33))]
)
async def test_what_is_no_list_of_uris_is_refused_before_anything_is_done(ask, engine, binding, asked):
    message, reason = error_of(await ask(binding, asked))
    assert (message.split(":")[0], reason) == ("A2A-Extensions", "INVALID_PARAMS")
    assert "submit" not in engine.names


async def test_what_the_turn_follows_is_told_once(ask, binding):
    response = await ask(binding, TRACE, CITE, follows=(CITE, TRACE, CITE))
    assert response.headers["a2a-extensions"] == f"{CITE}, {TRACE}"


async def test_who_does_not_ask_for_what_is_required_is_refused_before_anything_is_done(ask, engine, binding):
    engine.tenants["hello"] = type(engine.tenants["hello"])(
        "hello", Agent("hello", nothing, extensions=[Extension(TRACE, required=True), Extension(CITE)])
    )
    response = await ask(binding, CITE)
    message, reason = error_of(response)
    assert (message, reason) == (f"A2A-Extensions must name {TRACE}", "EXTENSION_SUPPORT_REQUIRED")
    assert response.status_code == (400 if binding == "REST" else 200)
    if binding == "JSON-RPC":
        assert response.json()["error"]["code"] == -32008
    assert "submit" not in engine.names
    assert (await ask(binding, TRACE)).status_code == 200


async def test_a_stream_is_refused_as_well(engine, rpc):
    engine.tenants["hello"] = type(engine.tenants["hello"])(
        "hello", Agent("hello", nothing, extensions=[Extension(TRACE, required=True)])
    )
    assert (await rpc("SendStreamingMessage", MESSAGE))["error"]["code"] == -32008
    assert engine.names == []


def test_the_card_tells_of_them():
    card = tenant_card(Agent("hello", nothing, extensions=EXTENSIONS), [])
    told = [(each.uri, each.description, each.required, dict(each.params)) for each in card.capabilities.extensions]
    assert [(uri, text, required) for uri, text, required, _ in told] == [
        (TRACE, "Tells why.", False),
        (CITE, "", False),
    ]
    assert json.dumps([int(level) for level in told[0][3]["deep"]["levels"]]) == "[1, 2]"


@pytest.mark.parametrize("uri", ["", "relative/path", "https://a b", "a:b,c", "urn:é", "urn:" + "x" * 2048, 5])
def test_an_extension_is_named_by_a_uri_that_a_header_carries(uri):
    with pytest.raises(ValueError, match="an absolute URI"):
        Extension(uri)


def test_an_agent_knows_an_extension_once():
    with pytest.raises(ValueError, match="extensions has 'urn:cite' twice"):
        Agent("hello", nothing, extensions=[Extension(CITE), Extension(CITE)])
