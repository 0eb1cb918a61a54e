"""Web apps of plugins behind a door: what they are told, what they may answer, and how each request ends."""

import asyncio
import contextlib
import dataclasses
import json
import logging
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import httpx
import pytest
from quart import Quart, jsonify, request, url_for
from starlette.applications import Starlette
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route

from innkeeper.app import Host
from innkeeper.app.web_apps import WebApps
from innkeeper.contract.caller import ANONYMOUS
from innkeeper.contract.errors import StartFault
from innkeeper.contract.plugin import UnknownTenant
from innkeeper.edge.http import Limits
from innkeeper.registry.assembly import Registry
from innkeeper.registry.blames import Blames
from innkeeper.registry.charges import Charge, Charges
from innkeeper.registry.contexts import Contexts
from innkeeper.registry.discovery import PluginRecord
from innkeeper.registry.foreign import Strays, contain_exits
from innkeeper.registry.loading import LoadedPlugin
from innkeeper.registry.outgoing import Clients
from innkeeper.registry.tenants import Stock

pytestmark = pytest.mark.anyio

LIMITS = Limits(body_bytes=1000, body_seconds=5, write_seconds=5)
PARTS = {
    "type": "http", "http_version": "1.1", "method": "GET", "scheme": "http", "query_string": b"", "root_path": "",
    "server": ("127.0.0.1", 8080), "client": ("127.0.0.1", 9), "headers": [(b"host", b"inn.example")],
    "innkeeper.caller": ANONYMOUS, "innkeeper.tenants": ("a", "b"),
}  # fmt: skip


def registry_of(*, quarantine: bool = False, contexts: Any = None, **apps: Any) -> Registry:
    stock = Stock({}, {}, tuple(apps), contexts, Strays(), Charges())
    return Registry((), {}, stock, apps, {}, {}, Blames(quarantine=quarantine))


class Visitor:
    """A client at the other end of one request. It hears what is sent, and may leave."""

    def __init__(self, app: Any, path: str, body: tuple[bytes, ...] = (b"",), **parts: Any) -> None:
        self.scope = {**PARTS, "path": path, "raw_path": path.encode(), **parts}
        self.app = app
        self.sent: list[dict[str, Any]] = []
        self.heard = asyncio.Event()
        self._incoming: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        for number, chunk in enumerate(body, 1):
            self._incoming.put_nowait({"type": "http.request", "body": chunk, "more_body": number < len(body)})

    async def __call__(self) -> "Visitor":
        async def send(message: dict[str, Any]) -> None:
            self.sent.append(message)
            self.heard.set()

        with anyio.fail_after(10):
            await self.app(self.scope, self._incoming.get, send)
        return self

    def leave(self) -> None:
        self._incoming.put_nowait({"type": "http.disconnect"})

    @property
    def status(self) -> int | None:
        return self.sent[0]["status"] if self.sent else None

    @property
    def headers(self) -> dict[bytes, bytes]:
        return dict(self.sent[0]["headers"])

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent[1:])

    @property
    def whole(self) -> bool:
        return len(self.sent) > 1 and not self.sent[-1].get("more_body", False)


def answering(*, status: Any = 200, headers: Any = (), body: Any = b"ok") -> Any:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "http"
        await receive()
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return app


async def bare(scope: Any, receive: Any, send: Any) -> None:
    assert scope["type"] == "http"
    told = {
        **{name: scope[name] for name in ("path", "root_path", "innkeeper.tenants")},
        "raw_path": scope["raw_path"].decode(),
        "caller": scope["innkeeper.caller"].key,
        "body": (await receive())["body"].decode(),
    }
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": json.dumps(told).encode()})


def quart_app() -> Quart:
    app = Quart("pages")

    @app.route("/", methods=["GET", "POST"])
    async def index() -> Any:
        body = (await request.get_data()).decode()
        return jsonify(at=url_for("deeper"), caller=request.scope["innkeeper.caller"].key, body=body)

    @app.get("/deeper")
    async def deeper() -> str:
        return "deep"

    return app


def starlette_app() -> Starlette:
    async def deeper(request: Any) -> JSONResponse:
        return JSONResponse({"at": str(request.url_for("deeper")), "caller": request.scope["innkeeper.caller"].key})

    return Starlette(routes=[Route("/deeper", deeper, name="deeper")])


