"""The host of plugin tests: asked by plain and by async tests, and as real as a served one."""

import asyncio
import json
import logging
from dataclasses import replace
from datetime import UTC, datetime

import anyio
import pytest

from innkeeper import Caller, Part, StartFault, Turn, TurnEvent
from innkeeper.contract.errors import TaskNotFound
from innkeeper.testing import Charge, FakeClock, InProcessHost
from innkeeper.testing.setup import Setup

pytestmark = pytest.mark.innkeeper(plugins=["hello"])
NOTEBOOK = {"settings": {"tenants": {"notebook": {"use": ["recall", "workspace"]}}}}
with_notebook = pytest.mark.innkeeper(plugins=["notebook", "recall", "workspace"], **NOTEBOOK)


TWO_JOURNALS = {"tenants": {each: {"agent": "test-echo", "use": ["journal"]} for each in ("one", "other")}}


def test_a_plain_test_says_something_and_waits_for_the_reply(send):
    reply = send("Ada").result()
    assert (reply.text, reply.state) == ("Hello, Ada", "completed")
    assert (reply.artifacts, reply.progress, reply.declined_by) == ((), (), ())


@pytest.mark.anyio
async def test_an_async_test_awaits_the_reply(send, host):
    replies = [send("Ada"), host.send(Part(text="Bob"))]
    assert [(await reply).text for reply in replies] == ["Hello, Ada", "Hello, Bob"]


@pytest.mark.anyio
async def test_an_async_test_goes_on_while_the_host_works(host):
    events = [asyncio.Event(), asyncio.Event()]

    async def answer() -> None:
        await events[0].wait()
        events[1].set()

    async def ask() -> None:
        test.call_soon_threadsafe(events[0].set)
        async with asyncio.timeout(5):
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(events[1].wait(), test))

    test = asyncio.get_running_loop()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(answer)
        await host.run(ask)


@pytest.mark.innkeeper(plugins=["doorkeeper"])
def test_a_gate_is_tried_on_an_agent_that_is_always_there(send):
    assert send("hi").result().text == "hi"
    declined = send("psst").result()
    assert (declined.text, declined.state, declined.declined_by) == ("", "completed", ("doorkeeper",))


def test_plugins_that_are_not_named_are_not_loaded(host):
    assert list(host.tenant("hello").plugins) == ["hello", "test-echo"]
    assert host.tenant().id == "hello"


@pytest.mark.parametrize(
    ("tenant", "words"), [("nobody", "no tenant 'nobody'; there are: hello, notebook, test-echo"), ("", "several")]
)
@pytest.mark.innkeeper(plugins=["hello", "notebook"])
def test_a_tenant_that_is_not_clear_is_refused_by_name(host, tenant, words):
    with pytest.raises(LookupError, match=words):
        host.send("hi", tenant=tenant)


def test_what_the_host_refuses_is_raised_where_the_reply_is_waited_for(send):
    with pytest.raises(TaskNotFound):
        send("hi", task="no-such-task").result()


def test_callers_are_apart_and_a_context_goes_on(host, caller, make_caller):
    first = host.send("hi", tenant="test-echo", context="c").result()
    assert host.send("hi", context="c", tenant="test-echo").result().context_id == first.context_id == "c"
    host.send("hi", context="c", tenant="test-echo", caller=make_caller("bob")).result()
    sessions = [event.session_id for event in host.events if event.kind == "task"]
    assert sessions[0] == sessions[1] != sessions[2]
    assert (caller, make_caller("bob").name) == (Caller("alice", "Alice", "user"), "Bob")


def test_events_are_those_of_plugins(host):
    reply = host.send("Ada").result()
    assert all(isinstance(event, TurnEvent) and event.task_id == reply.task_id for event in host.events)
    assert [event.data.get("state") for event in host.events] == ["submitted", "working", "completed"]


def test_time_stands_still_until_the_clock_is_advanced(host, fake_clock):
    host.send("Ada").result()
    fake_clock.advance(90)
    host.send("Ada").result()
    times = {event.at for event in host.events}
    assert times == {datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, 0, 1, 30, tzinfo=UTC)}


def test_a_clock_is_never_turned_back():
    clock = FakeClock()
    with pytest.raises(ValueError, match="not turned back"):
        clock.advance(-1)


@with_notebook
@pytest.mark.anyio
async def test_memory_is_tried_by_displacing_messages_of_a_session(host):
    await host.send("hi", context="c")
    assert await host.displace(["The bridge is closed.", "Fine."], context="c") == ()
    assert "recall" in await host.tools(context="c")
    assert "recall" not in await host.tools(context="other")
    found = await host.use("recall", {"query": "bridge"}, context="c")
    assert [each["text"] for each in found.data] == ["The bridge is closed."]
    assert host.faults == {}
    await host.restart()
    tools = await host.tools(context="c")
    assert (await tools["recall"].run({"query": "bridge"}, None)).data == found.data
    with pytest.raises(LookupError, match=r"no tool 'recal'; it has: recall"):
        await host.use("recal", context="c")


@with_notebook
def test_files_of_a_session_are_those_of_its_turns(host):
    host.send("write shopping milk", context="c").result()
    files = host.workspace(context="c")
    assert host.run(files.read_dir, "").result()
    host.run(files.write_file, "a/b", "x").result()
    assert host.use("ws_read", {"path": "a/b"}, context="c").result() == "x"
    assert host.run(host.workspace(context="other").info).result().file_count == 0


