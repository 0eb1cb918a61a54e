"""Tenants and the registry as a whole: from installed distributions and settings to what is served."""

import logging
from datetime import timedelta
from importlib import metadata

import pytest

from innkeeper.contract.errors import StartFault
from innkeeper.registry.assembly import load_registry
from innkeeper.settings import load_settings

pytestmark = pytest.mark.anyio

AGENT = """
from datetime import timedelta
from innkeeper import Agent, Skill, hookimpl

async def answer(turn):
    return "hi"

@hookimpl
def register_agents():
    return {agents}
"""
GATE = "from innkeeper import hookimpl\n@hookimpl\ndef should_handle_turn(): return True\n"


@pytest.fixture
def registry(tmp_path, surroundings):
    """Load the registry of what this test installed, under settings given as TOML."""

    async def loading(toml: str | None = None, reserved: frozenset[str] = frozenset()):
        if toml is not None:
            (tmp_path / "innkeeper.toml").write_text(toml)
        settings = load_settings(None, {}, tmp_path)
        found = [
            entry_point
            for distribution in metadata.distributions(path=[str(tmp_path)])
            for entry_point in distribution.entry_points
        ]
        return await load_registry(settings, surroundings, entry_points=found, reserved=reserved)

    return loading


@pytest.fixture
def faults_of(registry):
    async def refused(toml: str | None = None, **options) -> tuple[str, ...]:
        with pytest.raises(StartFault) as caught:
            await registry(toml, **options)
        return caught.value.faults

    return refused


@pytest.fixture
def tenant(install, registry):
    """Serve one agent, given as code, as the tenant ``support`` of a table given as TOML."""

    async def serving(agent: str, table: str = "", rest: str = ""):
        install("acme", AGENT.format(agents=agent))
        return (await registry(f"[tenants.support]\nagent = 'greeter'\n{table}\n{rest}")).tenants["support"]

    return serving


async def test_without_a_table_every_agent_is_served_under_its_own_id(install, registry):
    install("acme", AGENT.format(agents="[Agent('one', answer), Agent('two', answer)]"))
    install("bouncer", GATE)
    found = await registry()
    assert sorted(found.tenants) == ["one", "two"]
    one = found.tenants["one"]
    assert (one.agent.id, one.plugin.name, one.plugin.tenant) == ("one", "acme", "one")
    assert one.plugins == ("acme", "bouncer")
    assert one.hooks.has("should_handle_turn")
    assert list(found.stock.plugins) == [record.name for record in found.records] == ["acme", "bouncer"]
    assert found.strays.count == 0
    with pytest.raises(TypeError):
        found.tenants["three"] = one


async def test_nothing_installed_is_nothing_served(registry):
    assert dict((await registry()).tenants) == {}


async def test_one_agent_may_be_served_twice(install, registry):
    install("acme", AGENT.format(agents="Agent('greeter', answer)"))
    found = await registry("[tenants.greeter]\n[tenants.second]\nagent = 'greeter'\nname = 'Second'")
    assert [tenant.agent.name for tenant in found.tenants.values()] == ["greeter", "Second"]
    first, second = (tenant.plugin for tenant in found.tenants.values())
    assert first.state is not second.state


PRECEDENCE = [
    ("Agent('greeter', answer)", "", 120),
    ("Agent('greeter', answer, turn_timeout=timedelta(seconds=60))", "", 60),
    ("Agent('greeter', answer, turn_timeout=timedelta(seconds=60))", "turn_timeout = '30s'", 30),
    ("Agent('greeter', answer)", "turn_timeout = '30s'", 30),
]


@pytest.mark.parametrize(("agent", "table", "seconds"), PRECEDENCE)
async def test_the_tenants_timeout_wins_over_the_agents_and_that_over_the_hosts(tenant, agent, table, seconds):
    served = await tenant(agent, table, "[turns]\nturn_timeout = '2m'")
    assert served.turn_timeout == timedelta(seconds=seconds)


async def test_limits_of_the_tenant_win_over_the_hosts(tenant):
    served = await tenant(
        "Agent('greeter', answer)", "queue_per_session = 5", "[turns]\nqueue_per_session = 9\nqueue_per_tenant = 7"
    )
    assert (served.queue_per_session, served.queue_per_tenant, served.max_concurrent_turns) == (5, 7, 64)


async def test_overrides_are_applied_to_the_agent(tenant):
    served = await tenant(
        "Agent('greeter', answer, name='Greeter', description='Greets.')",
        "name = 'Support'\ndescription = 'Helps.'\nversion = '9'\nresumable = false\nstreaming = false\n"
        "idempotent_messages = false\nsession_scope = 'caller'",
    )
    agent = served.agent
    assert (agent.id, agent.name, agent.description, agent.version) == ("greeter", "Support", "Helps.", "9")
    assert (agent.resumable, agent.streaming, agent.idempotent_messages) == (False, False, False)
    assert agent.session_scope == "caller"
    (skill,) = agent.skills
    assert (skill.id, skill.name, skill.description) == ("greeter", "Support", "Helps.")


