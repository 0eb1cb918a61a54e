"""The pages: a list of journals, and each of them as HTML and as JSON."""

from collections.abc import Collection, Mapping
from typing import Any, Final, cast

from quart import Quart, Response, abort, jsonify, render_template, request

from innkeeper import PluginContext, UnknownTenant
from innkeeper_journal.entries import Journal

_SHOWN: Final = 100
_MOST: Final = 1000


def pages(plugin: PluginContext) -> Quart:
    """Make the application; its links are relative, wherever it is mounted.

    ``?limit=`` says how many events, the newest first.
    """
    app = Quart(__name__, static_folder=None)

    def tenants() -> Collection[str]:
        """Return the tenants that the caller may address."""
        scope = cast("Mapping[str, Any]", request.scope)
        return cast("Collection[str]", scope["innkeeper.tenants"])

    def find_journal(tenant: str) -> Journal | None:
        """Return the journal of a tenant, None if it keeps none or is not the caller's to see."""
        if tenant not in tenants():
            return None
        try:
            return Journal(plugin.for_tenant(tenant).db)
        except UnknownTenant:
            return None

    def get_journal(tenant: str) -> Journal:
        return find_journal(tenant) or abort(404)

    def limit() -> int:
        return max(1, min(request.args.get("limit", _SHOWN, type=int), _MOST))

    @app.get("/")
    async def index() -> str:
        return await render_template("index.html", tenants=sorted(filter(find_journal, tenants())))

    @app.get("/<tenant>/")
    async def show(tenant: str) -> str:
        entries = await get_journal(tenant).last(limit())
        return await render_template("journal.html", tenant=tenant, entries=entries)

    @app.get("/<tenant>/events.json")
    async def events(tenant: str) -> Response:
        return jsonify(events=[entry.as_json() for entry in await get_journal(tenant).last(limit())])

    return app
