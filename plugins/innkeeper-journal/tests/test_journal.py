import asyncio
import json
import logging
from datetime import UTC, datetime, timedelta

import anyio
import httpx
import pytest
from click.testing import CliRunner

from innkeeper import Caller, TurnEvent
from innkeeper.registry.assembly import Surroundings, load_registry
from innkeeper.registry.contexts import reaching
from innkeeper.registry.facade import Hooks
from innkeeper.registry.outgoing import Clients
from innkeeper.registry.tenants import implementations_at
from innkeeper.settings import load_settings
from innkeeper.store.plugin_databases import PluginDatabases

TWO = "[tenants.notebook]\nuse = ['journal']\n[tenants.other]\nagent = 'notebook'\nuse = ['journal']\n"
BARE = "[tenants.bare]\nagent = 'notebook'\nuse = []\n"
NASTY = "<script>alert('hi')</script>\x1b[2J"


def event(seq: int, *, ago: timedelta = timedelta(), **data) -> TurnEvent:
    return TurnEvent(seq, "t1", "s1", "status", datetime.now(UTC) - ago, data)


async def written(house, *events: TurnEvent) -> None:
    """Tell the journal of events and wait until they are in it; nothing more can be told afterwards."""
    for each in events:
        house.hooks().on_turn_event(each)
    await house.hooks().close()


def pages(house, *tenants: str, listed=None, reach=None) -> httpx.AsyncClient:
    """Open the pages as the host does for a caller who may address these tenants.

    ``listed`` is what the request says of them, ``reach`` what the host lets the plugin reach; the same by default.
    """
    app = house.host.registry.web_apps["journal"]

    async def behind_the_door(scope, receive, send):
        door = {
            "root_path": "/plugins/journal",
            "innkeeper.caller": Caller("ada"),
            "innkeeper.tenants": frozenset(tenants if listed is None else listed),
        }
        with reaching(frozenset(tenants if reach is None else reach)):
            await app({**scope, **door}, receive, send)

    return httpx.AsyncClient(transport=httpx.ASGITransport(behind_the_door), base_url="http://host/plugins/journal")


def context_of(house, hook: str):
    (context,) = [each.context for each in house.hooks().implementations if each.hook == hook]
    return context


@pytest.mark.anyio
async def test_a_turn_is_in_the_journal_and_nothing_that_was_said(open_house):
    async with open_house(TWO) as house:
        await house.say("write secret sauce")
        await written(house)
        async with pages(house, "notebook", "other") as http:
            events = (await http.get("/notebook/events.json")).json()["events"]
            assert (await http.get("/other/events.json")).json() == {"events": []}
    assert events[-1]["kind"] == "task"
    assert events[0]["data"]["state"] == "completed"
    assert [each["seq"] for each in events] == sorted((each["seq"] for each in events), reverse=True)
    assert len({(each["task"], each["session"]) for each in events}) == 1
    assert "sauce" not in json.dumps(events)


@pytest.mark.anyio
async def test_an_event_that_is_told_twice_is_in_it_once_and_no_fault(open_house, caplog):
    async with open_house(TWO) as house:
        await written(house, event(1, state="a"), event(1, state="b"), event(2))
        async with pages(house, "notebook") as http:
            events = (await http.get("/notebook/events.json")).json()["events"]
    assert [(each["seq"], each["data"]) for each in events] == [(2, {}), (1, {"state": "a"})]
    assert [record for record in caplog.records if record.levelno > logging.INFO] == []


@pytest.mark.anyio
async def test_the_page_of_a_journal_escapes_what_agents_have_chosen(open_house):
    async with open_house(TWO) as house:
        await written(house, event(1, name=NASTY, **{NASTY: {"deep": [NASTY]}}))
        async with pages(house, "notebook") as http:
            page = await http.get("/notebook/")
    assert page.headers["content-type"].startswith("text/html")
    assert "&lt;script&gt;" in page.text
    assert "<script" not in page.text


EVERY = ("notebook", "other", "bare", "nobody")
REACHABLE = [
    (("notebook", "other", "bare"), ["notebook", "other"]),
    (("other",), ["other"]),
    (("bare",), []),
    ((), []),
]


@pytest.mark.anyio
@pytest.mark.parametrize("wider", [{}, {"listed": EVERY}, {"reach": EVERY}], ids=["both", "reach", "listed"])
@pytest.mark.parametrize(("tenants", "shown"), REACHABLE)
async def test_callers_see_the_journals_of_their_tenants_and_no_others(open_house, tenants, shown, wider):
    async with open_house(TWO + BARE) as house, pages(house, *tenants, **wider) as http:
        index = (await http.get("/")).text
        for tenant in EVERY:
            assert (f'href="{tenant}/"' in index) is (tenant in shown)
            status = 200 if tenant in shown else 404
            assert (await http.get(f"/{tenant}/")).status_code == status
            assert (await http.get(f"/{tenant}/events.json")).status_code == status


LIMITS = [("", 100), ("?limit=2", 2), ("?limit=0", 1), ("?limit=-5", 1), ("?limit=many", 100), ("?limit=99999", 1000)]