def http_only(app: Any) -> Any:
    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "http"
        await app(scope, receive, send)

    return guarded


@pytest.fixture
async def open_apps():
    """Enter web apps that take nothing but HTTP, and leave them when the test is over."""
    contain_exits(asyncio.get_running_loop())
    async with contextlib.AsyncExitStack() as opened:

        async def enter(registry: Registry, **options: Any) -> WebApps:
            apps = {name: http_only(app) for name, app in registry.web_apps.items()}
            registry = dataclasses.replace(registry, web_apps=apps)
            return await opened.enter_async_context(WebApps(registry, LIMITS, **{"linger_seconds": 0.05, **options}))

        yield enter


# --- what an app is told ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outer", ["", "/inn"])
async def test_a_bare_app_is_told_the_whole_path_and_which_part_is_its_own(open_apps: Any, outer: str) -> None:
    apps = await open_apps(registry_of(notes=bare))
    visitor = await Visitor(apps, "/plugins/notes/x/y", (b"he", b"llo"), method="POST", root_path=outer)()
    assert json.loads(visitor.body) == {
        "path": f"{outer}/plugins/notes/x/y",
        "raw_path": f"{outer}/plugins/notes/x/y",
        "root_path": f"{outer}/plugins/notes",
        "innkeeper.tenants": ["a", "b"],
        "caller": "anonymous",
        "body": "hello",
    }


@pytest.mark.parametrize("outer", ["", "/inn"])
async def test_a_quart_app_finds_its_routes_and_makes_urls_that_lead_back_to_it(open_apps: Any, outer: str) -> None:
    apps = await open_apps(registry_of(notes=quart_app()))
    index = await Visitor(apps, "/plugins/notes/", (b"hello",), method="POST", root_path=outer)()
    at = f"{outer}/plugins/notes/deeper"
    assert json.loads(index.body) == {"at": at, "caller": "anonymous", "body": "hello"}
    deeper = await Visitor(apps, "/plugins/notes/deeper", root_path=outer)()
    assert (deeper.status, deeper.body, deeper.whole) == (200, b"deep", True)
    assert (await Visitor(apps, "/plugins/notes/nowhere")()).status == 404


@pytest.mark.parametrize("outer", ["", "/inn"])
async def test_a_starlette_app_finds_its_routes_and_makes_urls_that_lead_back_to_it(open_apps: Any, outer: str) -> None:
    apps = await open_apps(registry_of(notes=starlette_app()))
    deeper = await Visitor(apps, "/plugins/notes/deeper", root_path=outer)()
    assert json.loads(deeper.body) == {
        "at": f"http://inn.example{outer}/plugins/notes/deeper",
        "caller": "anonymous",
    }


async def test_a_tenant_that_the_caller_may_not_address_is_out_of_reach(open_apps: Any, settings: Any) -> None:
    data = SimpleNamespace(database=lambda plugin, tenant: None)
    contexts = Contexts(settings(), {}, Clients(), data)
    plugin = LoadedPlugin(PluginRecord("notes", "notes", "1", "notes"), 0.0)
    for tenant in ("a", "b", "c"):
        contexts.make(plugin, tenant)
    at_host, _ = contexts.make(plugin, None)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        tenant = scope["path"].rpartition("/")[2]
        answer = at_host.for_tenant(tenant).tenant if tenant != "d" else await asyncio.create_task(spawned())
        await answering(body=answer.encode())(scope, receive, send)

    async def spawned() -> str:
        return at_host.for_tenant("c").tenant

    registry = registry_of(notes=app, contexts=contexts)
    apps = await open_apps(registry)
    assert (await Visitor(apps, "/plugins/notes/b")()).body == b"b"
    for tenant in ("c", "d", "unheard-of"):
        assert (await Visitor(apps, f"/plugins/notes/{tenant}")()).status == 500
    assert at_host.for_tenant("c").tenant == "c", "outside of pages nothing is out of reach"
    with pytest.raises(UnknownTenant):
        at_host.for_tenant("unheard-of")


# --- the way in -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_without_its_last_slash_a_page_is_redirected_there(open_apps: Any, method: str) -> None:
    apps = await open_apps(registry_of(notes=bare))
    visitor = await Visitor(apps, "/plugins/notes", method=method, query_string=b"q=1", root_path="/inn")()
    assert (visitor.status, visitor.headers[b"location"]) == (308, b"/inn/plugins/notes/?q=1")


