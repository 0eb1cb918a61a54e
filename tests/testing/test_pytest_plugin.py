"""The fixtures, as a test run of somebody else's meets them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("anyio", "httpx", "pydantic", "a2a", "quart", "innkeeper.registry", "innkeeper.app", "innkeeper.testing.host")


def python(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("INNKEEPER_", "PYTEST_"))}
    return subprocess.run(
        (sys.executable, *arguments), cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=50
    )


def run(tmp_path: Path, code: str, *options: str) -> str:
    (tmp_path / "test_it.py").write_text(f"import pytest\n{code}")
    options = ("--strict-markers", "-W", "error", "-p", "no:cacheprovider", "-q", *options)
    return python("-m", "pytest", *options, cwd=tmp_path).stdout


def test_a_run_that_uses_no_fixture_waits_for_nothing(tmp_path):
    code = f"import pytest, innkeeper.testing.pytest_plugin, sys; print([m for m in {HEAVY!r} if m in sys.modules])"
    seen = python("-c", code, cwd=tmp_path)
    assert seen.stdout == "[]\n", seen.stderr


def test_only_the_fixtures_need_pytest(tmp_path):
    code = (
        "import innkeeper.testing as kit, sys; [getattr(kit, n) for n in kit.__all__]; print('pytest' in sys.modules)"
    )
    assert python("-c", code, cwd=tmp_path).stdout == "False\n"


PLAIN = """
@pytest.mark.innkeeper(plugins=["hello"])
def test_plain(send, caller, make_caller, host):
    assert send("Ada", caller=make_caller("bob")).result().text == "Hello, Ada"
    assert host.caller is caller
"""


def test_plain_tests_need_no_plugin_for_async_ones(tmp_path):
    assert "1 passed" in run(tmp_path, PLAIN, "-p", "no:anyio")


MARKS = """
FAR = {"tenants": {"far": {"agent": "hello"}}}
pytestmark = pytest.mark.innkeeper(plugins=["hello"], settings=FAR, environ={"A": "1"})

@pytest.mark.innkeeper(settings={"tenants": {"near": {"agent": "hello", "name": "${B}"}}}, environ={"B": "two"})
class TestNear:
    def test_marks_add_up(self, host):
        assert sorted(host.registry.tenants) == ["far", "near"]
        assert host.tenant("near").agent.name == "two"
        context = host.plugin("hello", tenant="far")
        assert (context.env("A"), context.env("B")) == ("1", "two")

    @pytest.mark.innkeeper(plugins=["hello", "doorkeeper"])
    def test_the_closest_list_of_plugins_counts(self, host):
        assert "doorkeeper" in host.tenant("far").plugins

@pytest.fixture
def caller(make_caller):
    return make_caller("mallory")

def test_the_caller_can_be_another(host):
    assert host.caller.key == "mallory"
"""


def test_marks_of_module_class_and_test_go_over_one_another(tmp_path):
    assert "3 passed" in run(tmp_path, MARKS)


WRONG = [
    ('@pytest.mark.innkeeper("hello")', "takes plugins=, settings= and environ= by name"),
    ('@pytest.mark.innkeeper(plugins="hello")', "plugins are several names, such as ['hello']"),
    ('@pytest.mark.innkeeper(plugin=["hello"])', "unexpected keyword argument 'plugin'"),
    ('@pytest.mark.innkeeper(plugins=["helo"])', "no plugin helo is installed; there are: "),
    ('@pytest.mark.innkeeper(settings={"hots": {}})', "hots: unknown key; did you mean host?"),
]


@pytest.mark.parametrize(("mark", "words"), WRONG, ids=[words for _, words in WRONG])
def test_a_mark_that_cannot_be_says_why(tmp_path, mark, words):
    said = run(tmp_path, f"{mark}\ndef test_it(host): pass\n")
    assert "1 error" in said
    assert words in said


LEAVES = """
import asyncio

async def stubborn():
    while True:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            pass

@pytest.mark.innkeeper(plugins=["hello"])
def test_it(host):
    host.run(asyncio.sleep, 0).result()
    host.run(stubborn)
"""


def test_what_runs_on_after_a_test_is_an_error_of_the_test_and_keeps_nobody_waiting(tmp_path):
    said = run(tmp_path, LEAVES)
    assert "1 passed, 1 error" in said
    assert "plugins run on after the host has stopped" in said
