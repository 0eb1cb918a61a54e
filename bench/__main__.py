"""Turns per second of the host beside the a2a-sdk's own server: same machine, same session, same ASGI server.

Each side is one process on hypercorn and answers blocking SendMessage calls with submitted, working, one artifact and
completed; the host commits every turn to disk, the reference keeps its tasks in memory. The rounds alternate, so that
a noisy machine is noisy for both. Read the ratio rather than the figures.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import start

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Round:
    """What one round measured; latencies in milliseconds."""

    turns_per_second: float
    p50: float
    p99: float


def main() -> None:
    options = arguments()
    with (
        tempfile.TemporaryDirectory(prefix="innkeeper-bench-") as scratch,
        host(Path(scratch)) as host_url,
        reference() as reference_url,
    ):
        urls = {"innkeeper": host_url, "a2a-sdk": reference_url}
        rounds: dict[str, list[Round]] = {name: [] for name in urls}
        for url in urls.values():
            run_round(url, options.warmup, options.concurrency)
        for number in range(options.rounds):
            for name in sorted(urls, reverse=bool(number % 2)):
                rounds[name].append(run_round(urls[name], options.turns, options.concurrency))
    print_table(options, rounds)
    start.main()


def arguments() -> argparse.Namespace:
    """Read the options; each is also an environment variable in capitals."""
    parser = argparse.ArgumentParser(prog="make bench", description="Turns per second beside the a2a-sdk's own server.")
    for name, default, words in (
        ("turns", 2000, "turns a round"),
        ("concurrency", 16, "connections, each with one turn at a time"),
        ("rounds", 3, "rounds of each server, in turns"),
        ("warmup", 300, "turns before the first round, not counted"),
    ):
        given = int(os.environ.get(name.upper(), default))
        parser.add_argument(f"--{name}", type=int, default=given, help=f"{words} (default {default})")
    return parser.parse_args()


@contextmanager
def host(scratch: Path) -> Iterator[str]:
    """Serve the echo agent, and nothing else that is installed, with the data in ``scratch``."""
    plugins = scratch / "plugins"
    install = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--target")
    subprocess.run((*install, plugins, HERE / "echo_agent"), check=True)
    config = scratch / "innkeeper.toml"
    config.write_text('[host]\nbind = ["127.0.0.1:0"]\n[tenants.bench-echo]\nuse = []\n')
    command = (sys.executable, "-m", "innkeeper", "serve", "--config", str(config))
    with server(command, {"PYTHONPATH": str(plugins)}) as url:
        yield f"{url}/agents/bench-echo"


@contextmanager
def reference() -> Iterator[str]:
    """Serve the a2a-sdk's own server."""
    with server((sys.executable, str(HERE / "reference.py")), {}) as url:
        yield url


@contextmanager
def server(command: Sequence[str], environ: dict[str, str]) -> Iterator[str]:
    """Run a server until the block ends; yields the URL in the first line that it prints."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **environ}) as process:
        try:
            first = process.stdout.readline() if process.stdout else ""
            urls = [word for word in first.split() if word.startswith("http://")]
            if not urls:
                sys.exit(f"{' '.join(command)} did not start: {first}")
            yield urls[0]
        finally:
            with suppress(ProcessLookupError):
                process.terminate()


def run_round(url: str, turns: int, connections: int) -> Round:
    """Let the client process send ``turns`` messages."""
    command = (sys.executable, HERE / "load.py", url, str(turns), str(connections))
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    measured = json.loads(done.stdout)
    latencies = sorted(latency * 1000 for latency in measured["latencies"])
    return Round(turns / measured["seconds"], latencies[len(latencies) // 2], latencies[int(len(latencies) * 0.99)])


def print_table(options: argparse.Namespace, rounds: dict[str, list[Round]]) -> None:
    names = {
        "innkeeper": "innkeeper, SQLite on disk, synchronous=FULL",
        "a2a-sdk": f"a2a-sdk {version('a2a-sdk')}, tasks in memory",
    }
    print(
        f"{options.turns} echo turns a round over {options.concurrency} connections, {options.rounds} rounds each; "
        f"Python {platform.python_version()}, hypercorn {version('hypercorn')}, {os.cpu_count()} cores\n"
    )
    print(f"{'':46}{'turns/s':^22}{'p50 ms':^22}{'p99 ms':^22}")
    print(f"{'':44}" + f"{'min':>8}{'median':>8}{'max':>6}" * 3)
    for name, words in names.items():
        cells = ""
        for column in ("turns_per_second", "p50", "p99"):
            values = [getattr(measured, column) for measured in rounds[name]]
            digits = 0 if column == "turns_per_second" else 1
            cells += f"{min(values):8.{digits}f}{statistics.median(values):8.{digits}f}{max(values):6.{digits}f}"
        print(f"{words:44}{cells}")
    ours, theirs = (
        statistics.median(measured.turns_per_second for measured in rounds[name]) for name in ("innkeeper", "a2a-sdk")
    )
    print(f"\nratio of the medians: {ours / theirs:.2f} times the turns/s of the a2a-sdk's server")


if __name__ == "__main__":
    main()
