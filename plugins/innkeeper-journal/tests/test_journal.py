import json
import logging
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from innkeeper import TurnEvent
from innkeeper.testing import check_plugin

TENANTS = {"notebook": ["journal"], "other": ["journal"], "bare": []}
pytestmark = pytest.mark.innkeeper(
    plugins=["journal"],
    settings={"tenants": {tenant: {"agent": "test-echo", "use": used} for tenant, used in TENANTS.items()}},
)

NASTY = "<script>alert('hi')</script>\x1b[2J"


def configured(**config):
    return pytest.mark.innkeeper(settings={"plugins": {"journal": config}})


def event(seq: int, *, ago: timedelta = timedelta(), **data) -> TurnEvent:
    return TurnEvent(seq, "t1", "s1", "status", datetime.now(UTC) - ago, data)


@pytest.fixture
def written(host):
    """Write events into the journal of a tenant."""
    return lambda *events: host.tell(*events, tenant="notebook").result()


@pytest.fixture
def get(host):
    """Ask for a page, as somebody who may address all tenants unless these are named."""
    return lambda path, **visitor: host.request("GET", f"/plugins/journal/{path}", **visitor).result()


@pytest.fixture
def sql(host):
    """Run a statement on the tables of a tenant, and return the first row, if any."""
    return lambda text: host.run(host.plugin("journal", tenant="notebook").db.fetch_one, text).result()


@pytest.fixture
def run(host):
    """Run ``innkeeper journal``."""
    return lambda *arguments: host.command("journal", *arguments).result()


def test_a_turn_is_in_the_journal_and_nothing_that_was_said(host, get):
    host.send("secret sauce", tenant="notebook").result()
    host.caught_up().result()
    events = get("notebook/events.json").json()["events"]
    assert get("other/events.json").json() == {"events": []}
    assert events[-1]["kind"] == "task"
    assert events[0]["data"]["state"] == "completed"
    assert [each["seq"] for each in events] == sorted((each["seq"] for each in events), reverse=True)
    assert len({(each["task"], each["session"]) for each in events}) == 1
    assert "sauce" not in json.dumps(events)


def test_an_event_that_is_told_twice_is_in_it_once_and_no_fault(host, written, get, caplog):
    written(event(1, state="a"), event(1, state="b"), event(2))
    events = get("notebook/events.json").json()["events"]
    assert [(each["seq"], each["data"]) for each in events] == [(2, {}), (1, {"state": "a"})]
    assert [record for record in caplog.records if record.levelno > logging.INFO] == []
    assert host.faults == {}


def test_the_page_of_a_journal_escapes_what_agents_have_chosen(written, get):
    written(event(1, name=NASTY, **{NASTY: {"deep": [NASTY]}}))
    page = get("notebook/")
    assert page.headers["content-type"].startswith("text/html")
    assert "&lt;script&gt;" in page.text
    assert "<script" not in page.text


EVERY = (*TENANTS, "nobody")
REACHABLE = [
    (("notebook", "other", "bare"), {"notebook", "other"}),
    (("other",), {"other"}),
    (("bare",), set()),
    ((), set()),
]


def check_pages(get, shown):
    """Check that there are pages for the journals of these tenants, and none for any others."""
    index = get("").text
    for tenant in EVERY:
        assert (f'href="{tenant}/"' in index) is (tenant in shown)
        for path in (f"{tenant}/", f"{tenant}/events.json"):
            assert get(path).status_code == (200 if tenant in shown else 404)


def test_callers_see_the_journals_of_their_tenants_and_no_others(get):
    for tenants, shown in REACHABLE:
        check_pages(lambda path, tenants=tenants: get(path, tenants=tenants), shown)


def test_the_pages_alone_show_what_their_request_lists_and_has_a_journal(host):
    """The host lets the plugin reach no other tenants either: here it is left out."""

    for tenants, shown in (*REACHABLE, (EVERY, {"notebook", "other"})):

        async def app(scope, receive, send, tenants=tenants):
            await host.registry.web_apps["journal"]({**scope, "innkeeper.tenants": tenants}, receive, send)

        http = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://host")
        check_pages(lambda path, http=http: host.run(http.get, path).result(), shown)


