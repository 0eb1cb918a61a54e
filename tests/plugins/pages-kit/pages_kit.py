"""Plugins with pages and commands: notes with tables on Quart, one that misbehaves as asked, one with bad commands."""

import asyncio
import json
from typing import Any

import click
from quart import Quart, jsonify, request, url_for

from innkeeper import Config, PluginContext, hookimpl


async def notes_of(plugin: PluginContext, tenant: str) -> list[str]:
    db = plugin.for_tenant(tenant).db
    return [text for (text,) in await db.fetch_all("SELECT text FROM notes ORDER BY rowid")]


class Notes:
    """Notes per tenant: read and written by a page and by a command."""

    schema_version = 1

    class Config(Config):
        greeting: str = "Hello"

    @hookimpl
    async def ensure_tables(self, db: Any) -> None:
        await db.execute("CREATE TABLE IF NOT EXISTS notes (text TEXT NOT NULL)")

    @hookimpl
    def web_app(self, plugin: PluginContext) -> Quart:
        app = Quart("notes")

        @app.get("/")
        async def index() -> Any:
            scope = request.scope
            return jsonify(
                caller=scope["innkeeper.caller"].key,
                tenants=scope["innkeeper.tenants"],
                at=url_for("notes", tenant="x"),
            )

        @app.route("/of/<tenant>", methods=["GET", "POST"])
        async def notes(tenant: str) -> Any:
            if request.method == "POST":
                text = (await request.get_data()).decode()
                await plugin.for_tenant(tenant).db.execute("INSERT INTO notes VALUES (?)", (text,))
            return jsonify(await notes_of(plugin, tenant))

        return app

    @hookimpl
    def cli(self, plugin: PluginContext) -> click.Group:
        @click.group()
        def notes() -> None:
            """Read and write notes."""

        @notes.command()
        @click.argument("tenant")
        def show(tenant: str) -> None:
            """Show the notes of TENANT."""
            for text in asyncio.run(notes_of(plugin, tenant)):
                click.echo(f"{plugin.config.greeting}: {text}")

        @notes.command()
        @click.argument("tenant")
        @click.argument("text")
        def add(tenant: str, text: str) -> None:
            """Add TEXT to the notes of TENANT."""
            db = plugin.for_tenant(tenant).db
            asyncio.run(db.execute("INSERT INTO notes VALUES (?)", (text,)))

        return notes


class Bare:
    """An ASGI function that does what its path says."""

    @hookimpl
    def web_app(self) -> Any:
        return misbehave


async def misbehave(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] != "http":
        raise RuntimeError("HTTP only")
    deed = scope["path"].removeprefix(scope["root_path"])
    headers = [(b"content-type", b"application/json")]
    if deed == "/raise":
        raise ValueError("the secret of the house")
    if deed == "/exit":
        raise SystemExit(3)
    if deed == "/hang":
        await asyncio.Event().wait()
    if deed == "/split":
        headers.append((b"x-a", b"1\r\nx-b: 2"))
    if deed == "/short":
        headers.append((b"content-length", b"100000"))
    if deed == "/long":
        headers.append((b"content-length", b"2"))
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    while deed == "/stream":
        await send({"type": "http.response.body", "body": b"x" * 1000, "more_body": True})
    if deed == "/half":
        await send({"type": "http.response.body", "body": b"half", "more_body": True})
        raise ValueError("too late")
    told = {name: scope[name] for name in ("path", "root_path", "innkeeper.tenants")}
    await send({"type": "http.response.body", "body": json.dumps(told).encode()})


class NoCommands:
    @hookimpl
    def cli(self) -> Any:
        raise SystemExit("no commands today")


notes, bare, no_commands = Notes(), Bare(), NoCommands()