@pytest.mark.parametrize(
    ("path", "method", "status"),
    [
        ("/plugins/notes", "POST", 405),
        ("/plugins/nobody", "GET", 404),
        ("/plugins/nobody/", "GET", 404),
        ("/plugins/", "GET", 404),
        ("/plugins//notes/", "GET", 404),
        ("/plugins/Notes/", "GET", 404),
    ],
)
async def test_what_is_no_page_is_refused_in_json(open_apps: Any, path: str, method: str, status: int) -> None:
    apps = await open_apps(registry_of(notes=bare))
    visitor = await Visitor(apps, path, method=method)()
    assert (visitor.status, json.loads(visitor.body)["error"]["code"]) == (status, status)


@pytest.mark.parametrize("declared", [True, False])
async def test_a_body_that_is_too_long_never_reaches_the_app(open_apps: Any, declared: bool) -> None:
    registry = registry_of(notes=bare)
    apps = await open_apps(registry)
    length = [(b"content-length", b"1001")] if declared else [(b"transfer-encoding", b"chunked")]
    chunks = (b"",) if declared else (b"x" * 600, b"x" * 401)
    visitor = Visitor(apps, "/plugins/notes/", chunks, method="POST", headers=length)
    visitor.leave()
    assert (await visitor()).status == 413
    assert not registry.stock.charges.counts


# --- faults -----------------------------------------------------------------------------------------------------------


async def raising(scope: Any, receive: Any, send: Any) -> None:
    raise ValueError("the secret of the house")


async def exiting(scope: Any, receive: Any, send: Any) -> None:
    raise SystemExit(3)


async def exiting_in_a_task(scope: Any, receive: Any, send: Any) -> None:
    await asyncio.create_task(exiting(scope, receive, send))


async def silent(scope: Any, receive: Any, send: Any) -> None:
    await receive()


async def not_callable_like_this(scope: Any) -> None:
    """Takes too little."""


async def bodiless(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.body", "body": b"x"})


BROKEN = {
    "raises": raising,
    "exits": exiting,
    "exits in a task": exiting_in_a_task,
    "says nothing": silent,
    "takes too little": not_callable_like_this,
    "begins with the body": bodiless,
    "splits the answer": answering(headers=[(b"x-a", b"1\r\nset-cookie: a=b")]),
    "puts a header in a name": answering(headers=[(b"x-a: 1\r\nx-b", b"2")]),
    "has two lengths": answering(headers=[(b"content-length", b"2"), (b"content-length", b"3")]),
    "has no number for a length": answering(headers=[(b"content-length", b"+2")]),
    "has text for headers": answering(headers=[("x-a", "1")]),
    "switches protocols": answering(status=101),
    "has no status": answering(status="200 OK"),
}


@pytest.mark.parametrize("app", BROKEN.values(), ids=BROKEN)
async def test_a_fault_before_the_answer_is_a_500_whose_id_is_in_the_log(open_apps: Any, caplog: Any, app: Any) -> None:
    registry = registry_of(notes=app)
    visitor = await Visitor(await open_apps(registry, new_id=lambda: "id-1"), "/plugins/notes/")()
    assert visitor.status == 500
    assert json.loads(visitor.body)["error"]["message"] == "Internal error id-1"
    assert b"secret" not in visitor.body
    (record,) = [record for record in caplog.records if "id-1" in record.getMessage()]
    assert "'notes'" in record.getMessage()
    assert record.exc_info
    assert registry.stock.charges.counts == {Charge("notes", "web_app"): 1}


async def half(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"half", "more_body": True})


async def half_then_raising(scope: Any, receive: Any, send: Any) -> None:
    await half(scope, receive, send)
    raise ValueError("too late")


async def half_then_text(scope: Any, receive: Any, send: Any) -> None:
    await half(scope, receive, send)
    await send({"type": "http.response.body", "body": "text"})


@pytest.mark.parametrize("app", [half, half_then_raising, half_then_text])
async def test_a_fault_within_the_answer_leaves_it_without_an_end(open_apps: Any, caplog: Any, app: Any) -> None:
    registry = registry_of(notes=app)
    visitor = await Visitor(await open_apps(registry), "/plugins/notes/")()
    assert (visitor.status, visitor.body, visitor.whole) == (200, b"half", False)
    assert registry.stock.charges.counts == {Charge("notes", "web_app"): 1}
    assert any("'notes'" in record.getMessage() for record in caplog.records if record.levelno == logging.ERROR)


