"""A host whose plugins are distributions, installed as anybody would install them."""

import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from a2a.client import Client, ClientConfig, create_client
from a2a.types import AgentCard
from livehost import LiveHost, running_host

ROOT = Path(__file__).parents[2]
DISTRIBUTIONS = sorted(
    found.parent for kind in ("examples", "plugins", "tests/plugins") for found in ROOT.glob(f"{kind}/*/pyproject.toml")
)

TENANTS = """
[tenants]
asker = { use = [] }
echo = { use = [] }
executor = { use = [] }
fails = { use = [] }
flood = { use = [] }
hello = { use = [] }
waits = { use = [] }
untouched = { agent = "echo", use = [] }
guarded = { agent = "counter", use = ["doorkeeper"] }
besieged = { agent = "counter", use = ["raises-now", "raises-later", "hangs", "ignores-cancel", "says-no"] }
"""


@pytest.fixture(scope="session")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the example and test distributions were installed, built from their source."""
    target = tmp_path_factory.mktemp("plugins")
    offline = ("--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "--no-compile")
    command = (sys.executable, "-m", "pip", "install", "--quiet", *offline, "--target", target, *DISTRIBUTIONS)
    subprocess.run(command, check=True, timeout=50)
    return target


@pytest.fixture
def config(tmp_path: Path) -> Callable[..., Path]:
    """Write a settings file of a host with a data directory of its own; tables follow as text."""

    def write(tables: str = TENANTS, host: str = "", bind: str = "127.0.0.1:0") -> Path:
        path = tmp_path / "innkeeper.toml"
        path.write_text(f'[host]\nbind = ["{bind}"]\n{host}\n{tables}')
        return path

    return write


@pytest.fixture(scope="session")
def host(plugins: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveHost]:
    """One host for every test that leaves it as it was."""
    path = tmp_path_factory.mktemp("host") / "innkeeper.toml"
    runs = path.with_name("runs")
    path.write_text(f'[host]\nbind = ["127.0.0.1:0"]\n{TENANTS}')
    with running_host(path, plugins, COUNTER_FILE=str(runs)) as running:
        yield running


@pytest.fixture
def runs(host: LiveHost) -> Callable[[], list[str]]:
    """Read which tasks the agent ``counter`` has been run for, in order."""
    file = host.errors.with_name("runs")
    return lambda: [line.split()[0] for line in file.read_text().splitlines()] if file.exists() else []


@pytest.fixture
def client_of() -> Callable[..., "AsyncIterator[Client]"]:
    """Open the a2a-sdk's client on an agent's base URL or card; ``streaming`` False makes its sends block."""

    @asynccontextmanager
    async def opened(
        agent: str | AgentCard, *, streaming: bool = True, binding: str = "JSONRPC"
    ) -> AsyncIterator[Client]:
        async with httpx.AsyncClient(timeout=30, trust_env=False) as http:
            config = ClientConfig(streaming=streaming, httpx_client=http, supported_protocol_bindings=[binding])
            yield await create_client(agent, config)

    return opened
