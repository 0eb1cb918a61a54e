"""What is refused before anybody looks into a request, and how."""

import json

import anyio
import pytest

from innkeeper.edge.app import Limits, origins_from_urls

pytestmark = pytest.mark.anyio

BODY = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "t1"}}).encode()


def refused(response, status, name):
    assert (response.status_code, response.headers["content-type"]) == (status, "application/json")
    error = response.json()["error"]
    assert (error["code"], error["status"]) == (status, name)
    assert error["message"]
    assert "location" not in response.headers


# --- hosts and origins ------------------------------------------------------------------------------------------------

OWN_HOSTS = ["127.0.0.1:8080", "localhost:8080", "LocalHost:8080", "[::1]:8080", "inn.example"]
FOREIGN_HOSTS = [
    "evil.example",
    "127.0.0.1",
    "127.0.0.1:8081",
    "127.0.0.1:8080.evil.example",
    "inn.example:80",
    "",
    " ",
    "*",
]
PATHS = ["/a2a", "/agents/hello", "/.well-known/agent-card.json", "/.well-known/jwks.json", "/nowhere"]


@pytest.mark.parametrize("host", OWN_HOSTS)
async def test_an_own_host_is_served(client, host):
    assert (await client.get("/.well-known/jwks.json", headers={"host": host})).status_code == 200


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("host", FOREIGN_HOSTS)
async def test_a_foreign_host_is_misdirected_on_every_path(client, engine, host, path):
    refused(await client.get(path, headers={"host": host}), 421, "INVALID_ARGUMENT")
    refused(await client.post(path, content=BODY, headers={"host": host}), 421, "INVALID_ARGUMENT")
    assert engine.calls == []


@pytest.mark.parametrize("hosts", [[], ["127.0.0.1:8080", "127.0.0.1:8080"], ["127.0.0.1:8080", "evil.example"]])
async def test_a_request_has_exactly_one_host(open_wire, hosts):
    wire = open_wire("/.well-known/jwks.json", method="GET")
    wire.scope["headers"] = [(b"host", host.encode()) for host in hosts]
    await wire.run()
    assert wire.status == 421


@pytest.mark.parametrize("origin", ["http://127.0.0.1:8080", "http://localhost:8080", "https://console.example"])
async def test_an_own_origin_may_send(client, engine, origin):
    engine.add("t1")
    response = await client.post(
        "/agents/hello", content=BODY, headers={"origin": origin, "content-type": "application/json"}
    )
    assert response.status_code == 200
    assert engine.names == ["find"]


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "", "http://127.0.0.1", "https://console.example.evil"]
)
async def test_a_foreign_origin_may_not_send(client, engine, origin):
    headers = {"origin": origin, "content-type": "application/json"}
    refused(await client.post("/agents/hello", content=BODY, headers=headers), 403, "PERMISSION_DENIED")
    assert engine.calls == []


async def test_a_foreign_origin_may_read_what_is_public(client):
    response = await client.get("/.well-known/jwks.json", headers={"origin": "https://evil.example"})
    assert response.status_code == 200
    assert not [name for name in response.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    ("public_url", "binds", "hosts"),
    [
        ("https://inn.example", ["0.0.0.0:8080"], {"inn.example", "inn.example:443"}),
        ("https://inn.example:8443/x", ["[::]:8443"], {"inn.example:8443"}),
        ("http://Inn.Example:80", ["unix:/run/inn.sock"], {"inn.example", "inn.example:80"}),
        ("https://[2001:db8::1]", ["fd://3"], {"[2001:db8::1]", "[2001:db8::1]:443"}),
        ("http://192.0.2.7:8080", ["192.0.2.7:8080"], {"192.0.2.7:8080"}),
        ("http://inn.example", ["192.0.2.7:80"], {"inn.example", "inn.example:80", "192.0.2.7", "192.0.2.7:80"}),
        ("http://localhost:9", ["localhost:9"], {"localhost:9", "127.0.0.1:9", "[::1]:9"}),
        ("http://127.0.0.2:9", ["127.0.0.2:9"], {"127.0.0.2:9", "localhost:9", "127.0.0.1:9", "[::1]:9"}),
    ],
)
def test_the_hosts_follow_from_public_url_and_binds(public_url, binds, hosts):
    assert origins_from_urls(public_url, binds).hosts == hosts


# --- paths and methods ------------------------------------------------------------------------------------------------

NOT_OURS = [
    "//a2a", "/a2a;x", "/A2A", "/a2a//", "/a2a/x", "/", "/agents", "/agents/", "/agents//", "/agents/hello/x",
    "/agents/hello//", "/agents/hello/.well-known/agent-card.json/", "/Agents/hello", "/.well-known/",
    "/.well-known/JWKS.json", "/healthz", "/x/a2a",
]  # fmt: skip


@pytest.mark.parametrize("path", NOT_OURS)
async def test_an_unknown_path_is_not_found(open_wire, engine, path):
    for method in ("GET", "POST"):
        wire = open_wire(path, method=method)
        wire.say(BODY)
        await wire.run()
        assert wire.status == 404
        assert json.loads(wire.body)["error"]["status"] == "NOT_FOUND"
    assert engine.calls == []


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        *((method, "/a2a", "POST") for method in ("GET", "HEAD", "PUT", "OPTIONS")),
        *(("GET", path, "POST") for path in ("/a2a/", "/agents/hello", "/agents/hello/", "/agents/nobody")),
        *((method, "/.well-known/agent-card.json", "GET, HEAD") for method in ("POST", "DELETE")),
        ("POST", "/.well-known/jwks.json", "GET, HEAD"),
        ("POST", "/agents/hello/.well-known/agent-card.json", "GET, HEAD"),
    ],
)  # fmt: skip
async def test_a_wrong_method_is_told_the_right_ones(client, engine, method, path, allow):
    response = await client.request(method, path)
    assert (response.status_code, response.headers["allow"]) == (405, allow)
    assert response.headers["content-type"] == "application/json"
    assert engine.calls == []


