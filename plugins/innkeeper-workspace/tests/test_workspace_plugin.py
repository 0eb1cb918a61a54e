import pytest

from innkeeper import Scope
from innkeeper.testing import check_backing, check_plugin
from innkeeper_workspace import workspace_backing

pytestmark = pytest.mark.innkeeper(plugins=["workspace"])

TENANTS = {each: {"agent": "notebook", "use": ["workspace"]} for each in ("one", "other")}
with_notebook = pytest.mark.innkeeper(plugins=["notebook", "workspace"])


def test_it_is_a_backing_as_the_contract_describes_one(host, caller):
    sessions = iter(range(1000))

    async def make():
        return workspace_backing(Scope("test-echo", caller, f"s{next(sessions)}"), host.plugin("workspace"))

    host.run(check_backing, make).result()


@with_notebook
@pytest.mark.innkeeper(settings={"tenants": TENANTS})
def test_files_outlive_the_host_and_stay_in_their_session_and_tenant(host):
    def say(text, tenant="one", context="home"):
        return host.send(text, tenant=tenant, context=context).result().text

    assert say("write shopping milk\n eggs") == "Noted shopping."
    host.restart().result()
    assert say("read shopping") == "milk\n eggs"
    assert say("read shopping", context="office") == "There is no note shopping."
    assert say("read shopping", tenant="other") == "There is no note shopping."


def test_a_model_can_work_with_files(host):
    def use(tool, **arguments):
        return host.use(tool, arguments, context="home").result()

    assert use("ws_list") == "There are no files."
    assert use("ws_read", path="a/b.md") == "There is no file a/b.md."
    assert use("ws_write", path="a/b.md", content="žena") == "Wrote a/b.md, 5 bytes."
    assert use("ws_write", path="c", content="") == "Wrote c, 0 bytes."
    assert use("ws_list") == "a/\nc 0 bytes"
    assert use("ws_list", dir="a") == "a/b.md 5 bytes"
    assert use("ws_read", path="/a/b.md") == "žena"


def test_what_cannot_be_written_is_told_to_the_model(host):
    files = host.workspace(context="home")
    host.run(files.write_file, "a/b", "text").result()
    for path in ("a", "a/b/c", "../a", "", "a//c"):
        told = host.use("ws_write", {"path": path, "content": "x"}, context="home").result()
        assert told.startswith("Error: ")
        assert host.run(files.read_file, "a/b").result() == "text"


def test_a_file_that_is_one_too_many_is_told_to_the_model(host):
    files = host.workspace(context="home")

    def write(path, text):
        return host.use("ws_write", {"path": path, "content": text}, context="home").result()

    async def fill():
        for number in range(200):
            await files.write_file(f"f{number}", "x")

    host.run(fill).result()
    told = write("last", "x")
    assert told.startswith("Error: ")
    assert "200 files" in told
    assert host.run(files.read_file, "last").result() is None
    assert write("f0", "xy") == "Wrote f0, 2 bytes."


@with_notebook
def test_an_agent_is_told_of_its_tools_and_shares_its_files_with_them(host):
    def say(text):
        return host.send(text, context="home").result().text

    assert [line.split(":")[0] for line in say("tools").splitlines()] == ["ws_read", "ws_write", "ws_list"]
    assert "ws_write" in say("about")
    assert say('use ws_write {"path": "shopping", "content": "milk"}') == "Wrote shopping, 4 bytes."
    assert say("read shopping") == "milk"


def test_it_is_a_plugin_in_every_way():
    check_plugin("workspace").raise_if_any()
