"""What the check of a plugin finds, each on a plugin that does nothing else wrong."""

import logging
import sys
import threading

import pytest

from innkeeper.testing import Finding, Findings, check_plugin, conformance, host, trial

HEAD = """
import time
from innkeeper import *
from innkeeper import Config as Base
"""

GOOD = """
from contextlib import asynccontextmanager
import click

schema_version = 2
requires = ("TOWN",)

class Config(Base):
    word: str = "x"

async def answer(turn): return "ok"

@hookimpl
def register_agents(): return Agent("good-agent", answer)

@hookimpl
async def ensure_tables(db, version):
    if version < 1:
        async with db.transaction():
            await db.execute("CREATE TABLE things (id INTEGER)")
    if version < 2:
        await db.executemany("INSERT INTO things VALUES (?)", [(1,), (2,)])
        await db.fetch_one("SELECT * FROM things")
        assert len(await db.fetch_all("SELECT * FROM things", as_dict=True)) == 2

@hookimpl
@asynccontextmanager
async def lifespan(plugin):
    plugin.state["town"] = plugin.env("TOWN")
    yield

@hookimpl
def should_handle_turn(turn, history, plugin): return True

@hookimpl
def agent_tools(session):
    async def run(arguments, turn): return "x"
    return [Tool("look", "Looks.", {"type": "object", "properties": {"a": {}}, "required": ["a"]}, run)]

@hookimpl
def capability(): return "can"

@hookimpl
def summarize_messages(messages): return "short"

@hookimpl
def on_messages_displaced(session, messages): pass

@hookimpl
def on_turn_event(event): pass

@hookimpl
def workspace_backing(scope): return None

@hookimpl
def web_app():
    async def app(scope, receive, send):
        assert scope["innkeeper.caller"].key and scope["innkeeper.tenants"]
        await send({"type": "http.response.start", "status": 404, "headers": []})
        await send({"type": "http.response.body", "body": b""})
    return app

@hookimpl
def cli():
    @click.group()
    def group(): pass
    @group.command()
    def one(): pass
    return group
"""


def test_a_plugin_that_keeps_every_promise_is_found_to_be_in_order(install):
    install("good", HEAD + GOOD)
    findings = check_plugin("good", environ={"TOWN": "Ghent"})
    assert (findings.found, str(findings)) == ((), "plugin 'good':\nnothing found")
    findings.raise_if_any()


def hook(signature: str, body: str, options: str = "") -> str:
    return f"@hookimpl{options}\ndef {signature}: {body}\n"


async_hook = "@hookimpl\nasync def {}\n".format
TABLES = "schema_version = 1\n"
SWALLOWS = """
schema_version = 1
@hookimpl
async def ensure_tables(db, version):
    try:
        await db.execute("CREATE TABLE things (id INTEGER)")
    except DatabaseError:
        pass
"""
TWICE = """
schema_version = 1
@hookimpl
async def ensure_tables(db, version):
    await db.execute("CREATE TABLE things (id INTEGER)")
"""
FORGETFUL = """
class Files:
    async def read_file(self, path): return None
    async def write_file(self, path, text): pass
    async def exists(self, path): return path.strip("/") == ""
    async def delete_file(self, path): return False
    async def read_dir(self, path): return ()
    async def info(self): return WorkspaceInfo(0)
"""
LEAVING = """
from contextlib import asynccontextmanager
@hookimpl
@asynccontextmanager
async def lifespan():
    yield
    raise ValueError("too late")
"""
FICKLE = """
import uuid
async def answer(turn): return "ok"
@hookimpl
def register_agents(): return Agent(f"a-{uuid.uuid4()}", answer)
"""
COMMANDS = """
import click
@hookimpl
def cli():
    @click.group()
    def group(): pass
    class Broken(click.Command):
        def get_help(self, ctx): raise ValueError("no help")
    group.add_command(Broken("one"))
    return group
"""
STUBBORN = """
import asyncio
@hookimpl
async def capability():
    for _ in range(80):
        try:
            await asyncio.sleep(0.1)
        except asyncio.CancelledError:
            pass
"""
TOOL = "async def run(arguments, turn): return 'x'\n"


