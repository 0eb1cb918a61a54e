"""A plugin that gives its secret away in every way it has: nothing that the host writes of it tells the secret."""

import json
import logging

import pytest

from innkeeper import StartFault
from innkeeper.registry.listing import listing
from innkeeper.settings import load_settings
from innkeeper.testing import InProcessHost, check_plugin
from innkeeper.testing.setup import Setup

SECRET = "sk-Zw7fQ/with space"
HEAD = """
import asyncio, os
from contextlib import asynccontextmanager
from pydantic import SecretStr
from innkeeper import *
from innkeeper import Config as Base

class Config(Base):
    token: SecretStr

def tell(plugin):
    raise RuntimeError("401 for " + plugin.config.token.get_secret_value())

async def answer(turn): return "ok"

@hookimpl
def register_agents(): return Agent("leaky", answer)
"""
AT_START = {
    "import": "raise RuntimeError('no ' + os.environ['LEAKY'])",
    "web_app": "@hookimpl\ndef web_app(plugin): tell(plugin)",
    "lifespan": "@hookimpl\n@asynccontextmanager\nasync def lifespan(plugin):\n    tell(plugin)\n    yield",
    "a web app's lifespan": """
@hookimpl
def web_app(plugin):
    async def app(scope, receive, send):
        if scope["type"] == "lifespan":
            await receive()
            said = "no " + plugin.config.token.get_secret_value()
            await send({"type": "lifespan.startup.failed", "message": said})
    return app
""",
    "ensure_tables": """
schema_version = 1
@hookimpl
def web_app(plugin):
    global seen
    seen = plugin
    async def app(scope, receive, send): pass
    return app
@hookimpl
def ensure_tables(db, version): tell(seen)
""",
    "a wrong answer": """
@hookimpl
def web_app(plugin):
    return type(plugin.config.token.get_secret_value(), (), {})()
""",
    "a validator": """
from pydantic import field_validator
class Config(Base):
    token: SecretStr
    @field_validator("token")
    @classmethod
    def check(cls, value): raise ValueError("no " + value.get_secret_value())
""",
    "a validator that breaks": """
from pydantic import model_validator
class Config(Base):
    token: SecretStr
    @model_validator(mode="after")
    def check(self): raise KeyError(self.token.get_secret_value())
""",
}
RUNNING = {
    "agent": """
async def fails(turn): tell(turn.plugin)
@hookimpl
def register_agents(): return Agent("leaky", fails)
""",
    "agent that exits": """
async def exits(turn): raise SystemExit(turn.plugin.config.token.get_secret_value() + 500 * "x")
@hookimpl
def register_agents(): return Agent("leaky", exits)
""",
    "agent's own task": """
async def other(plugin): raise SystemExit(plugin.config.token.get_secret_value())
async def starts(turn):
    await asyncio.wait([asyncio.create_task(other(turn.plugin))])
    import gc; gc.collect()
    return "ok"
@hookimpl
def register_agents(): return Agent("leaky", starts)
""",
    "gate": "@hookimpl\ndef should_handle_turn(plugin): tell(plugin)",
    "tools": "@hookimpl\ndef agent_tools(plugin): tell(plugin)",
    "tool": """
async def uses(turn): return await turn.tools[0].run({}, turn)
@hookimpl
def register_agents(): return Agent("leaky", uses)
@hookimpl
def agent_tools(plugin):
    @tool
    async def leak() -> str:
        "Leaks."
        tell(plugin)
    return [leak]
""",
    "listener": "@hookimpl\ndef on_turn_event(plugin): tell(plugin)",
    "displaced": "@hookimpl\nasync def on_messages_displaced(plugin): tell(plugin)",
    "summary": "@hookimpl\nasync def summarize_messages(plugin): tell(plugin)",
    "backing": "@hookimpl\ndef workspace_backing(plugin): tell(plugin)",
    "a backing's method": """
class Backing:
    def __init__(self, plugin): self.plugin = plugin
    async def read_file(self, path): tell(self.plugin)
    write_file = exists = delete_file = read_dir = info = read_file
@hookimpl
def workspace_backing(plugin): return Backing(plugin)
""",
    "page": """
@hookimpl
def web_app(plugin):
    async def app(scope, receive, send):
        if scope["type"] == "http": tell(plugin)
    return app
""",
    "a lifespan, left": """
@hookimpl
@asynccontextmanager
async def lifespan(plugin):
    yield
    tell(plugin)
""",
    "its log": """
async def logs(turn):
    try: tell(turn.plugin)
    except RuntimeError as error:
        turn.plugin.log.exception("could not: %s", error)
    return "ok"
@hookimpl
def register_agents(): return Agent("leaky", logs)
""",
}
WAYS = {"typed": (SECRET, {}), "of the environment": ("${LEAKY}", {"LEAKY": SECRET})}


