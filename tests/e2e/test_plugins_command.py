"""``innkeeper plugins``, and the commands that plugins bring."""

import json
import os
import shutil
import time
from pathlib import Path

import httpx
import pytest
from livehost import innkeeper, running_host


def install(folder: Path, name: str, code: str, version: str = "1.0") -> None:
    """Install a distribution of one file, as an installer would leave it."""
    module = name.replace("-", "_")
    info = folder / f"{module}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(f"[innkeeper.v1]\n{name} = {module}\n")
    (folder / f"{module}.py").write_text(code)


AGENT = """
from innkeeper import Agent, hookimpl
print("{name} speaks at import")
async def answer(turn): return "hi"
@hookimpl
def register_agents(): return Agent("{name}", answer, description="An agent.")
"""
HANGS = "import threading\nthreading.Event().wait()\n"
SECRETIVE = """
from pydantic import SecretStr
from innkeeper import Config as Base, hookimpl
class Config(Base):
    token: SecretStr
    town: str = ""
@hookimpl
def should_handle_turn(): return True
"""


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "site"


@pytest.fixture
def run(folder, tmp_path):
    def innkeeper_of(*arguments: str, **variables: str):
        return innkeeper(*arguments, plugins=folder, cwd=tmp_path, **variables)

    return innkeeper_of


@pytest.fixture
def with_kit(plugins, tmp_path):
    """Run the command line with the installed kits, in a directory of its own."""

    def run_there(*arguments: str, **variables: str):
        return innkeeper(*arguments, plugins=plugins, cwd=tmp_path, **variables)

    return run_there


def one_line(done) -> str:
    assert len(done.stderr.splitlines()) == 1, done.stderr
    return done.stderr


# --- the list ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [("plugins", "--json"), ("plugins", "list", "--json")])
def test_twenty_plugins_are_listed_at_once_although_one_hangs_at_import(run, folder, arguments):
    names = [f"agent-{number:02}" for number in range(19)] + ["hangs"]
    for name in names:
        install(folder, name, HANGS if name == "hangs" else AGENT.format(name=name))
    begun, started = time.monotonic(), os.times()
    done = run(*arguments)
    taken, ended = time.monotonic() - begun, os.times()
    assert {found["name"] for found in json.loads(done.stdout)} >= set(names)
    assert "speaks" not in done.stdout + done.stderr
    assert taken < 5
    assert ended.children_user + ended.children_system - started.children_user - started.children_system < 1


def test_load_shows_what_becomes_of_each_plugin(run, folder, tmp_path):
    install(folder, "good", AGENT.format(name="good"))
    install(folder, "broken", "raise SystemExit(3)")
    install(folder, "secretive", SECRETIVE)
    (tmp_path / "innkeeper.toml").write_text(
        "[plugins.secretive]\ntoken = 'hush'\ntown = '${TOWN}'\n"
        "[tenants.good]\nuse = ['secretive']\nplugins.secretive.town = 'Ghent'\n"
        "[tenants.lost]\nagent = 'nobody'\n"
    )
    done = run("plugins", "--load", "--json", TOWN="Bruges")
    assert done.returncode == 0, done.stderr
    assert "hush" not in done.stdout + done.stderr
    assert "good speaks at import" in done.stderr
    listing = json.loads(done.stdout)
    found = {plugin["name"]: plugin for plugin in listing["plugins"]}
    assert (found["good"]["state"], found["good"]["hooks"]) == ("served", ["register_agents"])
    assert found["good"]["import_ms"] > 0
    assert found["broken"]["state"] == "quarantined"
    assert "SystemExit" in found["broken"]["reasons"][0]["reason"]
    assert found["secretive"]["config"] == {"token": "(not shown)", "town": "${TOWN}"}
    assert found["secretive"]["tenant_config"] == {"good": {"token": "(not shown)", "town": "Ghent"}}
    (good,) = [tenant for tenant in listing["tenants"] if tenant["tenant"] == "good"]
    assert good["call_order"] == {"should_handle_turn": ["secretive"]}
    assert [left["tenant"] for left in listing["left_out"]] == ["lost"]
    table = run("plugins", "--load", TOWN="Bruges")
    assert table.returncode == 0
    for word in ("good", "quarantined", "SystemExit", "should_handle_turn: secretive", "lost"):
        assert word in table.stdout


def test_a_running_host_tells_the_same_of_its_plugins(host):
    page = httpx.get(f"{host.url}/plugins.json", trust_env=False).json()
    found = {plugin["name"]: plugin for plugin in page["plugins"]}
    assert (found["notes"]["state"], found["notes"]["schema_version"]) == ("served", 1)
    assert found["notes"]["page"] == "/plugins/notes/"
    assert found["doorkeeper"]["hooks"] == ["should_handle_turn"]
    (guarded,) = [tenant for tenant in page["tenants"] if tenant["tenant"] == "guarded"]
    assert (guarded["agent"], guarded["call_order"]["should_handle_turn"]) == ("counter", ["doorkeeper"])


def test_serve_says_what_it_does_without(config, folder):
    install(folder, "good", AGENT.format(name="good"))
    install(folder, "broken", "raise ValueError('bad day')")
    lines = []
    quarantine = 'on_broken_plugin = "quarantine"'
    with running_host(config("", host=quarantine), folder) as host:
        lines.append(host.next_line())
        assert httpx.get(f"{host.url}/readyz", trust_env=False).json() == {"status": "degraded"}
    assert lines[0].startswith("quarantined: plugin 'broken' of broken 1.0: ")
    assert "bad day" in lines[0]


