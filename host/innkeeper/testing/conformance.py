"""Whether a plugin is what the contract describes: found, imported, and tried on a host of its own."""

import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from innkeeper.app import web_apps
from innkeeper.contract.errors import StartFault
from innkeeper.registry import fanout, watchdog
from innkeeper.registry.described import described
from innkeeper.registry.discovery import PluginRecord
from innkeeper.registry.loading import IMPORT_SECONDS
from innkeeper.settings import SettingsFault
from innkeeper.testing.echo import ECHO
from innkeeper.testing.findings import Finding, Findings, error, warning
from innkeeper.testing.host import InProcessHost
from innkeeper.testing.installed import find_record, of_metadata
from innkeeper.testing.setup import Setup
from innkeeper.testing.trial import TENANT, hooks, ids_of_agents, turns

QUICK_SECONDS: Final = 1.0
"""How long an import may take before it is remarked on; what ``innkeeper`` itself takes is not counted."""

_PATIENCE: Final = 3
"""How many times its deadline the process of an import may take in all: it has to start, and its clock to be asked."""

BLOCKS_HINT: Final = "Await what takes time, or mark the hook with @hookimpl(blocking=True)."

_HOOK_CODE: Final = Path(fanout.__file__).parent
_LATE: Final = "late"
_TIMED: Final = """
import os, sys, threading, time, innkeeper, pydantic
def end():
    sys.__stderr__.write("\\nlate")
    sys.__stderr__.flush()
    os._exit(1)
late = threading.Timer(float(sys.argv[2]), end)
late.daemon = True
late.start()
begun = time.perf_counter()
from importlib.metadata import EntryPoint
EntryPoint("", sys.argv[1], "").load()
late.cancel()
sys.stderr.write(f"\\n{time.perf_counter() - begun}")
"""


def check_plugin(
    name: str,
    *,
    environ: Mapping[str, str] | None = None,
    settings: Mapping[str, Any] | None = None,
    folder: Path | None = None,
) -> Findings:
    """Check an installed plugin.

    It is looked at, imported in a process of its own, then loaded, started, asked and stopped twice on a host that
    keeps its data in a folder which is removed at the end. ``environ`` is put over the environment, ``settings`` are
    laid out as in ``innkeeper.toml``: ``{"plugins": {name: {…}}}`` for a plugin whose ``Config`` requires something,
    relative paths in them beginning at ``folder``.
    """
    found = [*of_metadata(name)]
    record = find_record(name)
    setup = (
        Setup(plugins=(name,))
        .over(settings={"tenants": {TENANT: {"agent": ECHO, "use": [name]}}}, environ=environ)
        .over(settings=settings)
        .relative_to(folder)
    )
    if record is not None and not Findings(name, tuple(found)).errors:
        found += _imported(record, setup)
    if not Findings(name, tuple(found)).errors:
        found += _tried(name, setup)
    return Findings(name, tuple(dict.fromkeys(found)))


def _imported(record: PluginRecord, setup: Setup) -> Iterator[Finding]:
    """Import the plugin where nothing has been imported yet."""
    command = (sys.executable, "-c", _TIMED, record.entry_point, str(IMPORT_SECONDS))
    late = error(f"import of {record.entry_point} took longer than {IMPORT_SECONDS:g} s")
    path = os.pathsep.join(filter(None, sys.path))
    try:
        done = subprocess.run(  # noqa: S603 - this interpreter, and the entry point that a host would import
            command,
            env={**setup.variables, "PYTHONPATH": path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=_PATIENCE * IMPORT_SECONDS,
        )
    except subprocess.TimeoutExpired:  # it keeps every other thread from running
        yield late
        return
    said, _, seconds = done.stderr.rpartition("\n")
    if seconds == _LATE:
        yield late
        return
    if done.returncode or not seconds:
        return  # the host says why, with the place
    if printed := (done.stdout + said).strip():
        yield warning(f"import of {record.entry_point} prints {printed[:80]!r}", "Log with plugin.log instead.")
    if float(seconds) > QUICK_SECONDS:
        yield warning(
            f"import of {record.entry_point} takes {float(seconds):.1f} s",
            "Import what is slow where it is used: every start of every host waits for it.",
        )


def _tried(name: str, setup: Setup) -> Iterator[Finding]:
    """Run the plugin on a host, start it again on the same data, and listen to what the host logs about it."""
    with (
        tempfile.TemporaryDirectory(prefix="innkeeper-check-", ignore_cleanup_errors=True) as folder,
        _heard(name) as logged,
    ):
        try:
            with InProcessHost(setup, Path(folder)) as host:
                agents = ids_of_agents(host, name)
                yield from turns(host)
                yield from hooks(host, name)
                host.restart().result()
                yield from turns(host)
                if (again := ids_of_agents(host, name)) != agents:
                    yield error(f"register_agents answered {agents} at one start, and {again} at the next")
        except (StartFault, SettingsFault) as fault:
            yield from (error(each) for each in fault.faults)
        except TimeoutError as late:
            yield error(str(late))
        except AssertionError as left:
            yield error(str(left))
        yield from (error(each, BLOCKS_HINT if each.endswith("event loop") else "") for each in logged)


@contextmanager
def _heard(name: str) -> Iterator[list[str]]:
    """Collect what the host logs about hooks of the plugin, and keep it from being printed."""
    told: list[str] = []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.name == web_apps.__name__ and record.exc_info and record.exc_info[1]:
                told.append(f"web_app raised {described(record.exc_info[1])}")
            elif record.name == watchdog.__name__ and isinstance(record.args, tuple):
                told.append(f"{_shortly(record.args[0])} blocks the event loop")
            elif record.name == f"innkeeper.plugins.{name}" and Path(record.pathname).parent == _HOOK_CODE:
                told.append(_shortly(record.getMessage().partition("] ")[2]))

    ours, collector = logging.getLogger("innkeeper"), Collector(logging.WARNING)
    propagate = ours.propagate
    ours.addHandler(collector)
    ours.propagate = False
    try:
        yield told
    finally:
        ours.propagate = propagate
        ours.removeHandler(collector)


def _shortly(text: object) -> str:
    return str(text).replace(f" at tenant {TENANT!r}", "")