async def test_headers_of_the_connection_are_the_servers_own(open_apps: Any) -> None:
    own = [(b"Connection", b"keep-alive"), (b"Transfer-Encoding", b"chunked"), (b"Upgrade", b"h2c"), (b"X-A", b" 1 ")]
    visitor = await Visitor(await open_apps(registry_of(notes=answering(headers=own))), "/plugins/notes/")()
    assert visitor.headers == {b"x-a": b"1"}


# --- the end of a visit -----------------------------------------------------------------------------------------------


class Endless:
    """Streams for ever and notes how it ended."""

    def __init__(self, *, minds: bool) -> None:
        self.minds = minds
        self.ended = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            while True:
                try:
                    await send({"type": "http.response.body", "body": b"x", "more_body": True})
                except OSError:
                    if self.minds:
                        raise
        finally:
            self.ended.set()


@pytest.mark.parametrize("minds", [True, False])
async def test_an_endless_stream_ends_when_its_client_leaves(open_apps: Any, minds: bool) -> None:
    app = Endless(minds=minds)
    registry = registry_of(notes=app)
    visitor = Visitor(await open_apps(registry), "/plugins/notes/")
    visit = asyncio.create_task(visitor())
    await visitor.heard.wait()
    visitor.leave()
    await visit
    assert app.ended.is_set()
    assert (registry.strays.count, dict(registry.stock.charges.counts)) == (0, {})


async def test_a_starlette_stream_ends_when_its_client_leaves(open_apps: Any) -> None:
    async def chunks() -> Any:
        while True:
            yield b"x"

    async def stream(_: Any) -> StreamingResponse:
        return StreamingResponse(chunks())

    registry = registry_of(notes=Starlette(routes=[Route("/", stream)]))
    visitor = Visitor(await open_apps(registry), "/plugins/notes/")
    visit = asyncio.create_task(visitor())
    await visitor.heard.wait()
    visitor.leave()
    await visit
    assert (registry.strays.count, dict(registry.stock.charges.counts)) == (0, {})


async def test_a_page_that_hangs_is_canceled_once_its_client_has_left(open_apps: Any) -> None:
    canceled = asyncio.Event()

    async def hanging(scope: Any, receive: Any, send: Any) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            canceled.set()

    registry = registry_of(notes=hanging)
    visitor = Visitor(await open_apps(registry), "/plugins/notes/")
    visitor.leave()
    await visitor()
    assert canceled.is_set()
    assert (visitor.sent, dict(registry.stock.charges.counts)) == ([], {})


async def test_an_app_that_is_told_of_the_leaving_may_tidy_up(open_apps: Any) -> None:
    heard: list[str] = []

    async def tidy(scope: Any, receive: Any, send: Any) -> None:
        heard.append((await receive())["type"])
        heard.append((await receive())["type"])
        await asyncio.sleep(0)
        heard.append("tidied up")

    visitor = Visitor(await open_apps(registry_of(notes=tidy), linger_seconds=5), "/plugins/notes/")
    visitor.leave()
    await visitor()
    assert heard == ["http.request", "http.disconnect", "tidied up"]


async def test_what_ignores_its_cancellation_is_a_counted_stray(open_apps: Any) -> None:
    enough = asyncio.Event()

    async def stubborn(scope: Any, receive: Any, send: Any) -> None:
        while not enough.is_set():
            try:
                await enough.wait()
            except asyncio.CancelledError:
                continue

    registry = registry_of(notes=stubborn)
    visitor = Visitor(await open_apps(registry), "/plugins/notes/")
    visitor.leave()
    await visitor()
    assert registry.strays.names() == ("web app of plugin 'notes'",)
    enough.set()


async def test_an_app_may_go_on_for_a_while_after_its_answer(open_apps: Any) -> None:
    done: list[str] = []

    async def later(scope: Any, receive: Any, send: Any) -> None:
        await answering()(scope, receive, send)
        await asyncio.sleep(0.01)
        done.append("sent the mail")

    registry = registry_of(notes=later)
    visitor = await Visitor(await open_apps(registry, linger_seconds=5), "/plugins/notes/")()
    assert (visitor.body, visitor.whole, done) == (b"ok", True, ["sent the mail"])
    assert not registry.stock.charges.counts


