"""A reader who does what a page says: writes its files, types its commands, and compares what is printed."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
FENCE: Final = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FILE_NAME: Final = re.compile(r"# ([\w./-]+\.(?:py|toml))\n")
LISTENS: Final = re.compile(r"listens on (http://\S+)")
PRINTED_URL: Final = "http://127.0.0.1:8080"
"""Where the host of a page listens; in a test it is another port."""

SERVE: Final = "innkeeper serve"
IN_PLACE: Final = frozenset({"python3 -m venv .venv", ". .venv/bin/activate"})
"""What is done already where a test follows a page."""

COMMAND_SECONDS: Final = 50
PIP: Final = {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
"""Installs from what is here alone. For pip, a variable of a "no" option that is 0 means no."""

OWN: Final = ("INNKEEPER_", "PYTEST_", "PYTHONPATH")
"""Variables of the tests, not of a reader."""


def blocks(page: Path) -> Iterator[tuple[str, str]]:
    """Give the language and the text of each block of a page."""
    for found in FENCE.finditer(page.read_text(encoding="utf-8")):
        yield found[1], found[2]


def steps(text: str) -> Iterator[tuple[str, str]]:
    """Give each command of a console block with what the page shows below it."""
    for step in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, shown = step.partition("\n")
        yield command, shown


def as_pattern(shown: str) -> str:
    """Return the pattern of what a page shows: … stands for anything."""
    return re.escape(shown.strip()).replace("…", ".*")


@dataclass(slots=True)
class Reader:
    """Somebody in an empty folder, with an environment of Python in which Innkeeper is installed and no plugin is."""

    folder: Path
    variables: Mapping[str, str]
    host: subprocess.Popen[str] | None = None
    url: str = ""

    def follow(self, page: Path) -> None:
        """Do everything that the page says, in order."""
        for language, text in blocks(page):
            if language == "console":
                for command, shown in steps(text):
                    self.type(command, shown)
            elif named := FILE_NAME.match(text):
                path = self.folder / named[1]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            elif language == "python":
                self.run([self.python, "-c", text], text, "")

    @property
    def python(self) -> str:
        """The Python of the environment."""
        return f"{self.variables['VIRTUAL_ENV']}/bin/python"

    def type(self, command: str, shown: str) -> None:
        """Run a command line."""
        if command in IN_PLACE:
            return
        if command.startswith("cd "):
            self.folder /= command.removeprefix("cd ")
        elif command.split(" #", maxsplit=1)[0].strip() == SERVE:
            self.serve(shown)
        else:
            self.run(["bash", "-euc", command.replace(PRINTED_URL, self.url or PRINTED_URL)], command, shown)

    def run(self, arguments: list[str], name: str, shown: str) -> None:
        """Run a program to its end; it must succeed and print what the page shows."""
        url = {"INNKEEPER_HOST__PUBLIC_URL": self.url} if self.url and name.startswith("innkeeper ") else {}
        done = subprocess.run(
            arguments,
            cwd=self.folder,
            env={**self.variables, **url},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=COMMAND_SECONDS,
        )
        assert done.returncode == 0, f"{name}\n{done.stdout}"
        self.compare(name, shown, done.stdout)

    def serve(self, shown: str) -> None:
        """Start a host, after stopping the one that runs."""
        self.stop()
        log = self.folder.parent / "host.log"
        with log.open("a") as stderr:
            self.host = subprocess.Popen(
                [self.python, "-m", "innkeeper", "serve"],
                cwd=self.folder,
                env={**self.variables, "INNKEEPER_HOST__BIND": json.dumps(["127.0.0.1:0"])},
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
            )
        assert self.host.stdout is not None
        printed = [self.host.stdout.readline() for _ in range(max(1, len(shown.strip().splitlines())))]
        found = LISTENS.search("".join(printed))
        assert found, log.read_text()
        self.url = found[1]
        self.compare(SERVE, shown, "".join(printed))

    def stop(self) -> None:
        """Press Ctrl-C where the host runs."""
        if self.host is not None and self.host.stdout is not None:
            self.host.send_signal(signal.SIGINT)
            assert self.host.wait(COMMAND_SECONDS) == 0
            self.host.stdout.close()
            self.host, self.url = None, ""

    def leave(self) -> None:
        """End what still runs, whatever state it is in."""
        if self.host is not None and self.host.stdout is not None:
            self.host.kill()
            self.host.wait()
            self.host.stdout.close()

    def compare(self, name: str, shown: str, printed: str) -> None:
        """Compare what was printed with what the page shows, if it shows something."""
        if not shown.strip():
            return
        if self.url:
            printed = printed.replace(self.url, PRINTED_URL)
        assert re.fullmatch(as_pattern(shown), printed.strip(), re.DOTALL), f"{name}\n{printed}\nis not\n{shown}"


def environment(folder: Path) -> dict[str, str]:
    """Make an environment of Python with everything that is installed here but plugins; return its variables."""
    venv, farm = folder / "venv", folder / "installed"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True, timeout=COMMAND_SECONDS)
    farm.mkdir()
    for installed in _installed():
        (farm / installed.name).symlink_to(installed)
    (site_packages,) = venv.glob("lib/python*/site-packages")
    (site_packages / "installed.pth").write_text(f"{farm}\n{ROOT / 'host'}\n")
    for program in ("pip", "pytest", "innkeeper"):
        script = venv / "bin" / program
        script.write_text(f'#!/bin/sh\nexec "{venv}/bin/python" -m {program} "$@"\n')
        script.chmod(0o755)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(OWN)}
    return {
        **inherited,
        **PIP,
        "VIRTUAL_ENV": str(venv),
        "PATH": f"{venv / 'bin'}:{os.environ['PATH']}",
        "PYTHONUNBUFFERED": "1",
    }


def _installed() -> Iterator[Path]:
    """Give what lies in the folder of installed packages, without plugins and what makes them importable."""
    (folder,) = {Path(found.locate_file("")) for found in distributions(name="innkeeper")}
    plugins = [each for each in distributions(path=[str(folder)]) if each.entry_points.select(group="innkeeper.v1")]
    theirs = {Path(str(file)).parts[0] for plugin in plugins for file in plugin.files or ()}
    return (each for each in folder.iterdir() if each.name not in theirs)
