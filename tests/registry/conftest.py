"""Distributions of one file, installed into a folder on the path."""

import asyncio
import functools
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from innkeeper.registry.assembly import Surroundings
from innkeeper.registry.discovery import GROUP
from innkeeper.registry.foreign import Strays
from innkeeper.registry.outgoing import Clients
from innkeeper.store.plugin_databases import PluginDatabases


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Path]]:
    """Write a distribution's metadata and its module, as an installer would; imported ones are forgotten again."""
    monkeypatch.syspath_prepend(tmp_path)
    modules: list[str] = []

    def installing(
        distribution: str,
        code: str = "",
        *,
        entry_points: str | None = None,
        group: str = GROUP,
        requires: tuple[str, ...] = (),
        version: str = "1.0",
        folder: Path = tmp_path,
    ) -> Path:
        module = distribution.replace("-", "_")
        modules.append(module)
        info = folder / f"{module}-{version}.dist-info"
        info.mkdir(parents=True)
        lines = ["Metadata-Version: 2.1", f"Name: {distribution}", f"Version: {version}"]
        (info / "METADATA").write_text("\n".join([*lines, *(f"Requires-Dist: {line}" for line in requires)]) + "\n")
        entries = f"{distribution} = {module}" if entry_points is None else entry_points
        (info / "entry_points.txt").write_text(f"[{group}]\n{entries}\n")
        (folder / f"{module}.py").write_text(dedent(code))
        return folder

    yield installing
    for module in modules:
        sys.modules.pop(module, None)


@pytest.fixture
async def surroundings(tmp_path: Path) -> AsyncIterator[Surroundings]:
    clients = Clients()
    data = PluginDatabases(tmp_path / "data")
    yield Surroundings({"HOME_TOWN": "Ghent"}, clients, data)
    await data.aclose()
    await clients.end()


@pytest.fixture
def strays() -> Strays:
    return Strays()


@pytest.fixture
def all_gone_of() -> Callable[[Strays], Awaitable[None]]:
    """Wait until the last of these strays has ended."""

    async def gone(strays: Strays) -> None:
        async with asyncio.timeout(5):
            while strays.count:  # noqa: ASYNC110 - threads end where no event of the loop tells
                await asyncio.sleep(0.001)

    return gone


@pytest.fixture
def all_gone(strays: Strays, all_gone_of: Callable[[Strays], Awaitable[None]]) -> Callable[[], Awaitable[None]]:
    """Wait until the last stray has ended."""
    return functools.partial(all_gone_of, strays)
