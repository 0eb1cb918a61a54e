"""What is installed is served; what is uninstalled is gone. Entry points decide, and nothing else."""

import json
import shutil

import pytest
from livehost import innkeeper


@pytest.fixture
def agents(tmp_path):
    """Ask the command line for the agents that would be served."""

    def ask(plugins):
        done = innkeeper("agents", "--json", plugins=plugins, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return {found["tenant"]: found for found in json.loads(done.stdout)}

    return ask


def uninstall(plugins, distribution: str) -> None:
    """Remove what the distribution's RECORD lists, as pip does."""
    (info,) = plugins.glob(f"{distribution.replace('-', '_')}-*.dist-info")
    for line in (info / "RECORD").read_text().splitlines():
        (plugins / line.split(",")[0]).unlink(missing_ok=True)
    shutil.rmtree(info, ignore_errors=True)


def test_uninstalling_a_distribution_removes_its_agents(agents, plugins, tmp_path):
    own = tmp_path / "plugins"
    shutil.copytree(plugins, own)
    before = agents(own)
    assert before["echo"]["plugin"] == "agents-kit"
    uninstall(own, "agents-kit")
    after = agents(own)
    assert "echo" not in after
    assert after["hello"] == before["hello"]


def test_a_module_that_is_only_on_the_path_is_no_plugin(agents, plugins, tmp_path):
    own = tmp_path / "plugins"
    shutil.copytree(plugins, own)
    for info in own.glob("agents_kit-*.dist-info"):
        shutil.rmtree(info)
    assert "echo" not in agents(own)