@configured(keep="99999d")
def test_a_page_has_as_many_events_as_are_asked_for(host, get):
    rows = [(number, 10**15, "s1", "t1", number, "status", "{}") for number in range(1, 1101)]
    db = host.plugin("journal", tenant="notebook").db
    host.run(db.executemany, "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", rows).result()
    for limit, shown in {"": 100, "2": 2, "0": 1, "-5": 1, "many": 100, "99999": 1000}.items():
        query = f"?limit={limit}" if limit else ""
        assert len(get(f"notebook/events.json{query}").json()["events"]) == shown
        assert get(f"notebook/{query}").text.count("<time ") == shown


@pytest.mark.parametrize(
    "left", [pytest.param(4, marks=configured(keep="30d")), pytest.param(2, marks=configured(keep="7d"))]
)
def test_old_entries_are_removed_while_the_tenant_is_served(host, written, sql, left):
    written(*(event(days, ago=timedelta(days=days)) for days in (1, 6, 8, 29, 31)))
    host.restart().result()
    while sql("SELECT count(*) FROM entries") != (left,):
        pass


@configured(keep="1d", prune_every="1s")
def test_pruning_goes_on_after_it_has_failed(host, sql, caplog):
    sql("ALTER TABLE entries RENAME TO elsewhere")
    host.restart().result()
    while "old entries stay for now" not in caplog.text:
        sql("SELECT 1")
    sql("INSERT INTO elsewhere VALUES (1, 0, 's', 't', 1, 'task', '{}')")
    sql("ALTER TABLE elsewhere RENAME TO entries")
    while sql("SELECT 1 FROM entries"):
        pass


def test_a_faulty_age_is_a_start_fault(start_faults):
    for age in ("0d", "7", "d", "-1d", "1.5h", "1w", "", "999999d"):
        faults = start_faults(settings={"plugins": {"journal": {"keep": age}}})
        assert faults
        assert all("plugins.journal.keep = " in fault and ": an age is" in fault for fault in faults)


@pytest.fixture
def kept(written):
    """A journal with an event of each of these ages in days, and a nasty one."""
    written(event(1, ago=timedelta(days=9)), event(2, ago=timedelta(days=2)), event(3, name=NASTY))


@pytest.mark.usefixtures("kept")
def test_show_prints_the_last_events_the_newest_last(run):
    shown = run("show", "--tenant", "notebook", "--limit", "2")
    assert shown.exit_code == 0, shown.output
    assert [line.split("  ")[2] for line in shown.output.splitlines()] == ["2", "3"]
    assert json.loads(shown.output.split("  ")[-1]) == {"name": NASTY}
    assert "\x1b" not in shown.output
    assert run("show", "--tenant", "other").output == ""


@pytest.mark.usefixtures("kept")
def test_show_prints_json_line_by_line(run):
    shown = run("show", "--tenant", "notebook", "--json")
    events = [json.loads(line) for line in shown.output.splitlines()]
    assert [each["seq"] for each in events] == [1, 2, 3]
    assert events[2]["data"] == {"name": NASTY}
    assert "\x1b" not in shown.output


@pytest.mark.usefixtures("kept")
def test_prune_removes_what_is_older_and_says_how_much(run):
    assert run("prune", "--tenant", "notebook", "--older-than", "7d").output == "1 removed\n"
    assert run("prune", "--tenant", "notebook", "--older-than", "7d").output == "0 removed\n"
    assert len(run("show", "--tenant", "notebook").output.splitlines()) == 2


WRONG = [
    ("show --tenant nobody", 1, "no tenant 'nobody'"),
    ("show", 2, "--tenant"),
    ("show --tenant notebook --limit 0", 2, "--limit"),
    ("prune --tenant notebook", 2, "--older-than"),
    ("prune --tenant notebook --older-than soon", 2, "an age is"),
]


@pytest.mark.usefixtures("kept")
def test_a_command_that_cannot_be_run_says_why(run):
    for line, code, words in WRONG:
        failed = run(*line.split())
        assert (failed.exit_code, "Traceback" in failed.output) == (code, False)
        assert words in failed.output


def test_it_is_a_plugin_in_every_way():
    check_plugin("journal").raise_if_any()
