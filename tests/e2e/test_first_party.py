"""The plugins that come with Innkeeper, installed together on a host of its own."""

import json
import time
from collections.abc import Callable

import httpx
import pytest
from livehost import LiveHost, innkeeper, running_host

HOUSE = """
[tenants.notebook]
use = ["digest", "journal", "recall", "workspace"]

[plugins.journal]
keep = "7d"
"""


@pytest.fixture
def settings(config):
    return config(HOUSE)


@pytest.fixture
def say(plugins, tmp_path):
    def saying(host: LiveHost, text: str) -> str:
        done = innkeeper(
            "call", "--url", host.url, "--context", "home", "notebook", text, plugins=plugins, cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.removesuffix("\n")

    return saying


def test_what_a_notebook_has_written_is_there_after_a_restart(settings, plugins, say):
    with running_host(settings, plugins) as host:
        assert say(host, "write shopping milk, eggs") == "Noted shopping."
        assert say(host, 'use ws_write {"path": "work/monday", "content": "call Bob"}') == "Wrote work/monday, 8 bytes."
        assert host.stop() == 0
    with running_host(settings, plugins) as host:
        assert say(host, "read shopping") == "milk, eggs"
        assert say(host, "list work") == "work/monday"
        assert say(host, 'use ws_read {"path": "work/monday"}') == "call Bob"
        assert [line.split(":")[0] for line in say(host, "tools").splitlines()] == ["ws_read", "ws_write", "ws_list"]
        about = say(host, "about").split("\n\n")
        assert [("recall" in text, "ws_write" in text) for text in about] == [(True, False), (False, True)]
        assert host.stop() == 0
    assert "Traceback" not in host.said()


def test_a_notebook_alone_forgets(config, plugins, say):
    settings = config("[tenants.notebook]\nuse = []\n")
    with running_host(settings, plugins) as host:
        say(host, "write shopping milk, eggs")
        assert say(host, "read shopping") == "milk, eggs"
    with running_host(settings, plugins) as host:
        assert say(host, "read shopping") == "There is no note shopping."


def eventually(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < until


def test_the_journal_is_a_page(settings, plugins, say):
    with running_host(settings, plugins) as host:
        say(host, "list")
        with httpx.Client(base_url=f"{host.url}/plugins/journal", trust_env=False, timeout=10) as http:
            assert 'href="notebook/"' in http.get("/").text
            eventually(lambda: "completed" in http.get("/notebook/").text)  # events are told after they are on disk
            events = http.get("/notebook/events.json").json()["events"]
            assert events[0]["data"]["state"] == "completed"
            assert http.get("/nobody/").status_code == 404


@pytest.mark.parametrize("running", [True, False])
def test_the_journal_is_a_command_whether_the_host_runs_or_not(settings, plugins, say, tmp_path, running):
    def journal(*arguments: str) -> list[str]:
        done = innkeeper("journal", *arguments, "--tenant", "notebook", plugins=plugins, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.splitlines()

    with running_host(settings, plugins) as host:
        say(host, "list")
        if not running:
            host.stop()
        eventually(lambda: "completed" in journal("show", "--limit", "1")[0])
        assert json.loads(journal("show", "--json")[0])["kind"] == "task"
        assert len(journal("show", "--limit", "1")) == 1
        assert journal("prune", "--older-than", "1d") == ["0 removed"]
