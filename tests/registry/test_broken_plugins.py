"""Plugins that cannot be served: with "refuse" nothing is, with "quarantine" everything else is."""

import asyncio
import sys
import threading
import time
from importlib import metadata

import pytest

from innkeeper.contract.errors import StartFault
from innkeeper.contract.plugin import UnknownTenant
from innkeeper.registry.assembly import load_registry
from innkeeper.registry.discovery import discover
from innkeeper.registry.loading import load_plugins
from innkeeper.registry.opening import open_tenants
from innkeeper.settings import load_settings

pytestmark = pytest.mark.anyio

HEAD = "from contextlib import asynccontextmanager\nfrom innkeeper import Agent, Config as Base, hookimpl\n"
AGENT = HEAD + (
    "async def answer(turn):\n    return 'hi'\n@hookimpl\ndef register_agents():\n    return Agent('{id}', answer)\n"
)
GATE = "@hookimpl\ndef should_handle_turn(): return True\n"
TABLES = "schema_version = 1\n@hookimpl\nasync def ensure_tables(db, version):\n    {body}\n"
LIFESPAN = "@hookimpl\n@asynccontextmanager\nasync def lifespan(plugin):\n    {before}\n    yield\n    {after}\n"

BROKEN = {
    "raises at import": ("raise ImportError('no')", "import of broken raised ImportError: no"),
    "exits at import": ("raise SystemExit(3)", "import of broken raised SystemExit: 3"),
    "raises no Exception": (
        "class Stop(BaseException): ...\nraise Stop('now')",
        "import of broken raised Stop: now",
    ),
    "misspells a hook": (HEAD + "@hookimpl\ndef should_handel_turn(): ...", "did you mean 'should_handle_turn'?"),
    "wants more than there is": (HEAD + "@hookimpl\ndef capability(turn): ...", "it has no argument 'turn'"),
    "is no plugin": ("x = 1", "nothing in it is marked"),
    "has a Config that is none": (HEAD + GATE + "class Config: ...", "Config: it is no subclass of innkeeper.Config"),
    "has tables without a version": (
        HEAD + "@hookimpl\ndef ensure_tables(db): ...",
        "hook 'ensure_tables': declare schema_version: int beside it",
    ),
    "has a version without tables": (HEAD + GATE + "schema_version = 1", "schema_version: there is no hook"),
    "has version zero": (HEAD + TABLES.format(body="...").replace("= 1", "= 0"), "from 1 on, not 0"),
    "has version True": (HEAD + TABLES.format(body="...").replace("= 1", "= True"), "from 1 on, not True"),
    "has version 1.5": (HEAD + TABLES.format(body="...").replace("= 1", "= 1.5"), "from 1 on, not 1.5"),
    "requires what is not set": (
        HEAD + GATE + "requires = ('HOME_TOWN', 'NOWHERE', 'NOBODY')",
        "requires NOWHERE, NOBODY in the environment",
    ),
    "requires nonsense": (HEAD + GATE + "requires = 'KEY'", "requires: it is a tuple of names"),
    "has an async command": (HEAD + "@hookimpl\nasync def cli(): ...", "make it a plain function"),
    "has a bare generator for a lifespan": (
        HEAD + "@hookimpl\nasync def lifespan(plugin):\n    yield",
        "put @contextlib.asynccontextmanager under @hookimpl",
    ),
    "raises when asked for agents": (
        HEAD + "@hookimpl\ndef register_agents(): raise ValueError('no')",
        "hook 'register_agents' raised ValueError: no",
    ),
    "answers a page that is none": (
        HEAD + "@hookimpl\ndef web_app(): return 3",
        "hook 'web_app' answered int; expected is an ASGI application",
    ),
    "raises over its tables": (
        HEAD + TABLES.format(body="raise ValueError('no')"),
        "hook 'ensure_tables' raised ValueError: no",
    ),
    "answers over its tables": (
        HEAD + TABLES.format(body="return 3"),
        "hook 'ensure_tables' answered int; expected is None",
    ),
    "raises before its lifespan": (
        HEAD + LIFESPAN.format(before="raise ValueError('no')", after=""),
        "hook 'lifespan' raised ValueError: no",
    ),
    "answers a lifespan that is none": (
        HEAD + "@hookimpl\ndef lifespan(): return 3",
        "hook 'lifespan' answered int; expected is an async context manager",
    ),
}


@pytest.fixture
def opened(tmp_path, surroundings):
    """Load and open what this test installed; return the ids of the tenants served, and the registry."""

    async def opening(toml: str = "", **options):
        (tmp_path / "innkeeper.toml").write_text(toml)
        found = [
            entry_point
            for distribution in metadata.distributions(path=[str(tmp_path)])
            for entry_point in distribution.entry_points
        ]
        registry = await load_registry(
            load_settings(None, {}, tmp_path), surroundings, entry_points=found, import_seconds=0.5, **options
        )
        async with open_tenants(registry, surroundings.data) as tenants:
            return dict(tenants), registry

    return opening


