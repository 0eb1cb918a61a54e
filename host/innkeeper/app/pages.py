"""The host's own pages, on Quart: health now, and the place where plugins' web apps are mounted."""

from collections.abc import Callable

from quart import Quart, Response, jsonify
from werkzeug.exceptions import HTTPException

from innkeeper.edge.http import refusal


def create_pages(state: Callable[[], str]) -> Quart:
    """Make the Quart app. ``state`` answers "ready", or the word for what the host is doing instead.

    ``/healthz`` says that the process answers, ``/readyz`` whether it takes messages: 200, or 503 while it starts or
    stops.
    """
    pages = Quart(__name__, static_folder=None)

    pages.config["PROVIDE_AUTOMATIC_OPTIONS"] = False

    @pages.get("/healthz")
    async def healthz() -> Response:
        return jsonify(status="ok")

    @pages.get("/readyz")
    async def readyz() -> tuple[Response, int]:
        now = state()
        return jsonify(status=now), 200 if now == "ready" else 503

    @pages.errorhandler(HTTPException)
    async def refuse(error: HTTPException) -> tuple[Response, int, dict[str, str]]:
        status = error.code or 500
        kept = {name: value for name, value in error.get_headers() if name == "Allow"}
        return Response(refusal(status, "").reply.body, content_type="application/json"), status, kept

    return pages
