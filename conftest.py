"""Fixtures for the tests of plugins and examples: a host in this process, with what the environment has installed."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from innkeeper.app import Host
from innkeeper.registry.facade import Hooks
from innkeeper.settings import load_settings

BASE = "http://127.0.0.1:8000"


@dataclass(frozen=True, slots=True)
class House:
    """A host that has been started, and who speaks to it."""

    host: Host
    http: httpx.AsyncClient

    def hooks(self, tenant: str = "notebook") -> Hooks:
        """Return the hooks of a tenant, to ask as the host asks."""
        return self.host.tenants[tenant].hooks

    async def say(self, text: str, *, tenant: str = "notebook", context: str = "home") -> str:
        """Send a message and return the reply."""
        message = {"messageId": str(uuid4()), "role": "ROLE_USER", "parts": [{"text": text}], "contextId": context}
        request = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}
        answer = await self.http.post(f"/agents/{tenant}", json=request)
        status = answer.json()["result"]["task"]["status"]
        assert status["state"] == "TASK_STATE_COMPLETED", status  # noqa: S101 - so say tests
        return "".join(part["text"] for part in status.get("message", {}).get("parts", ()))


Open = Callable[[str], AbstractAsyncContextManager[House]]


@pytest.fixture
def anyio_backend() -> str:
    """Async tests run on asyncio."""
    return "asyncio"


@pytest.fixture
def open_house(tmp_path: Path) -> Open:
    """Open a host with settings given as TOML; one after the other they share a data directory."""

    @asynccontextmanager
    async def opened(toml: str) -> AsyncIterator[House]:
        (tmp_path / "innkeeper.toml").write_text(toml)
        host = Host(load_settings(None, {"INNKEEPER_HOST__PUBLIC_URL": BASE}, tmp_path), BASE)
        await host.start()
        try:
            async with httpx.AsyncClient(transport=httpx.ASGITransport(host), base_url=BASE) as http:  # type: ignore[arg-type]
                yield House(host, http)
        finally:
            await host.stop()

    return opened
