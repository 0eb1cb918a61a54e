"""A host under another server: lifespan, loopback, faults."""

from typing import Any

import anyio
import httpx
import pytest

from innkeeper.app import create_app

pytestmark = pytest.mark.anyio


class Server:
    """Plays the server's side of the lifespan protocol."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.sent: list[dict[str, Any]] = []
        self.to_app, self._from_server = anyio.create_memory_object_stream[dict[str, Any]](4)
        self.answered = anyio.Event()

    async def run(self) -> None:
        await self.app({"type": "lifespan"}, self._from_server.receive, self._send)

    async def tell(self, step: str) -> dict[str, Any]:
        self.answered = anyio.Event()
        await self.to_app.send({"type": f"lifespan.{step}"})
        await self.answered.wait()
        return self.sent[-1]

    async def _send(self, message: dict[str, Any]) -> None:
        self.sent.append(message)
        self.answered.set()

    def close(self) -> None:
        self.to_app.close()
        self._from_server.close()


async def get(app: Any, path: str, server: tuple[str, int] | None) -> httpx.Response:
    async def bound(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, "server": server}, receive, send)

    async with httpx.AsyncClient(transport=httpx.ASGITransport(bound), base_url="http://127.0.0.1:8000") as http:
        return await http.get(path)


async def test_a_host_lives_as_long_as_the_lifespan_and_serves_loopback_only(settings: Any) -> None:
    server = Server(create_app(settings()))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.run)
        assert (await server.tell("startup"))["type"] == "lifespan.startup.complete"
        card = "/agents/hello/.well-known/agent-card.json"
        assert (await get(server.app, card, ("127.0.0.1", 8000))).json()["name"] == "hello"
        assert (await get(server.app, card, ("::1", 8000))).status_code == 200
        for elsewhere in (("192.0.2.7", 8000), ("/run/app.sock", None), None):
            refused = await get(server.app, card, elsewhere)
            assert (refused.status_code, refused.json()["error"]["status"]) == (403, "PERMISSION_DENIED")
        assert (await server.tell("shutdown"))["type"] == "lifespan.shutdown.complete"
    with pytest.raises(RuntimeError, match="lifespan"):
        await get(server.app, card, ("127.0.0.1", 8000))
    server.close()


async def test_a_fault_fails_the_startup_with_every_reason(settings: Any) -> None:
    server = Server(create_app(settings(toml='tenants.x.agent = "nobody-brings-this"\ntenants.y.agent = "nor-this"')))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.run)
        failed = await server.tell("startup")
    assert failed["type"] == "lifespan.startup.failed"
    assert len(failed["message"].splitlines()) == 2
    server.close()
