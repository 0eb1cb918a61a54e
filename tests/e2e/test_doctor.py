"""``innkeeper doctor``: what is wrong with plugins, told without falling over them."""

from collections.abc import Callable
from pathlib import Path

import pytest
from livehost import innkeeper


@pytest.fixture
def place(tmp_path: Path) -> Callable[..., Path]:
    """Put distributions of one file into a folder."""
    folder = tmp_path / "installed"
    folder.mkdir()

    def placing(
        name: str, code: str = "", *, requires: tuple[str, ...] = ("innkeeper>=0.1",), group: str = "v1"
    ) -> Path:
        module = name.replace("-", "_")
        info = folder / f"{module}-1.0.dist-info"
        info.mkdir()
        lines = [
            "Metadata-Version: 2.1",
            f"Name: {name}",
            "Version: 1.0",
            *(f"Requires-Dist: {each}" for each in requires),
        ]
        (info / "METADATA").write_text("\n".join(lines) + "\n")
        (info / "entry_points.txt").write_text(f"[innkeeper.{group}]\n{name} = {module}\n")
        (folder / f"{module}.py").write_text(code)
        return folder

    return placing


def test_installed_plugins_are_looked_at_without_being_imported(place, tmp_path):
    place("old-web", "raise SystemExit(3)", requires=("innkeeper", "quart<0.1"))
    place("from-the-future", "raise SystemExit(3)", group="v2")
    plugins = place("quiet", "raise SystemExit(3)", requires=())
    done = innkeeper("doctor", plugins=plugins, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    assert "plugin 'old-web':\nerror: old-web requires quart<0.1, and quart" in done.stdout
    assert "it speaks plugin contract 2, this host speaks 1" in done.stdout
    assert "plugin 'quiet':\nwarning: quiet does not require innkeeper" in done.stdout


def test_nothing_is_wrong_without_errors(place, tmp_path):
    done = innkeeper("doctor", plugins=place("fine"), cwd=tmp_path)
    assert done.returncode == 0
    assert "plugin 'fine': ok" in done.stdout


GATE = """
from innkeeper import Config as Base, hookimpl
class Config(Base):
    mention: str
@hookimpl
def should_handle_turn(turn, plugin):
    assert plugin.config.mention == "@secret"
    return True
"""


def test_a_plugin_is_tried_with_its_settings_and_far_from_the_data_of_the_user(place, tmp_path):
    plugins = place("mine", GATE)
    assert (
        "plugins.mine.mention: Field required"
        in innkeeper("doctor", "plugin", "mine", plugins=plugins, cwd=tmp_path).stdout
    )
    (tmp_path / "innkeeper.toml").write_text('[plugins.mine]\nmention = "${WORD}"\n')
    done = innkeeper(
        "doctor", "plugin", "mine", plugins=plugins, cwd=tmp_path, WORD="@secret", INNKEEPER_HOST__LOG_LEVEL="error"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "error" not in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["innkeeper.toml", "installed"]


HANGS = """
import threading
from innkeeper import hookimpl
@hookimpl(blocking=True)
def capability():
    threading.Event().wait()
"""
BROKEN = [
    ("raise SystemExit(3)", "raised SystemExit: 3"),
    ("import nothing_of_that_name", "raised ModuleNotFoundError: No module named 'nothing_of_that_name'"),
    (HANGS, "took longer than 1 s"),
]


@pytest.mark.parametrize(("code", "words"), BROKEN, ids=[words for _, words in BROKEN])
def test_a_broken_plugin_is_told_and_the_doctor_comes_to_an_end(place, tmp_path, code, words):
    done = innkeeper("doctor", "plugin", "bad", plugins=place("bad", code), cwd=tmp_path)
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    assert words in done.stdout
