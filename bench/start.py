"""What a start costs with many plugins and tenants: CPU until the host listens, and memory per tenant.

Twenty plugins, three of them with tables, at every tenant; each start is a process of its own, with data on disk from
the start before it ("again") or without any ("first"). Figures are read from /proc, so on Linux only.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

PLUGINS = 20
WITH_TABLES = 3
TENANTS = (1, 100)

AGENT = """
    from innkeeper import Agent, hookimpl

    async def answer(turn):
        return turn.text

    @hookimpl
    def register_agents():
        return Agent("bench-agent", answer)
"""
GATE = """
    from innkeeper import Config as Base, hookimpl

    class Config(Base):
        mention: str = "@bot"

    @hookimpl
    def should_handle_turn(turn, plugin):
        return None
"""
TABLES = """
    from innkeeper import hookimpl

    schema_version = 1

    @hookimpl
    async def ensure_tables(db, version):
        await db.execute("CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT")
"""


@dataclass(frozen=True, slots=True)
class Start:
    """What one start took: seconds of CPU until the host listens, and MiB of memory then."""

    cpu_seconds: float
    mib: float


def main() -> None:
    """Measure and print."""
    print(f"\nstart with {PLUGINS} plugins, {WITH_TABLES} of them with tables, at every tenant")
    print(f"{'tenants':>8} {'start':>6} {'CPU s':>7} {'MiB':>7}")
    for tenants in TENANTS:
        with tempfile.TemporaryDirectory(prefix="innkeeper-bench-") as scratch:
            for name in ("first", "again"):
                measured = start(Path(scratch), tenants)
                print(f"{tenants:>8} {name:>6} {measured.cpu_seconds:>7.2f} {measured.mib:>7.1f}")
            if tenants == TENANTS[0]:
                base = measured
    each = (measured.mib - base.mib) * 1024 / (TENANTS[-1] - TENANTS[0])
    print(f"memory per tenant: {each:.0f} KiB")


def start(scratch: Path, tenants: int) -> Start:
    """Start a host, read what it took, and stop it."""
    for name, code in plugins():
        install(scratch / "plugins", name, code)
    tables = "".join(f'[tenants.t{number}]\nagent = "bench-agent"\nuse = {USE}\n' for number in range(tenants))
    (scratch / "innkeeper.toml").write_text(f'[host]\nbind = ["127.0.0.1:0"]\n{tables}')
    command = (sys.executable, "-m", "innkeeper", "serve", "--config", str(scratch / "innkeeper.toml"))
    environ = {**os.environ, "PYTHONPATH": str(scratch / "plugins")}
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as host:
        if host.stdout is None or "listens" not in host.stdout.readline():
            sys.exit("the host did not start")
        measured = Start(cpu_seconds(host.pid), resident_mib(host.pid))
        host.terminate()
        host.communicate()
    return measured


def plugins() -> Iterator[tuple[str, str]]:
    """Give every plugin's name and code."""
    yield "bench-agents", AGENT
    for number in range(WITH_TABLES):
        yield f"bench-tables-{number}", TABLES
    for number in range(PLUGINS - WITH_TABLES - 1):
        yield f"bench-gate-{number}", GATE


USE = [name for name, _ in plugins()]


def install(folder: Path, name: str, code: str) -> None:
    """Put a distribution of one module into a folder, as an installer would."""
    module = name.replace("-", "_")
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[innkeeper.v1]\n{name} = {module}\n")
    (folder / f"{module}.py").write_text(dedent(code))


def cpu_seconds(process: int) -> float:
    """Return the CPU time that a process has used, its own and the kernel's."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mib(process: int) -> float:
    """Return the memory of a process that is in RAM."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


if __name__ == "__main__":
    main()
