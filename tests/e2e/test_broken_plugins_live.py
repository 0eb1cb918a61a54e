"""Three plugins, some of them broken, and an operator who wants to know and to go on."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import httpx
import pytest
from livehost import environment, innkeeper, running_host

GOOD = """
    from innkeeper import Agent, hookimpl

    async def answer(turn):
        return "still here"

    @hookimpl
    def register_agents():
        return Agent("good", answer)
"""
TABLES = """
    from innkeeper import hookimpl

    schema_version = 1

    @hookimpl
    async def ensure_tables(db, version):
        await db.execute("CREATE TABLE half (x)")
        raise LookupError("half way")
"""


@pytest.fixture
def install(tmp_path: Path) -> Callable[[str, str], Path]:
    """Install a distribution of one module; return the folder of all of them."""

    def installing(name: str, code: str) -> Path:
        folder = tmp_path / "site"
        info = folder / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[innkeeper.v1]\n{name} = {name}_module\n")
        (folder / f"{name}_module.py").write_text(dedent(code))
        return folder

    return installing


@pytest.fixture
def broken(install: Callable[[str, str], Path]) -> Path:
    install("exits", "print('noise'); raise SystemExit(3)")
    install("halfway", TABLES)
    return install("zgood", GOOD)


def test_a_start_is_refused_with_every_fault_and_exit_code_2(broken, config, tmp_path):
    done = innkeeper("serve", "--config", config("[tenants.good]"), plugins=broken, cwd=tmp_path)
    assert done.returncode == 2
    assert "plugin 'exits' of exits 1.0: import of exits_module raised SystemExit: 3" in done.stderr
    assert "listens" not in done.stdout
    (broken / "exits_module.py").write_text("from innkeeper import hookimpl\n@hookimpl\ndef capability(): ...\n")
    done = innkeeper("serve", "--config", config("[tenants.good]"), plugins=broken, cwd=tmp_path)
    assert done.returncode == 2
    fault = done.stderr.strip().splitlines()[-1]
    assert fault.startswith(
        "plugin 'halfway' of halfway 1.0 at tenant 'good': hook 'ensure_tables' raised LookupError: half way"
    )


def test_quarantine_serves_the_rest_and_says_so(broken, config, tmp_path):
    settings = config("[tenants.good]", 'on_broken_plugin = "quarantine"')
    with running_host(settings, broken) as host:
        assert httpx.get(f"{host.url}/readyz").json() == {"status": "degraded"}
        said = innkeeper("call", "good", "hi", "--url", host.url, plugins=broken, cwd=tmp_path)
        assert said.stdout.strip() == "still here"
        assert "plugin 'exits' of exits 1.0: import of exits_module raised SystemExit: 3 (" in (host.said())
        assert (
            "plugin 'halfway' of halfway 1.0 at tenant 'good': hook 'ensure_tables' raised LookupError" in host.said()
        )


def test_safe_mode_serves_a_host_without_any_plugin(broken, config, tmp_path):
    settings = config("[tenants.good]")
    with running_host(settings, broken, ("-m", "innkeeper", "serve", "--safe-mode")) as host:
        assert httpx.get(f"{host.url}/readyz").json() == {"status": "degraded"}
        assert httpx.get(f"{host.url}/agents/good/.well-known/agent-card.json").status_code == 404
        assert "SystemExit" not in host.said()


def test_a_broken_plugin_does_not_block_the_way_out(broken, tmp_path):
    done = innkeeper("plugins", plugins=broken, cwd=tmp_path)
    assert done.returncode == 0
    assert "exits  exits 1.0" in done.stdout
    assert "noise" not in done.stdout


SLOW = """
    import asyncio
    from contextlib import asynccontextmanager
    from innkeeper import Agent, hookimpl

    async def answer(turn):
        return "hi"

    @hookimpl
    def register_agents():
        return [Agent("one", answer), Agent("two", answer)]

    @hookimpl
    @asynccontextmanager
    async def lifespan(plugin):
        if plugin.tenant == "two":
            await asyncio.Event().wait()
        print("entered", flush=True)
        yield
        print("left", flush=True)
"""


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_a_start_that_is_stopped_leaves_what_it_has_entered(install, config, sign):
    plugins = install("slow", SLOW)
    tenants = "[tenants]\none = { use = [] }\ntwo = { use = [] }"
    command = (sys.executable, "-m", "innkeeper", "serve", "--config", config(tenants))
    with subprocess.Popen(command, env=environment(plugins), stdout=subprocess.PIPE, text=True) as host:
        assert host.stdout is not None
        assert host.stdout.readline() == "entered\n"
        host.send_signal(sign)
        said, _ = host.communicate(timeout=20)
    assert (host.returncode, said) == (0, "left\n")
