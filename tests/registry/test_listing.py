"""What there is to know of plugins, as data that JSON can carry."""

import json
from importlib import metadata

import pytest

from innkeeper.registry.assembly import load_registry
from innkeeper.registry.charges import Charge
from innkeeper.registry.listeners import WAITING
from innkeeper.registry.listing import listing
from innkeeper.registry.opening import open_tenants
from innkeeper.settings import load_settings

pytestmark = pytest.mark.anyio

QUARANTINE = '[host]\non_broken_plugin = "quarantine"\n'
AGENT = """
from innkeeper import Agent, hookimpl
async def answer(turn): return "hi"
@hookimpl
def register_agents(): return Agent("helper", answer)
"""
MEMORY = """
from datetime import date
from pydantic import SecretStr
from innkeeper import Config as Base, hookimpl
class Inner(Base):
    token: SecretStr
class Config(Base):
    since: date = date(2020, 1, 1)
    town: str = ""
    inner: Inner | None = None
schema_version = 3
requires = ("HOME_TOWN",)
@hookimpl(trylast=True)
def should_handle_turn(): return True
@hookimpl
async def ensure_tables(db, version): {ensure}
@hookimpl
def on_turn_event(event): pass
@hookimpl
def web_app(): return answer
async def answer(scope, receive, send): raise RuntimeError
"""
GATE = "from innkeeper import hookimpl\n@hookimpl\ndef should_handle_turn(): return True\n"


@pytest.fixture
def loaded(tmp_path, surroundings):
    """Load what this test installed; gives the registry and its settings."""

    async def loading(toml: str = "", **options):
        (tmp_path / "innkeeper.toml").write_text(toml)
        settings = load_settings(None, {}, tmp_path)
        found = [
            entry_point
            for distribution in metadata.distributions(path=[str(tmp_path)])
            for entry_point in distribution.entry_points
        ]
        return await load_registry(settings, surroundings, entry_points=found, **options), settings

    return loading


def plugin_in(listed, name: str):
    (found,) = [plugin for plugin in listed["plugins"] if plugin["name"] == name]
    return found


async def test_a_plugin_that_is_served_is_listed_with_everything_it_declares(install, loaded):
    install("helper", AGENT)
    install("memory", MEMORY.format(ensure="pass"), version="2.1")
    registry, settings = await loaded(
        "[plugins.memory]\ntown = '${HOME_TOWN}'\nsince = 2024-05-06\ninner.token = 'hush'\n"
        "[tenants.helper.plugins.memory]\ntown = 'Bruges'\n"
    )
    registry.stock.charges.add(Charge("memory", "web_app"))
    registry.stock.charges.add(Charge("memory", "on_turn_event", "helper"))
    registry.stock.charges.add(Charge("memory", "on_turn_event", "helper"))
    listed = json.loads(json.dumps(listing(registry, settings)))
    found = plugin_in(listed, "memory")
    assert found.pop("import_ms") > 0
    config = {"town": "${HOME_TOWN}", "since": "2024-05-06", "inner": "(not shown)"}
    assert found == {
        "name": "memory",
        "version": "2.1",
        "distribution": "memory",
        "entry_point": "memory",
        "state": "served",
        "reasons": [],
        "notes": [],
        "hooks": ["ensure_tables", "on_turn_event", "should_handle_turn", "web_app"],
        "schema_version": 3,
        "requires": ["HOME_TOWN"],
        "config": config,
        "tenant_config": {"helper": {**config, "town": "Bruges"}},
        "page": "/plugins/memory/",
        "faults": [
            {"hook": "on_turn_event", "tenant": "helper", "count": 2},
            {"hook": "web_app", "tenant": None, "count": 1},
        ],
        "dropped_events": {},
    }
    assert plugin_in(listed, "helper")["config"] is None
    assert "hush" not in json.dumps(listed)