@with_notebook
@pytest.mark.anyio
async def test_files_may_be_awaited_on_the_loop_of_the_test(host):
    files = host.workspace(context="c")
    await files.write_file("a", "text")
    assert await files.exists("a")
    assert await files.read_file("a") == "text"
    assert await files.delete_file("a")
    assert (await files.info()).file_count == 0


@with_notebook
def test_the_tables_of_a_plugin_can_be_looked_into(host):
    host.displace(["one"], context="c").result()
    database = host.plugin("recall").db
    rows = host.run(database.fetch_all, "SELECT name FROM sqlite_schema").result()
    assert rows
    with pytest.raises(LookupError, match="uses no plugin 'recal'"):
        host.plugin("recal")


def test_a_plugin_that_is_not_installed_is_told_with_those_that_are():
    with pytest.raises(LookupError, match=r"no plugin gates-hostile is installed; there are: .*hello"):
        Setup().over(plugins=["gates-hostile"]).entry_points()


def test_a_host_that_does_not_start_says_why_and_leaves_nothing_behind(tmp_path):
    setup = Setup().over(plugins=["hello"], settings={"tenants": {"support": {"agent": "helo"}}})
    with pytest.raises(StartFault, match="did you mean 'hello'"), InProcessHost(setup, tmp_path):
        pass


@pytest.mark.innkeeper(plugins=["digest"])
def test_the_summary_of_a_plugin_is_asked_for(host):
    assert host.summarize(["one", "two"]).result()


def test_pages_of_the_host_are_asked_in_process(host):
    assert host.request("GET", "/readyz").result().json() == {"status": "ready"}


@pytest.mark.innkeeper(plugins=["journal"], settings=TWO_JOURNALS)
def test_pages_are_asked_as_a_caller_with_tenants(host, make_caller):
    def shown(**visitor) -> list[str]:
        page = host.request("GET", "/plugins/journal/", **visitor).result().text
        return [tenant for tenant in ("one", "other") if f'href="{tenant}/"' in page]

    assert shown() == ["one", "other"]
    assert shown(caller=make_caller("bob"), tenants=["other"]) == ["other"]
    assert shown(tenants=[]) == []
    with pytest.raises(LookupError, match="no tenant 'nobody'; there are: one, other"):
        shown(tenants=["nobody"])


WHO = """
import json
from innkeeper import hookimpl

@hookimpl
def web_app():
    async def app(scope, receive, send):
        if scope["type"] == "http":
            body = json.dumps([scope["innkeeper.caller"].key, scope["innkeeper.tenants"]]).encode()
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": body})

    return app
"""


def test_pages_hear_who_asks(install, tmp_path, make_caller):
    install("who", WHO)
    with InProcessHost(Setup(plugins=("who", "hello")), tmp_path) as host:
        assert host.request("GET", "/plugins/who/").result().json() == ["alice", ["hello", "test-echo"]]
        asked = host.request("GET", "/plugins/who/", caller=make_caller("bob"), tenants=["hello"])
        assert asked.result().json() == ["bob", ["hello"]]


@pytest.mark.innkeeper(plugins=["journal"], settings=TWO_JOURNALS)
def test_listeners_hear_events_that_are_made_by_hand(host):
    told = TurnEvent(1, "t1", "s1", "status", datetime(2026, 1, 1, tzinfo=UTC), {})
    for seq in (1, 2):
        host.tell(replace(told, seq=seq), tenant="other").result()
        count = host.run(host.plugin("journal", tenant="other").db.fetch_one, "SELECT count(*) FROM entries")
        assert count.result() == (seq,)
    assert host.events == ()


@pytest.mark.innkeeper(plugins=["journal"], settings=TWO_JOURNALS)
@pytest.mark.anyio
async def test_commands_run_on_the_data_of_the_host(host):
    await host.send("hi", tenant="one")
    await host.caught_up()
    shown = await host.command("journal", "show", "--tenant", "one", "--limit", "1", "--json")
    assert (shown.exit_code, json.loads(shown.output)["kind"]) == (0, "status")
    assert (await host.command("journal", "show", "--tenant", "other")).output == ""
    with pytest.raises(LookupError, match="no plugin 'jornal' is installed"):
        await host.command("jornal")
    with pytest.raises(StartFault, match="brings no commands"):
        await host.command("hello")


@pytest.mark.innkeeper(plugins=["journal"])
def test_faults_of_a_start_are_what_the_host_complains_of(start_faults):
    faults = start_faults(settings={"plugins": {"journal": {"keep": "7", "prune_every": "no"}}})
    assert [fault.split(" = ")[0] for fault in faults] == [
        "plugin 'journal' of innkeeper-journal 0.1.0: plugins.journal.keep",
        "plugin 'journal' of innkeeper-journal 0.1.0: plugins.journal.prune_every",
    ]
    (unknown,) = start_faults(settings={"hots": {}})
    assert "did you mean host?" in unknown
    assert start_faults() == ()


def test_a_turn_that_hangs_is_told_from_one_that_fails(host):
    async def hang() -> None:
        await asyncio.sleep(60)

    pending = host.run(hang)
    with pytest.raises(TimeoutError, match=r"hang has not ended after 0\.05 s"):
        pending.result(0.05)


@pytest.mark.innkeeper(
    plugins=["doorkeeper"], settings={"tenants": {"t": {"agent": "test-echo", "use": ["doorkeeper"]}}}
)
def test_faults_are_charged_by_plugin_hook_and_tenant(host, monkeypatch, caplog):
    assert host.faults == {}
    with caplog.at_level(logging.CRITICAL):
        monkeypatch.setattr(Turn, "text", property(lambda _: 1 / 0))
        host.send("hi").result()
    assert host.faults == {Charge("doorkeeper", "should_handle_turn", "t"): 1}
