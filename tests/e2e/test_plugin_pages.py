"""Pages of installed plugins on a live host."""

import json
import socket
from contextlib import closing
from urllib.parse import urlsplit

import httpx
import pytest
from livehost import running_host


@pytest.fixture
def http(host):
    with httpx.Client(base_url=host.url, timeout=10, trust_env=False) as client:
        yield client


def say(url: str, request: str) -> socket.socket:
    """Send a request as it is written, and return the connection."""
    at = urlsplit(url)
    connection = socket.create_connection((at.hostname, at.port), timeout=10)
    connection.sendall(request.format(host=at.netloc).replace("\n", "\r\n").encode())
    return connection


def test_a_quart_page_knows_its_caller_and_where_it_is(http):
    page = http.get("/plugins/notes/").json()
    assert page["caller"] == "anonymous"
    assert {"hello", "guarded", "untouched"} <= set(page["tenants"])
    assert page["at"] == "/plugins/notes/of/x"


def test_a_bare_app_knows_where_it_is(http):
    page = http.get("/plugins/bare/somewhere%20else").json()
    assert (page["path"], page["root_path"]) == ("/plugins/bare/somewhere else", "/plugins/bare")


def test_a_page_without_its_slash_leads_to_the_page(http):
    assert http.get("/plugins/notes").headers["location"] == "/plugins/notes/"
    assert http.get("/plugins/notes", follow_redirects=True).json()["caller"] == "anonymous"


@pytest.mark.parametrize("path", ["/plugins/nobody/", "/plugins/", "/plugins", "//plugins.json", "/plugins.json/"])
def test_where_there_is_no_page_there_is_404_in_json(host, path):
    with closing(say(host.url, f"GET {path} HTTP/1.1\nHost: {{host}}\nConnection: close\n\n")) as connection:
        head, _, body = b"".join(iter(lambda: connection.recv(4096), b"")).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 404")
    assert json.loads(body)["error"]["code"] == 404


@pytest.mark.parametrize("page", ["raise", "exit", "split"])
def test_a_page_that_fails_is_an_opaque_500_and_the_host_goes_on(http, host, page):
    answer = http.get(f"/plugins/bare/{page}")
    assert answer.status_code == 500
    message = answer.json()["error"]["message"]
    assert message.startswith("Internal error ")
    assert f"{message.lower()}: web app of plugin 'bare', GET /plugins/bare/{page}" in host.said()
    assert http.get("/plugins/bare/").status_code == 200


@pytest.mark.parametrize("page", ["half", "short", "long"])
def test_an_answer_that_is_not_what_it_says_ends_with_its_connection(http, page):
    with pytest.raises(httpx.RemoteProtocolError):
        http.get(f"/plugins/bare/{page}")
    assert http.get("/plugins/bare/").status_code == 200


def faults(http, plugin: str) -> int:
    (found,) = [each for each in http.get("/plugins.json").json()["plugins"] if each["name"] == plugin]
    return sum(each["count"] for each in found["faults"])


@pytest.mark.parametrize("page", ["stream", "hang"])
def test_a_page_whose_client_is_gone_is_ended_and_no_fault(http, host, page):
    before = faults(http, "bare")
    with closing(say(host.url, f"GET /plugins/bare/{page} HTTP/1.1\nHost: {{host}}\n\n")) as connection:
        if page == "stream":
            assert connection.recv(10)
    assert http.get("/plugins/bare/").status_code == 200
    assert faults(http, "bare") == before


def test_the_cap_of_bodies_holds_for_pages(http):
    assert http.post("/plugins/notes/of/hello", content=b"x" * 2_000_000).status_code == 413


def test_a_page_of_another_host_or_origin_is_refused(http):
    assert http.get("/plugins/notes/", headers={"host": "evil.example"}).status_code == 421
    foreign = {"origin": "https://evil.example"}
    assert http.post("/plugins/notes/of/hello", content=b"x", headers=foreign).status_code == 403


def test_head_of_a_page_has_no_body(http):
    headed = http.head("/plugins/notes/")
    assert (headed.status_code, headed.content) == (200, b"")
    assert int(headed.headers["content-length"]) > 0


def test_a_host_that_stops_ends_its_pages(config, plugins):
    with running_host(config("[tenants.hello]\nuse = ['notes']"), plugins) as host:
        with closing(say(host.url, "GET /plugins/bare/stream HTTP/1.1\nHost: {host}\n\n")) as connection:
            assert connection.recv(10)
            assert host.stop() == 0
        assert "Traceback" not in host.said()


def test_a_page_keeps_its_notes_apart_and_reaches_no_tenant_without_the_plugin(config, plugins):
    tables = "[tenants]\nhello.use = ['notes']\necho.use = ['notes']\nuntouched = { agent = 'echo', use = [] }\n"
    with running_host(config(tables), plugins) as host, httpx.Client(base_url=host.url, trust_env=False) as http:
        assert http.post("/plugins/notes/of/hello", content=b"mind the step").json() == ["mind the step"]
        assert http.get("/plugins/notes/of/echo").json() == []
        assert http.get("/plugins/notes/of/untouched").status_code == 500
        assert http.get("/plugins/notes/of/nobody").status_code == 500
