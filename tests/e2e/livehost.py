"""A host as an operator runs it: a process of its own, with plugins that were installed as distributions."""

import os
import queue
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

LISTENS = re.compile(r"listens on (http://\S+)")
START_SECONDS = 30


@dataclass(slots=True)
class LiveHost:
    """A running host; ``lines`` grows by what it prints."""

    process: subprocess.Popen[str]
    errors: Path
    lines: "queue.Queue[str]" = field(default_factory=queue.Queue)
    url: str = ""

    def next_line(self, seconds: float = START_SECONDS) -> str:
        """Return the next line that the host prints, an empty one when it has ended."""
        return self.lines.get(timeout=seconds)

    def agent(self, tenant: str) -> str:
        """Return the base URL of a tenant."""
        return f"{self.url}/agents/{tenant}"

    def stop(self, sign: int = signal.SIGTERM) -> int:
        """Signal the host and return its exit code."""
        self.process.send_signal(sign)
        return self.process.wait()

    def said(self) -> str:
        """Return what the host wrote to stderr."""
        return self.errors.read_text()

    def resident_bytes(self) -> int:
        """Return the size of the process in memory."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status).group(1)) * 1024


def environment(plugins: Path, **variables: str) -> dict[str, str]:
    """Return the environment of a child process that finds the installed plugins."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("INNKEEPER_")}
    return {**inherited, "PYTHONPATH": str(plugins), "PYTHONUNBUFFERED": "1", **variables}


def innkeeper(*arguments: str | Path, plugins: Path, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the command line to its end."""
    return subprocess.run(
        (sys.executable, "-m", "innkeeper", *arguments),
        env=environment(plugins, **variables),
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )


@contextmanager
def running_host(
    config: Path, plugins: Path, command: Sequence[str] = ("-m", "innkeeper", "serve"), **variables: str
) -> Iterator[LiveHost]:
    """Run a host until the block ends; entered as soon as the host says where it listens."""
    errors = config.with_suffix(".stderr")
    with errors.open("a") as stderr:
        process = subprocess.Popen(
            (sys.executable, *command, "--config", str(config)),
            env=environment(plugins, **variables),
            cwd=config.parent,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )
    host = LiveHost(process, errors)
    reader = threading.Thread(target=_pump, args=(process.stdout, host.lines), daemon=True)
    reader.start()
    try:
        while not host.url:
            line = host.next_line()
            if not line:
                raise RuntimeError(f"the host ended before it listened:\n{host.said()}")
            if found := LISTENS.search(line):
                host.url = found.group(1)
        yield host
    finally:
        process.kill()
        process.wait()
        reader.join()
        process.stdout.close()


def _pump(stream: IO[str], lines: "queue.Queue[str]") -> None:
    for line in stream:
        lines.put(line)
    lines.put("")
