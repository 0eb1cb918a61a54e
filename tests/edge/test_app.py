"""Cards and keys, the way to the app within, and what is no HTTP."""

import json
import logging

import pytest

from innkeeper.contract.caller import Caller
from innkeeper.edge.door import Admission
from innkeeper.edge.http import refusal

pytestmark = pytest.mark.anyio

DOCUMENTS = {
    "/.well-known/agent-card.json": "public, max-age=300",
    "/agents/hello/.well-known/agent-card.json": "public, max-age=300",
    "/.well-known/jwks.json": "public, max-age=3600",
}
CARDS = [path for path in DOCUMENTS if path.endswith("card.json")]


@pytest.mark.parametrize(("path", "cache"), DOCUMENTS.items())
async def test_a_document_is_served_and_head_says_the_same_without_it(client, path, cache):
    got = await client.get(path)
    assert (got.status_code, got.headers["content-type"], got.headers["cache-control"]) == (
        200,
        "application/json",
        cache,
    )
    assert got.json()
    headed = await client.head(path)
    assert (headed.status_code, headed.content, headed.headers) == (200, b"", got.headers)


async def test_a_tenants_card_under_its_path_names_no_tenant(client):
    card = (await client.get("/agents/hello/.well-known/agent-card.json")).json()
    assert card["name"] == "hello"
    assert {(i["url"], i.get("tenant", "")) for i in card["supportedInterfaces"]} == {
        ("http://127.0.0.1:8080/agents/hello", "")
    }


@pytest.mark.parametrize("path", CARDS)
@pytest.mark.parametrize("named", ["{}", "W/{}", '"other", {}', "*"])
async def test_a_card_that_the_client_has_is_not_sent_again(client, path, named):
    etag = (await client.get(path)).headers["etag"]
    again = await client.get(path, headers={"if-none-match": named.format(etag)})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
    assert again.headers["cache-control"]
    assert "content-length" not in again.headers


@pytest.mark.parametrize("path", CARDS)
async def test_a_card_that_the_client_does_not_have_is_sent(client, path):
    assert (await client.get(path, headers={"if-none-match": '"other"'})).status_code == 200


async def test_nothing_in_a_request_changes_a_card(client):
    forged = [
        {},
        {"x-forwarded-host": "evil.example", "x-forwarded-proto": "javascript"},
        {"forwarded": "host=evil.example;proto=https"},
        {"host": "inn.example"},
        {"x-forwarded-prefix": "/evil", "x-original-url": "/evil"},
    ]
    assert len({(await client.get(CARDS[0], headers=headers)).content for headers in forged}) == 1


async def test_the_card_of_an_unknown_tenant_is_not_found(client):
    assert (await client.get("/agents/nobody/.well-known/agent-card.json")).status_code == 404


class ShutDoor:
    async def admit(self, exchange):
        raise refusal(401, "no", ((b"www-authenticate", b"Bearer"),))


class BrokenDoor:
    async def admit(self, exchange):
        raise RuntimeError("sk-secret")


@pytest.mark.parametrize("path", ["/a2a", "/agents/hello", "/agents/nobody"])
async def test_the_door_is_asked_before_the_body_is_read(open_wire, make_edge, engine, path):
    wire = open_wire(path, app=make_edge(door=ShutDoor()), headers={"content-type": "text/plain"})
    wire.scope["headers"] = [pair for pair in wire.scope["headers"] if pair[0] != b"transfer-encoding"]
    await wire.run()  # there is no body to be had: reading would wait for ever
    assert (wire.status, wire.headers[b"www-authenticate"]) == (401, b"Bearer")
    assert engine.calls == []


async def test_a_tenants_card_is_behind_the_door_unless_it_is_public(open_wire, make_edge):
    path = "/agents/hello/.well-known/agent-card.json"
    for public, status in ((False, 401), (True, 200)):
        wire = open_wire(path, method="GET", app=make_edge(door=ShutDoor(), public_tenant_cards=public))
        wire.leave()
        await wire.run()
        assert wire.status == status


async def test_a_card_that_is_not_public_is_not_cached(open_wire, make_edge):
    app = make_edge(public_tenant_cards=False)
    wire = open_wire("/agents/hello/.well-known/agent-card.json", method="GET", app=app)
    wire.say(b"")
    await wire.run()
    assert wire.headers[b"cache-control"] == b"private, no-store"


async def test_what_breaks_outside_a_binding_is_told_by_a_number_only(open_wire, make_edge, caplog):
    wire = open_wire(app=make_edge(door=BrokenDoor(), new_id=lambda: "e-17"))
    wire.say(b"{}")
    await wire.run()
    assert wire.status == 500
    assert json.loads(wire.body)["error"]["message"] == "Internal error e-17"
    assert [record.exc_info[1].args for record in caplog.records if "e-17" in record.message] == [("sk-secret",)]
    assert caplog.records[-1].levelno == logging.ERROR


