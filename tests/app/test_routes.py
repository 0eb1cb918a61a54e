"""Denied by default: every route of a whole host, and what is none, for somebody without credentials and with them."""

import json
import re
import sys
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import unquote

import anyio
import pytest

from innkeeper.app import Host
from innkeeper.app.token_issuing import create_token
from innkeeper.edge.keys import load_or_create_key_file
from innkeeper.ports.clock import World
from innkeeper.settings import Settings

pytestmark = pytest.mark.anyio
BASE = "http://127.0.0.1:8000"
TENANTS = '[tenants]\nhello = { use = ["hello"] }\n'

Route: TypeAlias = tuple[str, str]
"""An HTTP method and a path."""

CARD = "/.well-known/agent-card.json"
TENANT_CARD = f"/agents/{{tenant}}{CARD}"
OPEN_TO_ALL = {
    (method, path)
    for path in (CARD, "/.well-known/jwks.json", "/healthz", "/readyz")
    for method in ("GET", "HEAD")
}  # fmt: skip
"""The whole table of what is answered without credentials, with 200."""

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND")

NOWHERE = [
    "/", "//", "/index.html", "/a2a/x", "/a2a//", "//a2a", "/A2A", "/a2a.json", "/agents", "/agents/", "/agents//",
    "/agents//tasks", "/agents/hello//", "/agents/hello/x", "/agents/hello/tasks/a/b/c/d", "/agents/hello/message",
    "/agents/hello/message:sends", "/agents/hello/.well-known/jwks.json", "/agents/hello/../hello/tasks",
    "/agents/hello/extendedAgentCard/x", "/.well-known/", "/.well-known/agent.json",
    "/.well-known/agent-card.json/", "//.well-known/jwks.json", "/healthz/", "//healthz", "/HEALTHZ", "/readyz/x",
    "/plugins", "/plugins.json/", "//plugins.json", "//plugins/notes/", "/plugins.JSON", "/static/x", "/docs",
    "/openapi.json", "/metrics/x", "/%61gents/hello/x", "/agents%2Fhello", "/favicon.ico", "/robots.txt",
]  # fmt: skip
"""Paths that lead nowhere, whoever asks."""

BEHIND_THE_DOOR = ["/plugins/", "/plugins/nobody/", "/plugins/notes/nowhere", "/plugins//notes/", "/plugins/../a2a"]
"""Paths that nobody without credentials learns anything of."""