async def test_what_was_made_of_the_agents_name_follows_the_tenants(tenant):
    agent = (await tenant("Agent('greeter', answer)", "name = 'Support'")).agent
    assert (agent.description, agent.skills[0].name, agent.skills[0].description) == ("Support", "Support", "Support")


async def test_skills_of_the_agents_own_stay(tenant):
    agent = (await tenant("Agent('greeter', answer, skills=(Skill('wave'),))", "name = 'Support'")).agent
    assert [skill.id for skill in agent.skills] == ["wave"]


USE = [
    ("", ("acme", "bouncer", "usher")),
    ("use = ['usher', 'acme', 'bouncer']", ("usher", "acme", "bouncer")),
    ("use = ['usher']", ("acme", "usher")),
    ("use = []", ("acme",)),
]


@pytest.mark.parametrize(("table", "plugins"), USE)
async def test_use_names_the_plugins_and_their_order_and_the_agents_own_is_always_in(tenant, install, table, plugins):
    for name in ("usher", "bouncer"):
        install(name, GATE)
    served = await tenant("Agent('greeter', answer)", table)
    assert served.plugins == plugins
    assert served.hooks.has("should_handle_turn") is (len(plugins) > 1)


async def test_a_plugins_log_names_plugin_and_tenant(tenant, caplog):
    served = await tenant("Agent('greeter', answer)")
    served.plugin.log.warning("%s left", "guest", extra={"room": 7})
    (record,) = caplog.records
    assert record.message == "[acme@support] guest left"
    assert (record.plugin, record.tenant, record.room) == ("acme", "support", 7)
    assert record.name == "innkeeper.plugins.acme"
    assert served.plugin.log.isEnabledFor(logging.WARNING)


async def test_an_unknown_plugin_in_use_is_a_fault_with_a_suggestion(install, faults_of):
    install("acme", AGENT.format(agents="Agent('greeter', answer)"))
    install("bouncer", GATE)
    first, second = await faults_of("[tenants.greeter]\nuse = ['bonucer', 'xyzzy']")
    assert first.startswith("tenants.greeter.use: no plugin 'bonucer'")
    assert "did you mean 'bouncer'?" in first
    assert "there are: acme, bouncer" in second


async def test_an_unknown_agent_is_a_fault_that_names_the_known_ones(install, faults_of):
    install("acme", AGENT.format(agents="[Agent('greeter', answer), Agent('waiter', answer)]"))
    first, second = await faults_of("[tenants.greeted]\n[tenants.support]\nagent = 'xyzzy'")
    assert first == "tenants.greeted.agent: no plugin registers 'greeted'; did you mean 'greeter'?"
    assert second.endswith("there are: greeter, waiter")


async def test_two_plugins_with_one_agent_id_are_a_fault_naming_both(install, faults_of):
    for name in ("acme", "zenith"):
        install(name, AGENT.format(agents="Agent('greeter', answer)"))
    assert await faults_of() == (
        "plugin 'acme' of acme 1.0: it registers agent 'greeter', and so does plugin 'zenith'",
        "plugin 'zenith' of zenith 1.0: it registers agent 'greeter', and so does plugin 'acme'",
    )


async def test_one_plugin_with_two_agents_of_one_id_is_a_fault(install, faults_of):
    install("acme", AGENT.format(agents="[Agent('greeter', answer), Agent('greeter', answer)]"))
    (fault,) = await faults_of()
    assert "'greeter'" in fault


async def test_an_agent_that_is_none_is_a_fault_of_its_plugin(install, faults_of):
    install("acme", AGENT.format(agents="Agent('Bad Id', answer)"))
    (fault,) = await faults_of()
    assert fault.startswith("plugin 'acme' of acme 1.0: hook 'register_agents' raised ValueError: Agent id 'Bad Id'")


async def test_every_fault_of_every_plugin_is_raised_at_once(install, faults_of):
    install("broken", "raise SystemExit(3)")
    install(
        "clumsy", "from innkeeper import hookimpl\n@hookimpl\ndef register_agents(x): ...\n@hookimpl\ndef oops(): ..."
    )
    install("mute", AGENT.format(agents="3"))
    install("newer", "raise SystemExit(3)", group="innkeeper.v2")
    install("serve", GATE)
    install("sound", AGENT.format(agents="Agent('sound', answer)"))
    faults = await faults_of(
        "[tenants.sound]\nuse = ['broken', 'nobody']\n[tenants.lost]", reserved=frozenset({"serve"})
    )
    assert len(faults) == 7, "\n".join(faults)
    for named in ("'broken'", "'x'", "'oops'", "'mute'", "contract 2", "'serve'", "'nobody'"):
        assert any(named in fault for fault in faults), named


async def test_two_registries_in_one_process_share_nothing(install, registry):
    install("acme", AGENT.format(agents="Agent('greeter', answer)"))
    first, second = await registry(), await registry()
    assert first.strays is not second.strays
    assert first.tenants["greeter"].plugin.state is not second.tenants["greeter"].plugin.state