@pytest.mark.parametrize("case", BROKEN)
async def test_a_broken_plugin_stops_the_start_by_name(install, opened, case):
    code, reason = BROKEN[case]
    install("good", AGENT.format(id="good"))
    install("broken", code)
    with pytest.raises(StartFault) as refused:
        await opened()
    (fault,) = refused.value.faults
    assert fault.startswith("plugin 'broken'")
    assert reason in fault


@pytest.mark.parametrize("case", BROKEN)
async def test_a_broken_plugin_in_quarantine_is_no_matter_to_the_others(install, opened, case):
    code, reason = BROKEN[case]
    install("good", AGENT.format(id="good"))
    install("broken", code)
    install("other", HEAD + GATE)
    tenants, registry = await opened("[host]\non_broken_plugin = 'quarantine'")
    assert tenants["good"].plugins == ("good", "other")
    (blame,) = registry.blames.of_plugins
    assert blame.plugin == "broken"
    assert reason in blame.reason


async def test_a_plugin_that_hangs_at_import_is_left_behind(install, opened, monkeypatch, all_gone_of):
    release = threading.Event()
    monkeypatch.setitem(sys.modules, "the_release", release)
    install("good", AGENT.format(id="good"))
    install("hanging", "import sys\nsys.modules['the_release'].wait(30)")
    try:
        tenants, registry = await opened("[host]\non_broken_plugin = 'quarantine'")
        assert tenants["good"].plugins == ("good",)
        assert [blame.reason for blame in registry.blames.of_plugins] == ["import of hanging took longer than 0.5 s"]
        assert registry.strays.names() == ("import of hanging, plugin 'hanging'",)
    finally:
        release.set()
    await all_gone_of(registry.strays)


async def test_plugins_that_hang_at_import_do_it_at_the_same_time(install, strays, tmp_path, monkeypatch, all_gone):
    release = threading.Event()
    monkeypatch.setitem(sys.modules, "the_release", release)
    for name in ("hangs-1", "hangs-2", "hangs-3"):
        install(name, "import sys\nsys.modules['the_release'].wait(30)")
    install("zealous", AGENT.format(id="zealous"))
    found = discover([each for dist in metadata.distributions(path=[str(tmp_path)]) for each in dist.entry_points])
    begun = time.monotonic()
    loaded = await load_plugins(found.plugins, strays, deadline=1, beside=0.01)
    release.set()
    await all_gone()
    assert time.monotonic() - begun < 3
    assert [refused.record.name for refused in loaded.broken] == ["hangs-1", "hangs-2", "hangs-3"]
    assert [plugin.name for plugin in loaded.plugins] == ["zealous"]


async def test_a_tenant_whose_agent_is_in_quarantine_is_left_out_and_listed(install, opened):
    install("good", AGENT.format(id="good"))
    install("broken", AGENT.format(id="broken") + TABLES.format(body="raise ValueError('no')"))
    install("gone", "raise ImportError('no')")
    toml = "[host]\non_broken_plugin = 'quarantine'\n[tenants.good]\n[tenants.broken]\n[tenants.gone]"
    tenants, registry = await opened(toml)
    assert list(tenants) == ["good"]
    assert registry.left_out == {
        "broken": "plugin 'broken', which brings its agent, is not served",
        "gone": "no plugin registers agent 'gone'",
    }


async def test_a_fault_at_one_tenant_takes_the_plugin_away_there_only(install, opened):
    install("good", AGENT.format(id="good"))
    install("picky", HEAD + GATE + "class Config(Base):\n    limit: int = 1\n")
    toml = (
        "[host]\non_broken_plugin = 'quarantine'\n[tenants.good]\n[tenants.second]\nagent = 'good'\n"
        "[tenants.second.plugins.picky]\nlimit = 'x'"
    )
    tenants, _ = await opened(toml)
    assert tenants["good"].plugins == ("good", "picky")
    assert tenants["second"].plugins == ("good",)


async def test_what_is_not_served_at_a_tenant_is_out_of_reach_for_pages(install, opened):
    install("good", AGENT.format(id="good"))
    install(
        "halved",
        HEAD
        + "contexts = []\nasync def app(scope, receive, send): ...\n@hookimpl\ndef web_app(plugin):\n"
        + "    contexts.append(plugin)\n    return app\n"
        + LIFESPAN.format(before="if plugin.tenant == 'second': raise ValueError('no')", after=""),
    )
    await opened("[host]\non_broken_plugin = 'quarantine'\n[tenants.good]\n[tenants.second]\nagent = 'good'")
    (at_host,) = sys.modules["halved"].contexts
    assert at_host.for_tenant("good").tenant == "good"
    with pytest.raises(UnknownTenant):
        at_host.for_tenant("second")


