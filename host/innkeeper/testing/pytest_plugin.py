"""Fixtures for the tests of plugins; pytest finds them once Innkeeper is installed.

A plain test calls ``result()`` of what takes time, an async test (under any pytest plugin that runs it) awaits it::

    def test_it_greets(send):
        assert send("Ada").result().text == "Hello, Ada"

    @pytest.mark.anyio
    async def test_it_greets_live(live_host):
        reply = await live_host.send("Ada")
        assert reply.text == "Hello, Ada"

``@pytest.mark.innkeeper(plugins=[…], settings={…}, environ={…})`` on a test, class or module says what its host is made
of: the names of the installed plugins to load (all by default), settings as in ``innkeeper.toml``, and environment
variables over those of the test. Marks closer to the test go over those farther away.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from innkeeper.contract.caller import Caller
    from innkeeper.testing.clock import FakeClock
    from innkeeper.testing.host import InProcessHost
    from innkeeper.testing.live import LiveHost
    from innkeeper.testing.setup import Setup
    from innkeeper.testing.speaking import Send


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known."""
    config.addinivalue_line(
        "markers", "innkeeper(plugins=None, settings=None, environ=None): what the host of the test is made of"
    )


@pytest.fixture
def host(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> "Iterator[InProcessHost]":
    """Run a host in this process without a socket, on a folder of its own; see ``InProcessHost``.

    A test that asks for ``fake_clock`` as well has a host whose time that is.
    """
    from innkeeper.testing.host import InProcessHost  # noqa: PLC0415 - costs nothing where it is not used

    clock = request.getfixturevalue("fake_clock") if "fake_clock" in request.fixturenames else None
    caller = request.getfixturevalue("caller")
    with InProcessHost(_setup(request), _folder(tmp_path_factory), clock=clock, caller=caller) as running:
        yield running


@pytest.fixture
def send(host: "InProcessHost") -> "Send":
    """Say something to an agent of the host: ``send("hi")``, short for ``host.send``."""
    return host.send


@pytest.fixture
def live_host(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> "Iterator[LiveHost]":
    """Run a host in a process of its own on a free port, as ``innkeeper serve`` runs it; see ``LiveHost``."""
    from innkeeper.testing.live import LiveHost  # noqa: PLC0415 - costs nothing where it is not used

    with LiveHost(_setup(request), _folder(tmp_path_factory)) as running:
        yield running


@pytest.fixture
def start_faults(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> "Callable[..., tuple[str, ...]]":
    """Start a host that is not meant to: ``start_faults(settings={…})``, over the marks, answers what it complains of.

    It answers ``()`` if the host starts after all.
    """
    from innkeeper.testing.faulty import faults_at_start  # noqa: PLC0415 - costs nothing where it is not used

    return lambda **more: faults_at_start(_setup(request).over(**more), _folder(tmp_path_factory))


@pytest.fixture
def caller(make_caller: "Callable[[str], Caller]") -> "Caller":
    """Who speaks to the host unless a test says otherwise; override it to be somebody else."""
    return make_caller("alice")


@pytest.fixture
def make_caller() -> "Callable[[str], Caller]":
    """Make a caller of a key: ``make_caller("bob")``."""
    from innkeeper.testing.samples import make_caller as make  # noqa: PLC0415 - costs nothing where it is not used

    return make


@pytest.fixture
def fake_clock() -> "FakeClock":
    """Make the clock of the host; it stands still until ``fake_clock.advance(seconds)``."""
    from innkeeper.testing.clock import FakeClock  # noqa: PLC0415 - costs nothing where it is not used

    return FakeClock()


def _folder(folders: pytest.TempPathFactory) -> Path:
    return folders.mktemp("innkeeper")


def _setup(request: pytest.FixtureRequest) -> "Setup":
    """Put the marks over one another, the farthest first."""
    from innkeeper.testing.setup import Setup  # noqa: PLC0415 - costs nothing where it is not used

    setup = Setup()
    for mark in reversed([*request.node.iter_markers("innkeeper")]):
        if mark.args:
            raise pytest.UsageError("the mark innkeeper takes plugins=, settings= and environ= by name")
        setup = setup.over(**mark.kwargs)
    return setup