def tools(schema: str, description: str = "d", name: str = "look") -> str:
    return TOOL + hook("agent_tools()", f"return [Tool({name!r}, {description!r}, {schema}, run)]")


ERRORS = [
    ("raise RuntimeError('broken')", "import of bad raised RuntimeError: broken"),
    (hook("should_handle_trun(turn)", "pass"), "did you mean 'should_handle_turn'"),
    (hook("should_handle_turn(turn, session)", "pass"), "it has no argument 'session'"),
    (hook("should_handle_turn(turn)", "return 'yes'"), "answered str; expected is True, False or None"),
    (hook("should_handle_turn(turn)", "turn.text.index('Hello')"), "raised ValueError: substring not found"),
    (hook("should_handle_turn(turn)", "time.sleep(0.3)"), "should_handle_turn of plugin 'bad' blocks the event loop"),
    ("requires = ('BAD_TOWN',)" + "\n" + hook("capability()", "pass"), "requires BAD_TOWN in the environment"),
    ("class Config(Base):\n    word: str\n" + hook("capability()", "pass"), "plugins.bad.word: Field required"),
    (SWALLOWS, "goes on after statement 1 failed"),
    (TWICE, "table things already exists"),
    (FORGETFUL + hook("workspace_backing(scope)", "return Files()"), "A file is read exactly as it was written last."),
    (hook("workspace_backing(scope)", "return object()"), "answered object without read_file"),
    (tools("{'type': 'object', 'x': object()}"), "its parameters are no JSON"),
    (tools("{'type': 'object', 'properties': []}"), "properties is no object of schemas"),
    (tools("{'type': 'object', 'required': ['a']}"), "required names what is not among its properties"),
    (tools("{'type': 'object'}", name="final_reply"), "brings a tool 'final_reply', a name that is reserved"),
    (hook("capability()", "return 1"), "capability of plugin 'bad' answered int"),
    (hook("summarize_messages(messages)", "1 / 0"), "summarize_messages of plugin 'bad' raised ZeroDivisionError"),
    (hook("on_messages_displaced(messages)", "1 / 0"), "on_messages_displaced of plugin 'bad' raised Zero"),
    (hook("on_turn_event(event)", "1 / 0"), "on_turn_event of plugin 'bad' raised ZeroDivisionError"),
    (LEAVING, "raised ValueError: too late"),
    (FICKLE, "register_agents answered ['a-"),
    (hook("web_app()", "return 'app'"), "hook 'web_app' answered str"),
    (
        "async def app(scope, receive, send): 1 / 0\n" + hook("web_app()", "return app"),
        "web_app raised ZeroDivisionError",
    ),
    (COMMANDS, "innkeeper bad one --help ends with 1: ValueError"),
    (STUBBORN, "plugins run on after the host has stopped: capability of plugin 'bad'"),
]


@pytest.mark.parametrize(("code", "words"), ERRORS, ids=[words for _, words in ERRORS])
def test_a_promise_that_is_broken_is_an_error(install, code, words):
    install("bad", HEAD + code)
    findings = check_plugin("bad")
    assert any(words in each.what for each in findings.errors), str(findings)
    with pytest.raises(AssertionError, match="plugin 'bad':"):
        findings.raise_if_any()


def test_a_plugin_that_never_gives_the_loop_back_is_told_and_left_behind(install, monkeypatch):
    monkeypatch.setattr(trial, "TURN_SECONDS", 0.5)
    monkeypatch.setattr(host, "STOP_SECONDS", 0.5)
    install("bad", HEAD + "import threading\nfree = threading.Event()\n" + hook("should_handle_turn()", "free.wait()"))
    try:
        found = check_plugin("bad").found
    finally:
        sys.modules["bad"].free.set()
        for thread in threading.enumerate():
            if thread.name == "host under test":
                thread.join()
    assert [each.what for each in found] == [
        "the turn of 'Hello' has not ended after 0.5 s",
        "should_handle_turn of plugin 'bad' blocks the event loop",
    ]