@pytest.fixture
def pages_kit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Install the plugins of a test distribution that have web apps."""
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "plugins" / "pages-kit")
    monkeypatch.syspath_prepend(tmp_path)
    info = tmp_path / "pages_kit-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pages-kit\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[innkeeper.v1]\nbare = pages_kit:bare\nnotes = pages_kit:notes\n")
    yield
    sys.modules.pop("pages_kit", None)


MODES = {
    "token": 'mode = "token"\n',
    "token, public cards": 'mode = "token"\npublic_tenant_cards = true\n',
    "gateway": 'mode = "gateway"\ngateway_origins = ["https://gateway.example"]\n',
    "open": "",
}


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


class Walk:
    """A started host, and somebody who asks it for whatever comes to mind: no client in between makes paths better."""

    def __init__(self, host: Host, made: Settings) -> None:
        self.host = host
        self.guarded = made.auth.mode != "open"
        self.in_words = made.auth.mode == "gateway"
        self.token = create_token(made, World(), caller="root", name="", tenants=(), operator=True, life=None)
        self.open_to_all = set(OPEN_TO_ALL)
        if not self.guarded or made.auth.public_tenant_cards:
            self.open_to_all |= {("GET", TENANT_CARD), ("HEAD", TENANT_CARD)}

    @property
    def paths(self) -> dict[str, set[str]]:
        """The methods of each path that is routed."""
        paths: dict[str, set[str]] = {}
        for method, path in sorted(self.host.routes):
            paths.setdefault(path, set()).add(method)
        return paths

    async def ask(self, method: str, path: str, **headers: str) -> Answer:
        """Send a request, to the tenant that there is; whatever else is in braces is called x."""
        whole = re.sub(r"\{\w+\}", "x", path.replace("{tenant}", "hello"))
        sent: list[Any] = []
        body = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive() -> Any:
            if body:
                return body.pop()
            return await anyio.sleep_forever()

        async def send(message: Any) -> None:
            sent.append(message)

        named = {"host": "127.0.0.1:8000", **headers}
        scope = {
            "type": "http", "http_version": "1.1", "method": method, "scheme": "http", "query_string": b"",
            "path": unquote(whole), "raw_path": whole.encode(), "root_path": "", "server": ("127.0.0.1", 8000),
            "client": ("127.0.0.1", 9), "headers": [(name.encode(), value.encode()) for name, value in named.items()],
        }  # fmt: skip
        await self.host(scope, receive, send)
        told = {name.decode().lower(): value.decode() for name, value in sent[0]["headers"]}
        return Answer(sent[0]["status"], told, b"".join(message["body"] for message in sent[1:]))

    async def refused(self, status: int, asked: Iterable[Route], **headers: str) -> list[tuple[Route, int]]:
        """Ask for all of these, and return those that are not refused with this status."""
        answers = [(route, await self.ask(*route, **headers)) for route in asked]
        for (method, path), answer in answers:
            if answer.status != status:
                continue
            assert (status == 405) == ("allow" in answer.headers), (method, path)
            assert (status == 401) == ("www-authenticate" in answer.headers), (method, path)
            kind = answer.headers["content-type"]
            if status == 401 and self.in_words and kind.startswith("text/plain"):
                assert answer.body.startswith(b"unauthorized: ") or method == "HEAD"
            else:
                assert kind == "application/json", (method, path)
                assert method == "HEAD" or json.loads(answer.body)["error"]["code"] == status
        return [(route, answer.status) for route, answer in answers if answer.status != status]


@pytest.fixture(params=MODES)
async def walk(request: Any, settings: Any, pages_kit: Any, tmp_path: Path) -> AsyncIterator[Walk]:
    made = settings(toml=f"[auth]\n{MODES[request.param]}{TENANTS}")
    load_or_create_key_file(made.auth.signing_key_file)
    host = Host(made, BASE)
    await host.start()
    try:
        yield Walk(host, made)
    finally:
        await host.stop()


async def test_every_route_is_known_to_the_walk(walk: Walk) -> None:
    paths = walk.paths
    assert {"/a2a", "/agents/{tenant}", "/agents/{tenant}/tasks/{id}:cancel", "/plugins.json", "/healthz"} <= set(paths)
    assert {"/plugins/bare/", "/plugins/notes/", "/plugins/journal/"} <= set(paths)
    assert walk.open_to_all <= walk.host.routes


async def test_without_credentials_every_route_is_401_but_for_the_table(walk: Walk) -> None:
    if not walk.guarded:
        pytest.skip("everybody comes in")
    locked = sorted(walk.host.routes - walk.open_to_all)
    assert len(locked) > 20
    assert await walk.refused(401, locked) == []
    assert await walk.refused(401, locked, authorization=f"Bearer ink_{'0' * 12}_{'A' * 43}") == []
    assert await walk.refused(401, locked, cookie="session=x", authorization="Basic Og==") == []
    assert await walk.refused(401, ((method, path) for path in BEHIND_THE_DOOR for method in ("GET", "POST"))) == []


async def test_what_is_in_the_table_is_answered_without_credentials(walk: Walk) -> None:
    assert {(await walk.ask(*route)).status for route in sorted(walk.open_to_all)} == {200}


async def test_what_is_no_route_is_404_for_everybody(walk: Walk) -> None:
    nowhere = [(method, path) for path in NOWHERE for method in ("GET", "POST", "OPTIONS")]
    assert await walk.refused(404, nowhere) == []
    assert await walk.refused(404, nowhere, authorization=f"Bearer {walk.token}") == []


async def test_a_method_that_a_route_has_not_is_405_for_everybody(walk: Walk) -> None:
    wrong = [
        (method, path)
        for path, methods in walk.paths.items()
        for method in METHODS
        if method not in methods and not path.startswith("/plugins/")
        if method != "POST" or not re.fullmatch(r"/agents/\w+", path)  # as well as a tenant of that name
    ]
    assert len(wrong) > 100
    assert await walk.refused(405, wrong) == []
    assert await walk.refused(405, wrong, authorization=f"Bearer {walk.token}") == []


async def test_the_page_of_a_plugin_gets_no_method_from_somebody_without_credentials(walk: Walk) -> None:
    if not walk.guarded:
        pytest.skip("everybody comes in")
    pages = [(method, path) for path in walk.paths if path.startswith("/plugins/") for method in METHODS]
    assert await walk.refused(401, pages) == []
    assert await walk.refused(401, [(method, f"{path}below") for method, path in pages]) == []
