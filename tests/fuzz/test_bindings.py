"""Nothing that is sent to the bindings makes a host fail, hang, or tell what is none of the caller's business."""

import json
import os
import re
import time
from collections.abc import Callable, Iterator
from urllib.parse import quote

import httpx
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from requests_of_a2a import JSON, TEXT, bent, dumps, params, rpc_bodies

from innkeeper.testing.live import LiveHost
from innkeeper.testing.setup import Setup

SECONDS = float(os.environ.get("FUZZ_SECONDS", "4"))
"""How long each of these goes on; ``make fuzz`` has more patience."""

HANGS_AFTER = 10.0

SETTINGS = {"push": {"enabled": True}, "tenants": {"hello": {"use": []}, "other": {"agent": "hello", "use": []}}}
HEADERS = st.fixed_dictionaries(
    {},
    optional={
        "a2a-version": st.sampled_from(["1.0", "0.3", "1.0.7", "9", "", "x" * 300]),
        "a2a-extensions": st.sampled_from(["", "urn:x", ",".join(f"urn:{n}" for n in range(50))]),
        "last-event-id": st.sampled_from(["", "1", "-1", "9" * 30, "x"]),
        "authorization": st.sampled_from(["", "Bearer", "Bearer x", "Basic eDp5"]),
        "accept": st.sampled_from(["*/*", "text/event-stream", "text/html", "x"]),
    },
)
TASKS = ["/tasks", "/tasks/{}", "/tasks/{}:cancel", "/tasks/{}:subscribe", "/tasks/{}:{}"]
HOOKS = ["/tasks/{}/pushNotificationConfigs", "/tasks/{}/pushNotificationConfigs/{}"]
ROUTES = st.sampled_from(["/message:send", "/message:stream", *TASKS, *HOOKS, "/extendedAgentCard", "/{}"])
SEGMENTS = TEXT.map(lambda text: quote(text.encode("utf-8", "surrogatepass"), safe=""))
QUERY = st.dictionaries(
    st.sampled_from(["pageSize", "pageToken", "status", "contextId", "historyLength", "includeArtifacts", "tenant", "x",
                     "statusTimestampAfter", "A2A-Version"]),
    TEXT.map(lambda text: text.encode("utf-8", "replace").decode()),
    max_size=3,
)  # fmt: skip


@pytest.fixture(scope="module")
def host(tmp_path_factory) -> Iterator[LiveHost]:
    with LiveHost(Setup(settings=SETTINGS), tmp_path_factory.mktemp("fuzzed")) as host:
        yield host
        assert httpx.get(f"{host.url}/readyz", trust_env=False).status_code == 200
        assert host.send("Ada", tenant="hello").result().text == "Hello, Ada"
        assert "Traceback" not in host.log


@pytest.fixture(scope="module")
def http(host) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=host.url, timeout=HANGS_AFTER, trust_env=False) as http:
        yield http


def go_on(test: Callable[[], None]) -> None:
    """Run a property again and again, each time from another seed, until the time is over."""
    until = time.monotonic() + SECONDS
    number = 0
    while time.monotonic() < until:
        seed(number)(test)()
        number += 1


ROUND = settings(max_examples=100, deadline=None, database=None, suppress_health_check=list(HealthCheck))


def assert_answered(response: httpx.Response) -> None:
    text = response.text
    assert response.status_code < 500, text
    assert "Traceback" not in text
    assert ".py" not in text
    if text and response.headers.get("content-type", "").endswith("json"):
        answer = json.loads(text)
        code = answer.get("error", {}).get("code") if isinstance(answer, dict) else None
        assert code != -32603, text


@pytest.mark.timeout(SECONDS + 60)
@pytest.mark.parametrize("path", ["/a2a", "/agents/hello"])
def test_json_rpc_answers_whatever_it_is_sent(http, path):
    @ROUND
    @given(body=bent(rpc_bodies()), headers=HEADERS)
    def holds(body, headers):
        headers = {"content-type": "application/json", **headers}
        assert_answered(http.post(path, content=body, headers=headers))

    go_on(holds)


@pytest.mark.timeout(SECONDS + 60)
def test_rest_answers_whatever_it_is_sent(http):
    @ROUND
    @given(
        method=st.sampled_from(["GET", "POST", "DELETE", "HEAD", "PUT"]),
        route=ROUTES,
        segments=st.tuples(SEGMENTS, SEGMENTS),
        tenant=st.sampled_from(["hello", "other", "nobody", "%2e%2e", "a:b"]),
        query=QUERY,
        body=bent(st.one_of(params().map(lambda named: dumps(named[1])), JSON.map(dumps), st.just(b""))),
        headers=HEADERS,
    )
    def holds(method, route, segments, tenant, query, body, headers):
        headers = {"content-type": "application/json", **headers}
        url = f"/agents/{tenant}" + route.format(*segments)
        assert_answered(http.request(method, url, params=query, content=body, headers=headers))

    go_on(holds)


@pytest.mark.timeout(SECONDS + 60)
def test_a_stream_is_continued_or_begun_whatever_its_reader_says_it_has_seen(http):
    message = {"messageId": "streamed", "role": "ROLE_USER", "parts": [{"text": "Ada"}]}
    first = http.post("/agents/hello/message:stream", json={"message": message}).text
    ids = re.findall(r"^id: (.*)$", first, re.MULTILINE)
    task_id = ids[0].rpartition(":")[0]
    alike = st.from_regex(
        rf"({task_id}|[!-~]{{0,9}}):?[-+]?\d{{0,30}}", fullmatch=True, alphabet=st.characters(codec="ascii")
    )

    @ROUND
    @given(seen=st.sampled_from(ids) | alike)
    def holds(seen):
        headers = {"last-event-id": seen}
        response = http.post("/agents/hello/message:stream", json={"message": message}, headers=headers)
        assert_answered(response)
        told = re.findall(r"^id: (.*)$", response.text, re.MULTILINE)
        assert told == (ids[ids.index(seen) + 1 :] if seen in ids else ids[-1:])

    go_on(holds)
