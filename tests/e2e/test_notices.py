"""What an operator is told of that is probably meant otherwise, or wrong beside something else."""

from collections.abc import Callable
from pathlib import Path

import pytest
from livehost import innkeeper, running_host

AGENT = """
from pydantic import SecretStr
from innkeeper import Agent, hookimpl
from innkeeper import Config as Base
schema_version = 3
class Config(Base):
    token: SecretStr = SecretStr("")
    town: str = ""
async def answer(turn): raise ValueError(turn.plugin.config.token.get_secret_value())
@hookimpl
def register_agents(): return Agent("helper", answer)
@hookimpl
async def ensure_tables(db, version): ...
def should_handle_turn(turn): return False
"""


@pytest.fixture
def place(tmp_path: Path) -> Callable[..., Path]:
    folder = tmp_path / "site"

    def placing(name: str, code: str = "", *, group: str = "innkeeper.v1", requires: str = "innkeeper") -> Path:
        info = folder / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nRequires-Dist: {requires}\n"
        )
        (info / "entry_points.txt").write_text(f"[{group}]\n{name} = {name}_module\n")
        (folder / f"{name}_module.py").write_text(code)
        return folder

    return placing


def test_the_listing_shows_configuration_schema_and_what_is_noticed(place, tmp_path):
    place("lost", group="inkeeper.plugins")
    plugins = place("helper", AGENT, requires="no-such-thing")
    (tmp_path / "innkeeper.toml").write_text(
        "[plugins.helper]\ntoken = 'hush-hush'\ntown = '${TOWN}'\n[tenants.helper.plugins.helper]\ntown = 'Ghent'\n"
    )
    done = innkeeper("plugins", "--load", plugins=plugins, cwd=tmp_path, TOWN="Bruges")
    assert done.returncode == 0, done.stderr
    lines = [line.strip() for line in done.stdout.splitlines()]
    assert lines[0].split() == ["NAME", "DISTRIBUTION", "STATE", "IMPORT", "HOOKS", "SCHEMA", "FAULTS"]
    (row,) = [line.split() for line in lines if line.startswith("helper ")]
    assert row[-1] == "3"
    for line in (
        "Configuration of plugin helper",
        'token = "(not shown)"',
        'town = "${TOWN}"',
        "Configuration of plugin helper at tenant helper",
        'town = "Ghent"',
        "Plugin helper: its distribution requires no-such-thing, which is not installed",
        "lost 1.0: no host looks for lost in the entry-point group 'inkeeper.plugins'; did you mean 'innkeeper.v1'?",
    ):
        assert line in lines
    assert "should_handle_turn looks like a hook" in done.stdout
    assert "hush" not in done.stdout + done.stderr


def test_a_group_close_to_ours_is_told_by_whoever_looks_for_plugins(place, tmp_path):
    plugins = place("lost", group="innkeeper.v^1")
    for arguments in (("plugins",), ("doctor",), ("doctor", "plugin", "lost")):
        assert "did you mean 'innkeeper.v1'?" in innkeeper(*arguments, plugins=plugins, cwd=tmp_path).stdout
    as_json = innkeeper("plugins", "--json", plugins=plugins, cwd=tmp_path)
    assert "lost" not in as_json.stdout
    assert "did you mean" in as_json.stderr


def test_a_host_that_serves_warns_of_all_of_it_and_tells_no_secret(place, config, tmp_path):
    place("lost", group="innkeeper")
    plugins = place("helper", AGENT, requires="no-such-thing")
    with running_host(config("[plugins.helper]\ntoken = '${TOKEN}'\n"), plugins, TOKEN="hush-hush") as host:
        done = innkeeper("call", "helper", "hi", "--url", host.url, plugins=plugins, cwd=tmp_path)
        assert "error" in done.stdout + done.stderr
        said = host.said()
    for words in (
        "plugin 'helper': its distribution requires no-such-thing, which is not installed",
        "plugin 'helper': should_handle_turn looks like a hook, and has no mark",
        "lost 1.0: no host looks for lost in the entry-point group 'innkeeper'",
        "ValueError: ${TOKEN}",
    ):
        assert words in said
    assert "hush" not in said


def test_with_settings_that_are_wrong_plugins_that_cannot_be_loaded_are_told_too(place, config, tmp_path):
    place("helper", AGENT)
    plugins = place("broken", "import os\nprint('noise')\nraise ValueError('no ' + os.environ['TOKEN'])")
    settings = config("[plugins.broken]\ntoken = '${TOKEN}'\n[card]\nnam = 'x'\n")
    done = innkeeper("serve", "--config", settings, plugins=plugins, cwd=tmp_path, TOKEN="hush-hush")
    assert (done.returncode, done.stdout) == (2, "")
    assert "card.nam: unknown key; did you mean name?" in done.stderr
    assert "plugin 'broken' of broken 1.0: import of broken_module raised ValueError: no ${TOKEN} (" in done.stderr
    assert "hush" not in done.stderr
    done = innkeeper("serve", "--safe-mode", "--config", settings, plugins=plugins, cwd=tmp_path, TOKEN="hush-hush")
    assert (done.returncode, done.stderr.splitlines()) == (2, ["card.nam: unknown key; did you mean name?"])


COMMAND = """
import click
from pydantic import SecretStr
from innkeeper import hookimpl
from innkeeper import Config as Base
class Config(Base):
    token: SecretStr
@hookimpl
def cli(plugin):
    group = click.Group("helper")
    @group.command()
    def fails(): raise ValueError(plugin.for_tenant("any").config.token.get_secret_value())
    return group
"""


def test_what_a_plugins_command_raises_tells_no_secret(place, tmp_path):
    plugins = place("helper", COMMAND)
    (tmp_path / "innkeeper.toml").write_text("[plugins.helper]\ntoken = '${TOKEN}'\n")
    done = innkeeper("helper", "fails", plugins=plugins, cwd=tmp_path, TOKEN="hush-hush")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "ValueError: ${TOKEN}"
    assert "hush" not in done.stderr