async def test_hooks_are_listed_in_the_order_in_which_they_are_asked(install, loaded):
    for name, code in {
        "helper": AGENT,
        "a-memory": MEMORY.format(ensure="pass"),
        "b-gate": GATE,
        "c-gate": GATE,
    }.items():
        install(name, code)
    registry, settings = await loaded("[tenants.helper]\nuse = ['a-memory', 'c-gate', 'b-gate']\n")
    listed = listing(registry, settings)
    assert listed["call_order"] == {"register_agents": ["helper"], "web_app": ["a-memory"]}
    assert listed["tenants"] == [
        {
            "tenant": "helper",
            "agent": "helper",
            "plugin": "helper",
            "plugins": ["helper", "a-memory", "c-gate", "b-gate"],
            "call_order": {
                "ensure_tables": ["a-memory"],
                "on_turn_event": ["a-memory"],
                "should_handle_turn": ["c-gate", "b-gate", "a-memory"],
            },
        }
    ]


async def test_what_is_in_quarantine_is_listed_with_the_reason(install, loaded):
    install("helper", AGENT)
    install("broken", "raise ValueError('bad day')")
    install("memory", MEMORY.format(ensure="pass"))
    registry, settings = await loaded(f"{QUARANTINE}[plugins.memory]\nhome = 'Ghent'\n[plugins.broken]\nkey = 'hush'\n")
    listed = listing(registry, settings)
    broken = plugin_in(listed, "broken")
    assert (broken["state"], broken["hooks"], broken["config"]) == ("quarantined", None, None)
    assert broken["reasons"][0]["tenant"] is None
    assert "bad day" in broken["reasons"][0]["reason"]
    memory = plugin_in(listed, "memory")
    assert (memory["state"], memory["schema_version"], memory["page"]) == ("quarantined", 3, None)
    assert "plugins.memory.home: unknown key" in memory["reasons"][0]["reason"]
    assert "hush" not in str(listed)


async def test_what_is_in_quarantine_at_one_tenant_names_the_tenant(install, loaded, surroundings):
    install("helper", AGENT)
    install("memory", MEMORY.format(ensure="raise ValueError('no room')"))
    registry, settings = await loaded(QUARANTINE)
    async with open_tenants(registry, surroundings.data) as tenants:
        listed = listing(registry, settings, tenants)
    (reason,) = plugin_in(listed, "memory")["reasons"]
    assert reason["tenant"] == "helper"
    assert "no room" in reason["reason"]
    assert listed["tenants"][0]["plugins"] == ["helper"]


async def test_in_safe_mode_nothing_is_loaded_and_tenants_are_left_out(install, loaded):
    install("helper", AGENT)
    registry, settings = await loaded("[tenants.helper]\n", safe_mode=True)
    listed = listing(registry, settings)
    assert plugin_in(listed, "helper")["state"] == "not loaded"
    assert listed["tenants"] == []
    assert listed["left_out"] == [{"tenant": "helper", "reason": "no plugin registers agent 'helper'"}]


async def test_two_distributions_that_claim_one_name_are_two_plugins_in_quarantine(install, loaded):
    install("first", AGENT, entry_points="helper = first")
    install("second", GATE, entry_points="helper = second")
    registry, settings = await loaded(QUARANTINE)
    found = [plugin for plugin in listing(registry, settings)["plugins"] if plugin["name"] == "helper"]
    assert [(plugin["distribution"], plugin["state"]) for plugin in found] == [
        ("first", "quarantined"),
        ("second", "quarantined"),
    ]
    assert [len(plugin["reasons"]) for plugin in found] == [1, 1]


async def test_faults_that_are_no_plugins_are_listed_where_they_are_not_settled(install, loaded):
    install("helper", AGENT)
    registry, settings = await loaded("[plugins.helpr]\na = 1\n", settle=False)
    assert listing(registry, settings)["faults"] == [
        "plugins.helpr: no plugin 'helpr' is installed; did you mean 'helper'?"
    ]


async def test_events_that_a_listener_missed_are_counted_by_tenant(install, loaded):
    install("helper", AGENT)
    install("memory", MEMORY.format(ensure="pass"))
    registry, settings = await loaded()
    hooks = registry.tenants["helper"].hooks
    for _ in range(WAITING + 2):
        hooks.on_turn_event(None)
    assert plugin_in(listing(registry, settings), "memory")["dropped_events"] == {"helper": 2}
    await hooks.close()
