"""The host's own pages, on Quart, beside those of plugins."""

from collections.abc import Callable, Mapping
from typing import Final, final

from quart import Quart, Response, abort, jsonify, request
from werkzeug.exceptions import HTTPException

from innkeeper.app.web_apps import WebApps
from innkeeper.contract.message import JSON
from innkeeper.edge.app import ASGI, GUARDED_PREFIX, STATUS_PATHS, Receive, Scope, Send
from innkeeper.edge.http import refusal
from innkeeper.edge.routes import Served

SERVING: Final = frozenset({"ready", "degraded"})
"""What a host is doing while it takes messages."""


@final
class Pages:
    """The app within: what is below ``/plugins/`` goes to ``web_apps``, the rest to Quart.

    ``state`` answers what the host is doing, ``plugins`` what there is to know of the plugins. ``/healthz`` says that
    the process answers, ``/readyz`` whether it takes messages: 200, or 503 while it starts or stops.
    """

    def __init__(self, state: Callable[[], str], plugins: Callable[[], Mapping[str, JSON]], web_apps: WebApps) -> None:
        self._web_apps = web_apps
        self._pages = _pages(state, plugins)

    @property
    def routes(self) -> frozenset[Served]:
        """Everything that is answered here; the path of a plugin's app is also everything below it."""
        rules = self._pages.url_map.iter_rules()
        own = {(method, rule.rule) for rule in rules for method in rule.methods or ()}
        return frozenset(own | {("GET", f"{GUARDED_PREFIX}{name}/") for name in self._web_apps.names})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        app: ASGI = self._web_apps if scope["path"].startswith(GUARDED_PREFIX) else self._pages
        await app(scope, receive, send)


def _pages(state: Callable[[], str], plugins: Callable[[], Mapping[str, JSON]]) -> Quart:
    pages = Quart(__name__, static_folder=None)

    pages.config["PROVIDE_AUTOMATIC_OPTIONS"] = False

    @pages.before_request
    async def admitted() -> None:
        """Serve nothing but a status to those whom no door has seen, however a path is spelled (``//plugins.json``)."""
        if request.scope["path"] not in STATUS_PATHS and "innkeeper.caller" not in request.scope:
            abort(404)

    @pages.get("/healthz")
    async def healthz() -> Response:
        return jsonify(status="ok")

    @pages.get("/readyz")
    async def readyz() -> tuple[Response, int]:
        now = state()
        return jsonify(status=now), 200 if now in SERVING else 503

    @pages.get("/plugins.json")
    async def plugins_json() -> tuple[Response, dict[str, str]]:
        return jsonify(plugins()), {"Cache-Control": "no-store"}

    @pages.errorhandler(HTTPException)
    async def refuse(error: HTTPException) -> tuple[Response, int, dict[str, str]]:
        status = error.code or 500
        kept = {name: value for name, value in error.get_headers() if name == "Allow"}
        return Response(refusal(status, "").reply.body, content_type="application/json"), status, kept

    return pages