class Inner:
    def __init__(self):
        self.paths = []

    async def __call__(self, scope, receive, send):
        self.paths.append(scope["path"])
        await send({"type": "http.response.start", "status": 299, "headers": []})
        await send({"type": "http.response.body", "body": b"inner"})


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "evil.example", ""])
@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
async def test_probes_come_in_under_any_name(open_wire, make_edge, path, host):
    inner = Inner()
    wire = open_wire(path, method="GET", app=make_edge(inner=inner), headers={"host": host})
    await wire.run()
    assert (wire.status, wire.body) == (299, b"inner")


async def test_what_is_not_ours_goes_to_the_app_within_and_keeps_its_body(open_wire, make_edge):
    inner = Inner()
    for path in ("/", "/console", "/a2a;x", "/healthz/"):
        wire = open_wire(path, app=make_edge(inner=inner))
        await wire.run()
        assert (wire.status, wire.taken) == (299, 0)
    assert inner.paths == ["/", "/console", "/a2a;x", "/healthz/"]


class Doorkeeper:
    """Admits those who know the word."""

    async def admit(self, exchange):
        if exchange.header(b"authorization") != ["open sesame"]:
            raise refusal(401, "")
        return Admission(Caller("k1", "Ali", "user"), frozenset({"hello", "gone"}), operator=True)


class Guarded:
    """An app within that says whom the door has admitted."""

    async def __call__(self, scope, receive, send):
        caller = scope.get("innkeeper.caller")
        told = [caller and caller.name, scope.get("innkeeper.tenants"), scope["path"], scope["raw_path"].decode()]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": json.dumps(told).encode()})


@pytest.mark.parametrize("path", ["/plugins.json", "/plugins/", "/plugins/notes/x", "http://127.0.0.1:8080/plugins/x"])
async def test_plugins_and_their_pages_are_behind_the_door(open_wire, make_edge, path):
    edge = make_edge(inner=Guarded(), door=Doorkeeper(), tenants=("hello", "mute"))
    shut = open_wire(path, method="GET", app=edge)
    await shut.run()
    assert shut.status == 401
    opened = open_wire(path, method="GET", app=edge, headers={"authorization": "open sesame"})
    await opened.run()
    path = path.removeprefix("http://127.0.0.1:8080")
    assert json.loads(opened.body) == ["Ali", ["hello"], path, path]
    assert "innkeeper.caller" not in opened.scope


@pytest.mark.parametrize("path", ["/", "/plugins", "/plugins.json/", "/pluginsx", "//plugins.json", "/console"])
async def test_of_what_is_not_listed_the_app_within_learns_of_no_caller(open_wire, make_edge, path):
    wire = open_wire(path, method="GET", app=make_edge(inner=Guarded(), door=Doorkeeper()))
    await wire.run()
    assert json.loads(wire.body)[:2] == [None, None]


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/console", {"host": "evil.example"}, 421),
        ("/console", {"origin": "https://evil.example"}, 403),
        ("/agents/hello/other", {}, 404),
        ("/a2a", {"content-type": "text/plain"}, 415),
    ],
)
async def test_the_app_within_sees_nothing_that_was_refused(open_wire, make_edge, path, headers, status):
    inner = Inner()
    wire = open_wire(path, app=make_edge(inner=inner), headers=headers)
    wire.say(b"")
    await wire.run()
    assert (wire.status, inner.paths) == (status, [])


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("http://127.0.0.1:8080/console", {}, 299),
        ("HTTP://127.0.0.1:8080/console", {}, 299),
        ("HTTP://elsewhere.example/console", {}, 421),
        ("/console", {"content-encoding": ""}, 299),
    ],
)
async def test_a_scheme_has_no_case_and_an_empty_header_no_meaning(open_wire, make_edge, path, headers, status):
    wire = open_wire(path, app=make_edge(inner=Inner()), headers=headers)
    wire.say(b"")
    await wire.run()
    assert wire.status == status


async def test_a_websocket_is_turned_away(edge):
    sent = []

    async def receive():
        return {"type": "websocket.connect"}

    async def send(message):
        sent.append(message)

    await edge({"type": "websocket", "path": "/a2a", "headers": []}, receive, send)
    assert sent == [{"type": "websocket.close", "code": 1008}]


async def test_another_scope_is_not_ours(edge):
    with pytest.raises(ValueError, match="lifespan"):
        await edge({"type": "lifespan"}, None, None)