async def test_a_canceled_request_takes_its_app_along(open_apps: Any) -> None:
    app = Endless(minds=True)
    visitor = Visitor(await open_apps(registry_of(notes=app)), "/plugins/notes/")
    visit = asyncio.create_task(visitor())
    await visitor.heard.wait()
    visit.cancel()
    await asyncio.wait((visit,))
    assert visit.cancelled()
    assert app.ended.is_set()


async def test_the_end_of_the_host_cuts_streams_short_and_answers_no_more(open_apps: Any) -> None:
    app = Endless(minds=True)
    registry = registry_of(notes=app)
    apps = await open_apps(registry)
    visitor = Visitor(apps, "/plugins/notes/")
    visit = asyncio.create_task(visitor())
    await visitor.heard.wait()
    await apps.end()
    await visit
    assert app.ended.is_set()
    assert not visitor.whole
    assert (await Visitor(apps, "/plugins/notes/")()).status == 503
    assert not registry.stock.charges.counts


async def test_a_page_that_has_not_answered_when_the_host_stops_is_a_503(open_apps: Any) -> None:
    begun = asyncio.Event()

    async def hanging(scope: Any, receive: Any, send: Any) -> None:
        begun.set()
        await asyncio.Event().wait()

    apps = await open_apps(registry_of(notes=hanging))
    visitor = Visitor(apps, "/plugins/notes/")
    visit = asyncio.create_task(visitor())
    await begun.wait()
    await apps.end()
    await visit
    assert (visitor.status, b"retry-after" in visitor.headers) == (503, True)


# --- the lifespan of apps ---------------------------------------------------------------------------------------------


def living(log: list[str], *, startup: str = "complete", shutdown: str = "complete") -> Any:
    """Make an app that speaks the lifespan protocol; ``hang`` is a step that it never answers."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await answering(body=scope["state"]["town"].encode())(scope, receive, send)
            return
        for step, how in (("startup", startup), ("shutdown", shutdown)):
            assert (await receive())["type"] == f"lifespan.{step}"
            log.append(step)
            scope["state"]["town"] = "Ghent"
            if how == "hang":
                await asyncio.Event().wait()
            await send({"type": f"lifespan.{step}.{how}", "message": "Traceback\n  of it\nno town\n"})

    return app


async def test_an_app_is_started_and_stopped_with_the_host_and_finds_its_state() -> None:
    log: list[str] = []
    async with WebApps(registry_of(notes=living(log)), LIMITS) as apps:
        assert log == ["startup"]
        assert (await Visitor(apps, "/plugins/notes/")()).body == b"Ghent"
    assert log == ["startup", "shutdown"]


async def test_a_quart_and_a_starlette_app_are_started_and_stopped_with_the_host() -> None:
    log: list[str] = []
    flask = quart_app()
    flask.before_serving(lambda: log.append("quart up"))
    flask.after_serving(lambda: log.append("quart down"))

    @contextlib.asynccontextmanager
    async def lifespan(_: Any) -> Any:
        log.append("starlette up")
        yield {"town": "Ghent"}
        log.append("starlette down")

    async def town(request: Any) -> JSONResponse:
        return JSONResponse(request.state.town)

    star = Starlette(routes=[Route("/", town)], lifespan=lifespan)
    async with WebApps(registry_of(flask=flask, star=star), LIMITS) as apps:
        assert sorted(log) == ["quart up", "starlette up"]
        assert (await Visitor(apps, "/plugins/star/")()).body == b'"Ghent"'
    assert sorted(log[2:]) == ["quart down", "starlette down"]


@pytest.mark.parametrize("app", [bare, answering(), silent])
async def test_an_app_that_does_not_speak_it_is_served_without(app: Any) -> None:
    registry = registry_of(notes=app)
    async with WebApps(registry, LIMITS) as apps:
        assert not registry.blames.any
        assert (await Visitor(apps, "/plugins/notes/")()).status == (500 if app is silent else 200)


@pytest.mark.parametrize(
    ("startup", "reason"),
    [
        ("failed", "hook 'web_app': its app failed in its lifespan's startup: no town"),
        ("hang", "hook 'web_app': its app took longer than 0.05 s for its lifespan's startup"),
    ],
)
async def test_an_app_that_cannot_be_started_is_a_start_fault(startup: str, reason: str) -> None:
    registry = registry_of(notes=living([], startup=startup))
    async with WebApps(registry, LIMITS, deadline=0.05):
        with pytest.raises(StartFault) as caught:
            registry.blames.settle()
    assert caught.value.faults == (f"plugin 'notes': {reason}",)


async def test_in_quarantine_an_app_that_cannot_be_started_is_not_served() -> None:
    registry = registry_of(notes=living([], startup="failed"), other=answering(), quarantine=True)
    async with WebApps(registry, LIMITS) as apps:
        registry.blames.settle()
        assert (await Visitor(apps, "/plugins/notes/")()).status == 404
        assert (await Visitor(apps, "/plugins/other/")()).status == 200


@pytest.mark.parametrize("shutdown", ["failed", "hang"])
async def test_an_app_that_cannot_be_stopped_is_logged_and_charged(shutdown: str, caplog: Any) -> None:
    registry = registry_of(notes=living([], shutdown=shutdown))
    async with WebApps(registry, LIMITS, deadline=0.05):
        pass
    assert "'notes'" in caplog.text
    assert "lifespan's shutdown" in caplog.text
    assert registry.stock.charges.counts == {Charge("notes", "web_app"): 1}


async def test_many_apps_that_cannot_be_stopped_take_no_longer_than_one(caplog: Any) -> None:
    registry = registry_of(**{f"notes{n}": living([], shutdown="hang") for n in range(40)})
    async with WebApps(registry, LIMITS, deadline=0.1):
        began = time.monotonic()
    assert time.monotonic() - began < 2
    assert caplog.text.count("lifespan's shutdown") == 40


# --- in a host --------------------------------------------------------------------------------------------------------


async def test_the_host_serves_its_own_page_of_plugins(settings: Any) -> None:
    base = "http://127.0.0.1:8000"
    host = Host(settings(), base)
    await host.start()
    try:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(host), base_url=base) as http:
            page = await http.get("/plugins.json")
            assert {plugin["name"] for plugin in page.json()["plugins"]} >= {"hello", "doorkeeper"}
            assert page.headers["cache-control"] == "no-store"
            for path in ("//plugins.json", "/plugins.json/", "//plugins/", "/", "/plugins", "/plugins/"):
                refused = await http.get(f"{base}{path}")
                assert (refused.status_code, refused.json()["error"]["code"]) == (404, 404)
            assert (await http.post("/plugins.json")).status_code == 405
    finally:
        await host.stop()


STARTLESS = """
from innkeeper import Agent, hookimpl
async def answer(turn): return "hi"
async def app(scope, receive, send):
    await receive()
    await send({"type": "lifespan.startup.failed", "message": "no town"})