@pytest.fixture(params=WAYS)
def setup(request) -> Setup:
    """The plugin's token comes to it in every way there is."""
    written, environ = WAYS[request.param]
    return Setup(plugins=("leaky",)).over(settings={"plugins": {"leaky": {"token": written}}}, environ=environ)


@pytest.fixture(autouse=True)
def every_record(caplog):
    caplog.set_level(logging.DEBUG, "innkeeper")


def told(caplog) -> str:
    """Return what was logged since the start, tracebacks too."""
    return caplog.text + "".join(caplog.handler.format(record) for record in caplog.records)


@pytest.mark.parametrize("case", AT_START)
def test_at_start(install, setup, tmp_path, caplog, monkeypatch, case):
    install("leaky", HEAD + AT_START[case])
    if "LEAKY" in setup.environ:
        monkeypatch.setenv("LEAKY", SECRET)
    elif case == "import":
        pytest.skip("a module that is imported knows its configuration from the environment alone")
    with pytest.raises(StartFault) as caught, InProcessHost(setup, tmp_path):
        pass
    assert "plugin 'leaky'" in str(caught.value)
    assert SECRET not in str(caught.value)
    assert SECRET not in told(caplog)


@pytest.mark.parametrize("case", AT_START)
def test_in_quarantine(install, setup, tmp_path, caplog, monkeypatch, case):
    install("leaky", HEAD + AT_START[case])
    monkeypatch.setenv("LEAKY", SECRET)
    if case == "import" and not setup.environ:
        pytest.skip("a module that is imported knows its configuration from the environment alone")
    setup = setup.over(settings={"host": {"on_broken_plugin": "quarantine"}})
    with InProcessHost(setup, tmp_path) as host:
        listed = json.dumps(listing(host.registry, load_settings(tmp_path / "innkeeper.toml", {}, tmp_path)))
    assert "quarantined" in listed
    assert SECRET not in listed
    assert SECRET not in told(caplog)


@pytest.mark.parametrize("case", RUNNING)
def test_while_it_runs(install, setup, tmp_path, caplog, case):
    install("leaky", HEAD + RUNNING[case])
    with InProcessHost(setup, tmp_path) as host:
        replies = [host.send("hi", tenant="leaky").result() for _ in range(2)]
        host.caught_up().result()
        host.displace(["a", "b"], tenant="leaky").result()
        host.summarize(["a", "b"], tenant="leaky").result()
        host.request("GET", "/plugins/leaky/").result()
        if "back" in case:
            with pytest.raises(Exception, match="hook"):
                host.run(host.workspace(tenant="leaky").read_file, "a").result()
        listed = json.dumps(listing(host.registry, load_settings(tmp_path / "innkeeper.toml", {}, tmp_path)))
        events = str(host.events)
    assert HIDES[case] in told(caplog), "it has not failed at all"
    for text in (str(replies), events, listed, told(caplog)):
        assert SECRET not in text
        assert SECRET[:12] not in text
    assert "leaky" in listed


ASKED = {"capability": "@hookimpl\ndef capability(plugin): tell(plugin)"}
HIDES = dict.fromkeys(RUNNING, "401 for") | {
    "agent that exits": "raised SystemExit",
    "agent's own task": "exception was never retrieved",
}


@pytest.mark.parametrize("case", ["gate", "page", "tools", "capability", "lifespan", "import"])
def test_by_the_doctor(install, setup, monkeypatch, case):
    install("leaky", HEAD + (RUNNING | AT_START | ASKED)[case])
    monkeypatch.setenv("LEAKY", SECRET)
    found = check_plugin("leaky", settings=setup.settings, environ=setup.environ)
    assert found.errors
    if case != "import" or setup.environ:
        assert SECRET not in str(found)