WARNINGS = [
    ("print('hello from here')\n" + hook("capability()", "pass"), "prints 'hello from here'"),
    ("time.sleep(1.1)\n" + hook("capability()", "pass"), "import of bad takes 1."),
    (
        "class Config(Base):\n    model_config = {'extra': 'allow'}\n" + hook("capability()", "pass"),
        "Config takes unknown keys",
    ),
    ("class Config(Base):\n    word: str\n" + hook("capability()", "pass"), "Config.word is required and says nothing"),
    (tools("{'type': 'object'}", description=""), "tool 'look' has no description"),
]


@pytest.mark.parametrize(("code", "words"), WARNINGS, ids=[words for _, words in WARNINGS])
def test_what_may_become_wrong_is_a_warning_and_no_error(install, code, words):
    install("bad", HEAD + code)
    findings = check_plugin("bad", settings={"plugins": {"bad": {"word": "x"}}} if "word" in code else None)
    assert [each.level for each in findings.found if words in each.what] == ["warning"], str(findings)
    findings.raise_if_any()


def test_a_plugin_that_conflicts_with_what_is_installed_is_reported_without_being_imported(install):
    install("bad", "raise SystemExit('imported')", requires=("innkeeper>=0.1", "quart<0.1", "nobody-has-this", "x y"))
    whats = [each.what for each in check_plugin("bad").errors]
    assert any("quart<0.1, and quart" in what for what in whats)
    assert "bad requires nobody-has-this, which is not installed" in whats
    assert "bad requires 'x y', which is no requirement" in whats
    assert not any("imported" in what for what in whats)


def test_a_plugin_that_does_not_say_which_host_it_needs_is_remarked_on(install):
    install("bad", HEAD + hook("capability()", "pass"), requires=())
    (only,) = check_plugin("bad").found
    assert (only.level, only.what) == ("warning", "bad does not require innkeeper")


def test_a_name_that_is_not_installed_is_answered_with_one_that_is():
    (only,) = check_plugin("helo").found
    assert only.what == "no plugin 'helo' is installed"
    assert "Did you mean 'hello'?" in only.hint


def test_findings_are_printed_with_what_helps():
    findings = Findings("p", (Finding("error", "wrong", "do this"), Finding("warning", "odd")))
    assert str(findings) == "plugin 'p':\nerror: wrong\n  do this\nwarning: odd"


def test_a_check_leaves_the_log_as_it_was(install):
    install("good", HEAD + hook("capability()", "return 1"))
    before = [(name, logging.getLogger(name).handlers[:]) for name in ("innkeeper", "innkeeper.plugins.good")]
    check_plugin("good")
    assert before == [(name, logging.getLogger(name).handlers) for name in ("innkeeper", "innkeeper.plugins.good")]
    assert logging.getLogger("innkeeper").propagate


def test_an_import_that_hangs_is_given_its_deadline_once(install, monkeypatch):
    monkeypatch.setattr(conformance, "IMPORT_SECONDS", 0.05)
    monkeypatch.setattr(conformance, "_PATIENCE", 10_000)
    install("hangs", "import threading\nthreading.Event().wait()")
    assert check_plugin("hangs").errors == (Finding("error", "import of hangs took longer than 0.05 s"),)


def test_what_is_probably_meant_otherwise_is_a_warning(install):
    install("vague", HEAD + "@hookimpl\ndef capability(): return ''\ndef should_handle_turn(turn): ...")
    (found,) = check_plugin("vague").found
    assert (found.level, found.what.partition(",")[0]) == ("warning", "should_handle_turn looks like a hook")


FILES = """
from pathlib import Path
class Config(Base):
    list: Path
@hookimpl
def capability(plugin): return plugin.config.list.read_text()
"""


def test_relative_paths_begin_where_the_settings_are(install, tmp_path):
    (tmp_path / "words.txt").write_text("words")
    install("reads", HEAD + FILES)
    settings = {"plugins": {"reads": {"list": "words.txt"}}}
    assert not check_plugin("reads", settings=settings, folder=tmp_path).errors
    assert "FileNotFoundError" in str(check_plugin("reads", settings=settings))