@hookimpl
def web_app(): return app
@hookimpl
def register_agents(): return Agent("startless", answer)
@hookimpl
def should_handle_turn(): return True
"""


@pytest.fixture
def startless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install a plugin with an agent, a gate, and a web app that cannot be started."""
    monkeypatch.syspath_prepend(tmp_path)
    info = tmp_path / "startless-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: startless\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[innkeeper.v1]\nstartless = startless_of_this_test\n")
    (tmp_path / "startless_of_this_test.py").write_text(STARTLESS)
    yield
    sys.modules.pop("startless_of_this_test", None)


FAULT = "plugin 'startless' of startless 1.0: hook 'web_app': its app failed in its lifespan's startup: no town"


@pytest.mark.usefixtures("startless")
async def test_a_host_refuses_to_start_over_an_app_that_cannot_be_started(settings: Any) -> None:
    with pytest.raises(StartFault) as caught:
        await Host(settings(), "http://127.0.0.1:8000").start()
    assert caught.value.faults == (FAULT,)


@pytest.mark.usefixtures("startless")
async def test_in_quarantine_nothing_of_a_plugin_is_served_whose_app_cannot_be_started(settings: Any) -> None:
    host = Host(settings(toml='[host]\non_broken_plugin = "quarantine"\n'), "http://127.0.0.1:8000")
    await host.start()
    try:
        assert host.state == "degraded"
        assert "startless" not in host.tenants
        assert all("startless" not in tenant.plugins for tenant in host.tenants.values())
        why = "plugin 'startless', which brings its agent, is not served"
        assert host.lacks == (f"quarantined: {FAULT}", f"left out: tenant 'startless': {why}")
    finally:
        await host.stop()
