"""``innkeeper new plugin``: what it writes can be installed, linted, typed and tested as it is."""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from livehost import environment, innkeeper

KINDS = {
    "agent": "parrot",
    "gate": "my.gate_of-a.name-that-is-as-long-as-the-name-of-a-plugin-can-b",
    "memory": "x",
    "workspace": "files-2",
}


@dataclass(frozen=True)
class Written:
    root: Path
    target: Path

    def folder(self, kind: str) -> Path:
        stem = KINDS[kind].replace(".", "-").replace("_", "-")
        return self.root / f"innkeeper-{stem}"

    def run(self, kind: str, *command: str) -> str:
        done = subprocess.run(
            (sys.executable, "-m", *command),
            env=environment(self.target, MYPY_CACHE_DIR=str(self.root / "mypy"), RUFF_NO_CACHE="true"),
            cwd=self.folder(kind),
            capture_output=True,
            text=True,
            check=False,
            timeout=50,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """A package of each kind, written and installed."""
    written = Written(tmp_path_factory.mktemp("new"), tmp_path_factory.mktemp("target"))
    for kind, name in KINDS.items():
        made = innkeeper("new", "plugin", name, f"--{kind}", "--directory", written.root, plugins=written.root, cwd=".")
        assert made.returncode == 0, made.stderr
    sources = [shutil.copytree(written.folder(kind), written.root / "built" / kind) for kind in KINDS]
    offline = ("--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check")
    command = (sys.executable, "-m", "pip", "install", "--quiet", *offline, "--target", written.target, *sources)
    subprocess.run(command, check=True, timeout=50)
    return written


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_plugin_is_formatted_linted_and_typed(written, kind):
    written.run(kind, "ruff", "format", "--check", ".")
    written.run(kind, "ruff", "check", ".")
    assert "no issues found in 2 source files" in written.run(kind, "mypy")


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_plugin_passes_its_own_tests(written, kind):
    assert " passed" in written.run(kind, "pytest", "-q", "-W", "error", "-p", "no:cacheprovider")


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_plugin_is_found_and_in_order(written, kind, tmp_path):
    listed = innkeeper("plugins", plugins=written.target, cwd=tmp_path)
    assert f"{KINDS[kind]}  {written.folder(kind).name} 0.1.0" in listed.stdout
    looked_at = innkeeper("doctor", plugins=written.target, cwd=tmp_path)
    assert f"plugin '{KINDS[kind]}': ok" in looked_at.stdout


def test_an_agent_is_what_is_written_unless_another_kind_is_asked_for(written, tmp_path):
    assert innkeeper("new", "plugin", KINDS["agent"], plugins=written.root, cwd=tmp_path).returncode == 0
    (made,) = tmp_path.iterdir()
    assert sorted(files(made).items()) == sorted(files(written.folder("agent")).items())


def files(folder: Path) -> dict[str, str]:
    generated = {"__pycache__", ".mypy_cache", ".pytest_cache"}
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in folder.rglob("*")
        if path.is_file() and generated.isdisjoint(path.parts)
    }


REFUSED = [
    ("Parrot", "1 to 63 of a-z 0-9 . _ -"),
    ("-", "1 to 63 of a-z 0-9 . _ -"),
    ("../x", "1 to 63 of a-z 0-9 . _ -"),
    ("serve", "'serve' is a command of innkeeper"),
    ("parrot", "plugin 'parrot' of innkeeper-parrot 0.1.0 is installed already"),
    ("files.2", "a module innkeeper_files_2 is installed already"),
    ("here", "innkeeper-here exists already"),
]


@pytest.mark.parametrize(("name", "words"), REFUSED)
def test_a_name_that_cannot_be_is_refused_and_nothing_is_written(written, tmp_path, name, words):
    (tmp_path / "innkeeper-here").mkdir()
    refused = innkeeper("new", "plugin", "--gate", "--", name, plugins=written.target, cwd=tmp_path)
    assert refused.returncode == 2
    assert words in " ".join(refused.stderr.split())
    assert [path.name for path in tmp_path.rglob("*")] == ["innkeeper-here"]


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder into which nobody can write")
def test_a_folder_that_cannot_be_written_is_told_without_a_traceback(written, tmp_path):
    failed = innkeeper("new", "plugin", "mine", "--directory", "/proc/self", plugins=written.root, cwd=tmp_path)
    assert (failed.returncode, "Traceback" in failed.stderr) == (1, False)
    assert failed.stderr.startswith("Error: /proc/self/innkeeper-mine: ")
