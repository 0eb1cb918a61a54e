"""The README's first plugin and first gate, typed off the page, built, installed and used."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from livehost import innkeeper, running_host

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def block(language: str, mark: str) -> str:
    found = re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    (only,) = [each for each in found if mark in each]
    return only


@pytest.fixture
def parrot(plugins, tmp_path):
    """A folder of installed plugins, the README's among them."""
    source, target = tmp_path / "parrot", tmp_path / "plugins"
    source.mkdir()
    shutil.copytree(plugins, target)
    (source / "pyproject.toml").write_text(block("toml", "innkeeper-parrot"))
    gate = block("python", "should_handle_turn").replace("from innkeeper import Turn, hookimpl\n", "")
    (source / "innkeeper_parrot.py").write_text(block("python", "register_agents") + gate)
    offline = ("--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check")
    command = (sys.executable, "-m", "pip", "install", "--quiet", *offline, "--target", target, source)
    subprocess.run(command, check=True, timeout=50)
    return target


def test_the_first_plugin_and_the_first_gate_work_as_printed(parrot, config, tmp_path):
    with running_host(config('[tenants]\nparrot = { use = ["parrot"] }\n'), parrot) as host:

        def call(text: str) -> str:
            done = innkeeper("call", "--url", host.url, "--context", "c", "parrot", text, plugins=parrot, cwd=tmp_path)
            assert done.returncode == 0, done.stderr
            return done.stdout

        assert call("hello") == "hello! (message 1 of this conversation)\n"
        assert call("again") == "again! (message 3 of this conversation)\n"
        assert call("# a remark") == ""


def test_the_first_plugin_is_listed_as_the_readme_says(parrot, tmp_path):
    assert "parrot" in innkeeper("plugins", plugins=parrot, cwd=tmp_path).stdout
    assert "parrot" in innkeeper("agents", plugins=parrot, cwd=tmp_path).stdout
