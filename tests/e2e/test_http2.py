"""HTTP/2 without TLS, as reverse proxies speak it: many callers' requests on one connection."""

import asyncio
from contextlib import asynccontextmanager
from uuid import uuid4

import httpx
import pytest
from livehost import running_host

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def host(plugins, tmp_path_factory):
    """A host that nobody else makes say anything."""
    config = tmp_path_factory.mktemp("http2") / "innkeeper.toml"
    config.write_text('[host]\nbind = ["127.0.0.1:0"]\n[tenants]\necho = { use = [] }\nflood = { use = [] }\n')
    with running_host(config, plugins) as running:
        yield running


@asynccontextmanager
async def connection(host):
    async with httpx.AsyncClient(http1=False, http2=True, base_url=host.url, trust_env=False, timeout=30) as http:
        yield http


def saying(text, method="SendMessage"):
    message = {"messageId": str(uuid4()), "role": "ROLE_USER", "parts": [{"text": text}]}
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"message": message}}


def answer_of(response):
    assert (response.http_version, response.status_code) == ("HTTP/2", 200)
    return response.json()["result"]["task"]["status"]["message"]["parts"][0]["text"]


async def events_of(response):
    return [line async for line in response.aiter_lines() if line.startswith("data:")]


async def test_many_turns_share_a_connection(host):
    async with connection(host) as http:
        sends = [http.post("/agents/echo", json=saying(str(number))) for number in range(50)]
        answers = [answer_of(response) for response in await asyncio.gather(*sends)]
    assert answers == [str(number) for number in range(50)]


async def test_a_stream_is_whole_beside_one_that_is_left(host):
    async with connection(host) as http:
        async with http.stream("POST", "/agents/flood", json=saying("20000", "SendStreamingMessage")) as left:
            await anext(left.aiter_lines())
        async with http.stream("POST", "/agents/flood", json=saying("500", "SendStreamingMessage")) as followed:
            events = await events_of(followed)
    assert "TASK_STATE_COMPLETED" in events[-1]


REFUSALS = [
    ("POST", "/nowhere", {}, 404),
    ("PUT", "/a2a", {}, 405),
    ("POST", "/a2a", {"content-type": "text/plain"}, 415),
    ("POST", "/agents/echo", {"content-type": "application/json"}, 413),
    ("POST", "/agents/echo", {"host": "elsewhere.example"}, 421),
    ("POST", "/agents/echo", {"origin": "https://elsewhere.example"}, 403),
]


@pytest.mark.parametrize(("method", "path", "headers", "status"), REFUSALS)
async def test_a_refused_upload_leaves_the_other_streams_of_its_connection_alone(host, method, path, headers, status):
    async with (
        connection(host) as http,
        http.stream("POST", "/agents/flood", json=saying("3000", "SendStreamingMessage")) as other,
    ):
        refused = await http.request(method, path, content=b"x" * 2_000_000, headers=headers)
        assert (refused.status_code, "code" in refused.json()["error"]) == (status, True)
        assert "TASK_STATE_COMPLETED" in (await events_of(other))[-1]
    assert "Traceback" not in host.said()