@pytest.mark.anyio
@pytest.mark.parametrize(("query", "shown"), LIMITS)
async def test_a_page_has_as_many_events_as_are_asked_for(open_house, query, shown):
    async with open_house(f"{TWO}[plugins.journal]\nkeep = '99999d'\n") as house:
        rows = [(number, 10**15, "s1", "t1", number, "status", "{}") for number in range(1, 1101)]
        db = context_of(house, "on_turn_event").db
        await db.executemany("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        async with pages(house, "notebook") as http:
            assert len((await http.get(f"/notebook/events.json{query}")).json()["events"]) == shown
            assert (await http.get(f"/notebook/{query}")).text.count("<time ") == shown


@pytest.mark.anyio
async def test_old_entries_are_removed_while_the_tenant_is_served(open_house):
    async with open_house(TWO) as house:
        await written(house, *(event(days, ago=timedelta(days=days)) for days in (1, 6, 8, 29)))
    for kept, left in (("30d", 4), ("7d", 2)):
        async with open_house(f"{TWO}[plugins.journal]\nkeep = '{kept}'\nprune_every = '1s'\n") as house:
            db = context_of(house, "lifespan").db
            with anyio.fail_after(10):
                while await db.fetch_one("SELECT count(*) FROM entries") != (left,):
                    await anyio.lowlevel.checkpoint()


@pytest.mark.anyio
async def test_pruning_goes_on_after_it_has_failed(open_house, caplog):
    async with open_house(f"{TWO}[plugins.journal]\nkeep = '1d'\nprune_every = '1s'\n") as house:
        db = context_of(house, "lifespan").db
        await db.execute("ALTER TABLE entries RENAME TO elsewhere")
        with anyio.fail_after(10):
            while "old entries stay for now" not in caplog.text:
                await db.fetch_one("SELECT 1")
        await db.execute("INSERT INTO elsewhere VALUES (1, 0, 's', 't', 1, 'task', '{}')")
        await db.execute("ALTER TABLE elsewhere RENAME TO entries")
        with anyio.fail_after(10):
            while await db.fetch_one("SELECT 1 FROM entries"):
                await anyio.lowlevel.checkpoint()


@pytest.mark.anyio
@pytest.mark.parametrize("age", ["0d", "7", "d", "-1d", "1.5h", "1w", "", "999999d"])
async def test_a_faulty_age_is_a_start_fault(open_house, age):
    with pytest.raises(Exception, match=r"plugins\.journal\.keep = .*: an age is"):
        async with open_house(f"{TWO}[plugins.journal]\nkeep = '{age}'\n"):
            pass


@pytest.fixture
def journal(tmp_path):
    """Run ``innkeeper journal`` as the command line does: at host scope, while no host runs."""

    def run(*arguments: str):
        settings = load_settings(None, {"INNKEEPER_HOST__PUBLIC_URL": "http://127.0.0.1"}, tmp_path)
        data, client = PluginDatabases(settings.host.data_dir), Clients()
        registry = asyncio.run(load_registry(settings, Surroundings({}, client, data)))
        plugin = registry.stock.plugins["journal"]
        context, _ = registry.stock.contexts.make(plugin, None)
        hooks = Hooks(implementations_at([plugin], {"journal": context}), registry.stock.strays, registry.stock.charges)
        try:
            return CliRunner().invoke(hooks.cli(), arguments)
        finally:
            asyncio.run(data.aclose())
            asyncio.run(client.end())

    return run


@pytest.fixture
def kept(open_house):
    """A journal with an event of each of these ages in days, and a nasty one."""

    async def keep():
        async with open_house(TWO) as house:
            await written(
                house,
                event(1, ago=timedelta(days=9)),
                event(2, ago=timedelta(days=2)),
                event(3, name=NASTY),
            )

    asyncio.run(keep())


def test_show_prints_the_last_events_the_newest_last(journal, kept):
    shown = journal("show", "--tenant", "notebook", "--limit", "2")
    assert shown.exit_code == 0, shown.output
    assert [line.split("  ")[2] for line in shown.output.splitlines()] == ["2", "3"]
    assert json.loads(shown.output.split("  ")[-1]) == {"name": NASTY}
    assert "\x1b" not in shown.output
    assert journal("show", "--tenant", "other").output == ""


def test_show_prints_json_line_by_line(journal, kept):
    shown = journal("show", "--tenant", "notebook", "--json")
    events = [json.loads(line) for line in shown.output.splitlines()]
    assert [each["seq"] for each in events] == [1, 2, 3]
    assert events[2]["data"] == {"name": NASTY}
    assert "\x1b" not in shown.output


def test_prune_removes_what_is_older_and_says_how_much(journal, kept):
    assert journal("prune", "--tenant", "notebook", "--older-than", "7d").output == "1 removed\n"
    assert journal("prune", "--tenant", "notebook", "--older-than", "7d").output == "0 removed\n"
    assert len(journal("show", "--tenant", "notebook").output.splitlines()) == 2


WRONG = [
    (("show", "--tenant", "nobody"), 1, "no tenant 'nobody'"),
    (("show",), 2, "--tenant"),
    (("show", "--tenant", "notebook", "--limit", "0"), 2, "--limit"),
    (("prune", "--tenant", "notebook"), 2, "--older-than"),
    (("prune", "--tenant", "notebook", "--older-than", "soon"), 2, "an age is"),
]


@pytest.mark.parametrize(("arguments", "code", "words"), WRONG)
def test_a_command_that_cannot_be_run_says_why(journal, kept, arguments, code, words):
    failed = journal(*arguments)
    assert (failed.exit_code, "Traceback" in failed.output) == (code, False)
    assert words in failed.output