async def test_faults_of_the_settings_stop_a_start_with_quarantine_too(install, opened):
    install("good", AGENT.format(id="good"))
    with pytest.raises(StartFault, match="no plugin 'bda' is installed"):
        await opened("[host]\non_broken_plugin = 'quarantine'\n[plugins.bda]\nx = 1")


async def test_safe_mode_loads_nothing_and_leaves_every_tenant_out(install, opened):
    install("broken", "raise SystemExit(3)")
    tenants, registry = await opened("[tenants.broken]\n[plugins.broken]\nx = 1", safe_mode=True)
    assert tenants == {}
    assert [record.name for record in registry.records] == ["broken"]
    assert registry.stock.plugins == {}
    assert list(registry.left_out) == ["broken"]


BACKING = "@hookimpl\nasync def workspace_backing(): return None\n"


async def test_two_providers_of_workspaces_are_a_start_fault_naming_both(install, opened):
    install("good", AGENT.format(id="good"))
    install("one", HEAD + BACKING)
    install("two", HEAD + BACKING)
    with pytest.raises(StartFault) as refused:
        await opened()
    only_one = "hook 'workspace_backing' may have one provider, and plugin {!r} has it too".format
    assert refused.value.faults == (
        f"plugin 'one' of one 1.0 at tenant 'good': {only_one('two')}",
        f"plugin 'two' of two 1.0 at tenant 'good': {only_one('one')}",
    )
    tenants, _ = await opened("[tenants.good]\nuse = ['two']")
    assert tenants["good"].plugins == ("good", "two")


async def test_what_was_entered_before_a_fault_is_left_again(install, opened, monkeypatch):
    told: list[str] = []
    monkeypatch.setitem(sys.modules, "told", told)
    install("good", AGENT.format(id="good"))
    says = "import sys; sys.modules['told'].append({!r})".format
    install("a-first", HEAD + LIFESPAN.format(before=says("in"), after=says("out")))
    install("broken", HEAD + LIFESPAN.format(before="raise ValueError('no')", after=""))
    with pytest.raises(StartFault):
        await opened()
    assert told == ["in", "out"]


async def test_tables_and_lifespans_that_fail_are_in_one_report(install, opened):
    install("good", AGENT.format(id="good"))
    install("tables", HEAD + TABLES.format(body="raise ValueError('no table')"))
    install("held", HEAD + LIFESPAN.format(before="raise ValueError('no life')", after=""))
    with pytest.raises(StartFault) as refused:
        await opened()
    assert [fault.partition(":")[0] for fault in refused.value.faults] == [
        "plugin 'tables' of tables 1.0 at tenant 'good'",
        "plugin 'held' of held 1.0 at tenant 'good'",
    ]


async def test_at_a_tenant_that_is_left_out_nobody_stays_entered(install, tmp_path, surroundings, monkeypatch):
    told: list[str] = []
    monkeypatch.setitem(sys.modules, "told", told)
    install("good", AGENT.format(id="good"))
    says = "import sys; sys.modules['told'].append({} + plugin.tenant)".format
    install("a-first", HEAD + LIFESPAN.format(before=says("'in '"), after=says("'out '")))
    install("broken", AGENT.format(id="broken") + LIFESPAN.format(before="raise ValueError('no')", after=""))
    found = [each for dist in metadata.distributions(path=[str(tmp_path)]) for each in dist.entry_points]
    (tmp_path / "innkeeper.toml").write_text(
        "[host]\non_broken_plugin = 'quarantine'\n[tenants.good]\nuse = ['a-first']\n[tenants.broken]\n"
    )
    registry = await load_registry(load_settings(None, {}, tmp_path), surroundings, entry_points=found)
    async with open_tenants(registry, surroundings.data) as tenants:
        assert list(tenants) == ["good"]
        assert sorted(told) == ["in broken", "in good", "out broken"]
    assert told[-1] == "out good"


class NeverDone:
    """Data of plugins that no migration ever finishes."""

    def database(self, plugin, tenant):
        return None

    async def migrate(self, plugin, tenant, declared, ensure):
        await asyncio.Event().wait()


async def test_a_migration_that_does_not_end_is_a_fault(install, tmp_path, surroundings, monkeypatch):
    monkeypatch.setattr("innkeeper.registry.opening.MIGRATION_SECONDS", 0.05)
    install("good", AGENT.format(id="good"))
    install("tables", HEAD + TABLES.format(body="..."))
    found = [each for dist in metadata.distributions(path=[str(tmp_path)]) for each in dist.entry_points]
    registry = await load_registry(load_settings(None, {}, tmp_path), surroundings, entry_points=found)
    with pytest.raises(
        StartFault, match=r"plugin 'tables' of tables 1.0 at tenant 'good': its tables are not up to date after 0.05 s"
    ):
        async with open_tenants(registry, NeverDone()):
            pass