@pytest.mark.parametrize("path", ["/a2a/", "/agents/hello", "/agents/hello/"])
async def test_a_trailing_slash_answers_alike(rpc, path):
    assert (await rpc("GetTask", {"id": "none", "tenant": "hello"}, path=path))["error"]["code"] == -32001


# --- bodies -----------------------------------------------------------------------------------------------------------


NOT_JSON = [
    None, "", "text/plain", "multipart/form-data", "application/x-www-form-urlencoded", "application/json-seq",
    "application/jsonx", "text/json", "application/json, application/json",
]  # fmt: skip


@pytest.mark.parametrize("declared", NOT_JSON)
async def test_a_body_that_is_not_declared_json_is_refused(client, engine, declared):
    headers = {} if declared is None else {"content-type": declared}
    refused(await client.post("/agents/hello", content=BODY, headers=headers), 415, "INVALID_ARGUMENT")
    assert engine.calls == []


@pytest.mark.parametrize("declared", ["application/json", "application/a2a+json", "Application/JSON ; charset=utf-8"])
async def test_a_body_that_is_declared_json_is_read(client, engine, declared):
    response = await client.post("/agents/hello", content=BODY, headers={"content-type": declared})
    assert response.json()["error"]["code"] == -32001
    assert engine.names == ["find"]


async def test_a_body_of_exactly_the_cap_is_read_and_one_byte_more_is_not(client):
    headers = {"content-type": "application/json"}
    assert (await client.post("/agents/hello", content=BODY.ljust(1000), headers=headers)).status_code == 200
    refused(await client.post("/agents/hello", content=BODY.ljust(1001), headers=headers), 413, "INVALID_ARGUMENT")


@pytest.mark.parametrize("length", ["1001", "9" * 30])
async def test_a_declared_length_beyond_the_cap_is_refused_unread(open_wire, engine, length):
    wire = open_wire(headers={"content-length": length})
    wire.leave()
    await wire.run()
    assert wire.status == 413
    assert wire.headers[b"connection"] == b"close"
    assert engine.calls == []


async def test_an_endless_body_is_cut_off_at_the_cap(open_wire, engine):
    wire = open_wire()
    for _ in range(10):
        wire.say(b"x" * 300, more=True)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wire.run)
        await wire.until(lambda wire: len(wire.sent) == 2)  # the answer is out while the client still sends
        assert (wire.status, wire.headers[b"connection"]) == (413, b"close")
        assert not wire.ended
        wire.say(b"", more=False)
    assert wire.ended
    assert len(wire.body) == int(wire.headers[b"content-length"])
    assert engine.calls == []


async def test_a_client_that_never_stops_sending_is_cut_off_after_a_moment(open_wire, monkeypatch):
    monkeypatch.setattr("innkeeper.edge.http.LINGER_SECONDS", 0.05)
    wire = open_wire()
    wire.say(b"x" * 1001, more=True)
    await wire.run()
    assert (wire.status, wire.ended) == (413, True)


async def test_a_server_that_waits_for_its_queue_to_empty_is_not_waited_for(open_wire, monkeypatch):
    """The end of an answer may hang on a full queue; somebody must go on taking from it."""
    monkeypatch.setattr("innkeeper.edge.http.LINGER_SECONDS", 0.05)
    wire = open_wire()
    wire.say(b"x" * 1001, more=True)
    took_on = anyio.Event()

    async def send_when_taken(message):
        if message["type"] == "http.response.body" and not message.get("more_body"):
            wire.leave()
            taken = wire.taken
            while wire.taken == taken:
                await anyio.lowlevel.checkpoint()
            took_on.set()
        wire.sent.append(message)

    wire._send = send_when_taken
    with anyio.fail_after(5):
        await wire.run()
    assert took_on.is_set()


async def test_a_dripping_body_is_given_up(open_wire, make_edge, engine):
    wire = open_wire(app=make_edge(limits=Limits(body_seconds=0.05)))
    wire.say(b"{", more=True)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wire.run)
        await wire.until(lambda wire: len(wire.sent) == 2)
        wire.leave()
    assert (wire.status, wire.headers[b"connection"]) == (408, b"close")
    assert engine.calls == []


async def test_a_client_that_leaves_before_its_request_is_whole_gets_nothing_done(open_wire, engine):
    wire = open_wire()
    wire.say(BODY, more=True)
    wire.leave()
    await wire.run()
    assert wire.sent == []
    assert engine.calls == []


async def test_a_request_that_was_read_keeps_its_connection(open_wire):
    wire = open_wire()
    wire.say(BODY)
    await wire.run()
    assert b"connection" not in wire.headers


async def test_http_2_has_no_connection_header(open_wire):
    wire = open_wire(headers={"content-length": "1001"})
    wire.scope["http_version"] = "2"
    wire.leave()
    await wire.run()
    assert wire.status == 413
    assert b"connection" not in wire.headers
