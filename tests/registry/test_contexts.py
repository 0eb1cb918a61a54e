"""What plugins get from the host, and what they do not reach."""

import asyncio
import json
import sys
from importlib import metadata

import httpx
import pytest

from innkeeper.contract.errors import StartFault
from innkeeper.contract.plugin import UnknownTenant
from innkeeper.registry.assembly import load_registry
from innkeeper.registry.contexts import reaching
from innkeeper.registry.outgoing import Clients, PluginClient
from innkeeper.settings import load_settings

pytestmark = pytest.mark.anyio

PLUGIN = """
from innkeeper import Agent, Config as Base, hookimpl
class Config(Base):
    size: int = 1
seen = []
async def answer(turn):
    return 'hi'
@hookimpl
def register_agents(plugin):
    seen.append(plugin)
    return Agent('acme', answer)
"""


@pytest.fixture
async def contexts(install, tmp_path, surroundings):
    """Return the context at host scope and those at the tenants of a plugin that is served twice."""
    install("acme", PLUGIN)
    (tmp_path / "innkeeper.toml").write_text(
        "[plugins.acme]\nsize = 2\n[tenants.one]\nagent = 'acme'\n[tenants.two]\nagent = 'acme'\n"
        "[tenants.two.plugins.acme]\nsize = 3"
    )
    found = [each for dist in metadata.distributions(path=[str(tmp_path)]) for each in dist.entry_points]
    registry = await load_registry(load_settings(None, {}, tmp_path), surroundings, entry_points=found)
    return sys.modules["acme"].seen[0], {tenant.id: tenant.plugin for tenant in registry.tenants.values()}


async def test_a_context_is_made_per_plugin_and_tenant(contexts):
    at_host, at = contexts
    assert (at_host.tenant, at_host.db, at_host.config.size) == (None, None, 2)
    assert [(each.tenant, each.config.size) for each in at.values()] == [("one", 2), ("two", 3)]
    assert len({id(each.state) for each in (at_host, *at.values())}) == 3
    assert at["one"].http is at["two"].http is at_host.http


async def test_tables_are_the_tenants_own(contexts):
    _, at = contexts
    await at["one"].db.execute("CREATE TABLE notes (text TEXT)")
    assert await at["one"].db.fetch_all("SELECT name FROM sqlite_schema WHERE name = 'notes'") == [("notes",)]
    assert await at["two"].db.fetch_all("SELECT name FROM sqlite_schema WHERE name = 'notes'") == []


async def test_the_host_scope_reaches_its_tenants_and_no_others(contexts):
    at_host, at = contexts
    assert at_host.for_tenant("two") is at["two"]
    with pytest.raises(UnknownTenant, match="no tenant 'three'"):
        at_host.for_tenant("three")
    with pytest.raises(ValueError, match="the context at tenant 'one'"):
        at["one"].for_tenant("two")


async def test_a_page_reaches_the_tenants_of_its_caller_only(contexts):
    at_host, at = contexts
    with reaching(frozenset({"one"})):
        assert at_host.for_tenant("one") is at["one"]
        with pytest.raises(UnknownTenant):
            await asyncio.create_task(asyncio.to_thread(at_host.for_tenant, "two"))
    assert at_host.for_tenant("two") is at["two"]


async def test_the_environment_is_what_the_host_was_given_without_its_own_variables(contexts):
    at_host, _ = contexts
    assert at_host.env("HOME_TOWN") == "Ghent"
    assert at_host.env("NOWHERE") is None
    with pytest.raises(ValueError, match="variables of the host"):
        at_host.env("INNKEEPER_AUTH__SIGNING_KEY")
    assert "HOME_TOWN" not in repr(at_host)


def answering(request: httpx.Request) -> httpx.Response:
    if request.url.path == "/away":
        return httpx.Response(302, headers={"location": "http://elsewhere.test/"})
    seen = {"cookie": request.headers.get("cookie")}
    return httpx.Response(200, content=json.dumps(seen), headers={"set-cookie": "id=1; Path=/"})


async def test_the_shared_client_keeps_no_cookies_and_follows_no_redirects(monkeypatch):
    client = PluginClient()
    monkeypatch.setattr(client, "_transport", httpx.MockTransport(answering))
    monkeypatch.setattr(client, "_mounts", {})
    await client.get("http://there.test/")
    assert (await client.get("http://there.test/")).json() == {"cookie": None}
    assert (await client.get("http://there.test/away")).status_code == 302
    await client.end()


async def test_what_one_plugin_sets_on_its_client_no_other_sees():
    clients = Clients()
    clients.of("one").headers["authorization"] = "Bearer secret"
    assert clients.of("one") is clients.of("one")
    assert "authorization" not in clients.of("two").headers
    await clients.end()


async def test_no_plugin_closes_the_shared_client(monkeypatch):
    client = PluginClient()
    monkeypatch.setattr(client, "_transport", httpx.MockTransport(answering))
    monkeypatch.setattr(client, "_mounts", {})
    async with client as same:
        assert same is client
    await client.aclose()
    assert (await client.get("http://there.test/")).status_code == 200
    await client.end()
    assert client.is_closed


PARTIAL = """
from innkeeper import Agent, Config as Base, hookimpl
class Config(Base):
    key: str
async def answer(turn):
    return turn.plugin.config.key
@hookimpl
def register_agents({argument}):
    return Agent('partial', answer)
"""


@pytest.mark.parametrize(("argument", "starts"), [("", True), ("plugin", False)])
async def test_a_configuration_may_be_complete_at_the_tenant_only(install, tmp_path, surroundings, argument, starts):
    install("partial", PARTIAL.format(argument=argument))
    (tmp_path / "innkeeper.toml").write_text("[tenants.partial.plugins.partial]\nkey = 'x'")
    found = [each for dist in metadata.distributions(path=[str(tmp_path)]) for each in dist.entry_points]
    loading = load_registry(load_settings(None, {}, tmp_path), surroundings, entry_points=found)
    if starts:
        assert (await loading).tenants["partial"].plugin.config.key == "x"
    else:
        with pytest.raises(StartFault, match=r"plugins\.partial\.key: Field required"):
            await loading