def test_serve_says_that_it_is_in_safe_mode(config, folder):
    install(folder, "broken", "raise ValueError('bad day')")
    command = ("-m", "innkeeper", "serve", "--safe-mode")
    with running_host(config("[tenants.lost]\nagent = 'broken'"), folder, command) as host:
        assert host.next_line() == "safe mode: no plugin is loaded\n"
        assert host.next_line() == "left out: tenant 'lost': no plugin registers agent 'broken'\n"
        listing = httpx.get(f"{host.url}/plugins.json", trust_env=False).json()
    assert "not loaded" in {plugin["state"] for plugin in listing["plugins"]}


# --- data -------------------------------------------------------------------------------------------------------------


def test_the_data_of_a_plugin_is_shown_and_removed_when_no_host_uses_it(with_kit, config, plugins):
    toml = config("[tenants.hello]\nuse = ['notes']")
    where = ("plugins", "data", "notes", "--tenant", "hello", "--config", str(toml))
    with running_host(toml, plugins) as host:
        posted = httpx.post(f"{host.url}/plugins/notes/of/hello", content=b"mind the step", trust_env=False)
        assert posted.status_code == 200
        shown = with_kit(*where)
        assert (shown.returncode, shown.stderr) == (0, "")
        assert "schema version 1" in shown.stdout
        refused = with_kit(*where, "--purge")
        assert refused.returncode == 1
        assert "nothing is removed" in one_line(refused)
        assert host.stop() == 0
    file = Path(shown.stdout.partition(": ")[0])
    assert file.is_file()
    removed = with_kit(*where, "--purge")
    assert (removed.returncode, file.exists()) == (0, False)
    assert removed.stdout.endswith("removed\n")
    again = with_kit(*where)
    assert again.returncode == 1
    assert "has no data at tenant 'hello'" in one_line(again)


@pytest.mark.parametrize("name", ["note", "../etc", "Notes"])
def test_data_of_an_unknown_plugin_is_refused(with_kit, name):
    done = with_kit("plugins", "data", name, "--tenant", "hello")
    assert done.returncode == 1
    assert repr(name) in one_line(done)


# --- commands of plugins ----------------------------------------------------------------------------------------------


def test_a_plugin_brings_commands_that_work_without_a_host(with_kit, config, plugins, tmp_path):
    toml = config("[tenants.hello]\nuse = ['notes']\n[plugins.notes]\ngreeting = 'Note'\n")
    with running_host(toml, plugins) as host:  # makes the tables
        assert host.stop() == 0
    added = with_kit("notes", "add", "hello", "mind the step")
    assert (added.returncode, added.stderr) == (0, "")
    shown = with_kit("notes", "show", "hello")
    assert (shown.returncode, shown.stdout, shown.stderr) == (0, "Note: mind the step\n", "")
    other = with_kit("notes", "show", "elsewhere")
    assert other.returncode == 1
    assert "Error: no tenant 'elsewhere' is within reach" in other.stderr


def test_the_help_of_a_plugins_commands_is_found_where_its_name_is_typed(with_kit):
    done = with_kit("notes", "--help")
    assert done.stdout.startswith("Usage: innkeeper notes ")
    assert "Read and write notes." in done.stdout
    overview = with_kit("--help").stdout
    assert "notes" not in overview
    assert "plugins may add commands" in overview


def test_a_command_imports_no_other_plugin(with_kit, plugins, folder):
    shutil.copytree(plugins, folder)
    install(folder, "hangs", HANGS)
    begun = time.monotonic()
    done = innkeeper("notes", "--help", plugins=folder, cwd=folder)
    assert done.returncode == 0
    assert time.monotonic() - begun < 8


@pytest.mark.parametrize(
    ("name", "words"),
    [("doorkeeper", "brings no commands"), ("no-commands", "no commands today"), ("broken", "bad day")],
)
def test_a_plugin_without_commands_or_broken_is_named_in_one_line(plugins, folder, name, words):
    shutil.copytree(plugins, folder)
    install(folder, "broken", "raise ValueError('bad day')")
    done = innkeeper(name, "do", plugins=folder, cwd=folder)
    assert done.returncode == 2
    assert repr(name) in one_line(done)
    assert words in done.stderr


def test_a_plugin_that_is_refused_before_any_import_is_named_in_one_line(run, folder):
    install(folder, "good", AGENT.format(name="good"))
    (info,) = folder.glob("*.dist-info")
    (info / "entry_points.txt").write_text("[innkeeper.v2]\ngood = good\n")
    done = run("good")
    assert done.returncode == 2
    assert "contract 2" in one_line(done)


@pytest.mark.parametrize(("typed", "meant"), [("note", "notes"), ("serv", "serve"), ("xyzzy", "")])
def test_an_unknown_command_is_refused_with_what_may_be_meant(with_kit, typed, meant):
    done = with_kit(typed)
    assert done.returncode == 2
    assert f"No such command {typed!r}." in done.stderr
    assert (f"Did you mean {meant!r}" in done.stderr) == bool(meant)


@pytest.mark.parametrize("arguments", [("serve", "--help"), ("--help",), ("plugins", "--help")])
def test_help_takes_little_time_of_the_processor(arguments, with_kit):
    started = os.times()
    assert with_kit(*arguments).returncode == 0
    ended = os.times()
    assert ended.children_user + ended.children_system - started.children_user - started.children_system < 0.5


def test_a_plugin_that_hangs_at_import_is_named_and_does_not_hold_up_the_terminal(run, folder):
    install(folder, "hangs", HANGS)
    done = run("hangs", "do")
    assert done.returncode == 2
    assert "plugin 'hangs' of hangs 1.0: import of hangs took longer than 10 s" in done.stderr
