"""What a turn gets from the plugins of its tenant, and how their faults are told."""

from collections.abc import Callable
from typing import Any

import pytest

from innkeeper import Agent, PluginFailed, Turn, TurnEvent
from innkeeper.contract.markers import HookOptions
from innkeeper.contract.tool import Tool
from innkeeper.registry.fanout import Implementation
from innkeeper.registry.memory_workspace import MemoryWorkspace

pytestmark = pytest.mark.anyio


def fails(*_: Any, **__: Any) -> Any:
    raise ValueError("broken")


def hears(told: list[TurnEvent]) -> Callable[[TurnEvent], None]:
    def listen(event: TurnEvent) -> None:
        told.append(event)

    return listen


@pytest.fixture
def hook(gate: Any) -> Callable[..., Implementation]:
    """Make an implementation of any hook; ``argnames`` are the arguments that it wants."""

    def making(name: str, function: Callable[..., Any], *argnames: str, plugin: str = "helper") -> Implementation:
        context = gate(function).context
        return Implementation(name, plugin, function, argnames, HookOptions(), context)

    return making


def run(arguments: Any, turn: Turn) -> str:
    return f"{arguments} for {turn.caller.key}"


ADD = Tool("add", "Adds.", {"type": "object"}, run)


async def names_tools(turn: Turn) -> str:
    return ", ".join(tool.name for tool in turn.tools)


async def test_a_turn_has_the_tools_of_its_tenants_plugins(engine_with: Any, hook: Any) -> None:
    asked = []

    def tools(session: Any) -> list[Tool]:
        asked.append(session.id)
        return [ADD]

    async with engine_with(Agent("t", names_tools), gates=[hook("agent_tools", tools, "session")]) as bench:
        assert (await bench.ask("hi"))["text"] == "add"
        assert (await bench.ask("again"))["text"] == "add"
    assert len(asked) == 2


CLASHES = {
    "of one name": ([ADD, ADD], "brings a tool 'add' that plugin 'helper' has brought already"),
    "of a reserved name": (
        [Tool("final_reply", "", {"type": "object"}, run)],
        "brings a tool 'final_reply', a name that is reserved",
    ),
    "of another kind": ([ADD, 3], "answered int; expected is an iterable of Tool or None"),
}


@pytest.mark.parametrize("case", CLASHES)
async def test_tools_that_cannot_be_fail_the_turn_naming_the_plugin_in_the_log(
    engine_with: Any, hook: Any, caplog: pytest.LogCaptureFixture, case: str
) -> None:
    tools, reason = CLASHES[case]
    async with engine_with(Agent("t", names_tools), gates=[hook("agent_tools", lambda: tools)]) as bench:
        task = await bench.ask("hi")
    assert task["state"] == "failed"
    assert "helper" not in task["text"]
    assert f"plugin 'helper': hook 'agent_tools' {reason}" in caplog.text


async def test_capabilities_are_joined_by_a_blank_line_and_a_fault_is_skipped(engine_with: Any, hook: Any) -> None:
    async def tells(turn: Turn) -> str:
        return await turn.capabilities()

    texts = [
        hook("capability", lambda: "It remembers.", plugin="a"),
        hook("capability", fails, plugin="b"),
        hook("capability", lambda: "", plugin="c"),
        hook("capability", lambda: "It writes files.", plugin="d"),
    ]
    async with engine_with(Agent("t", tells), gates=texts) as bench:
        assert (await bench.ask("hi"))["text"] == "It remembers.\n\nIt writes files."


async def nothing(turn: Turn) -> None:
    return None


async def test_faults_of_plugins_are_in_the_turns_events(engine_with: Any, hook: Any) -> None:
    told: list[TurnEvent] = []
    listener = hook("on_turn_event", hears(told), "event", plugin="listener")

    async def uses_everything(turn: Turn) -> None:
        await turn.capabilities()

    hooks = [listener, hook("should_handle_turn", fails), hook("capability", fails)]
    async with engine_with(Agent("t", uses_everything), gates=hooks) as bench:
        task = await bench.ask("hi")
        await bench.tenants["t"].hooks.close()
    assert task["state"] == "completed"
    faults = [event.data for event in told if event.kind == "fault"]
    assert [(fault["plugin"], fault["hook"]) for fault in faults] == [
        ("helper", "should_handle_turn"),
        ("helper", "capability"),
    ]
    assert all(str(fault["reason"]).startswith("raised ValueError: broken") for fault in faults)
    assert [event.seq for event in told] == list(range(1, len(told) + 1))


async def test_a_fault_beside_a_no_is_told_before_the_task_ends(engine_with: Any, hook: Any) -> None:
    told: list[TurnEvent] = []
    hooks = [
        hook("on_turn_event", hears(told), "event"),
        hook("should_handle_turn", fails, plugin="a"),
        hook("should_handle_turn", lambda: False, plugin="b"),
    ]
    async with engine_with(Agent("t", nothing), gates=hooks) as bench:
        await bench.ask("hi")
        await bench.tenants["t"].hooks.close()
    assert [event.kind for event in told] == ["task", "fault", "declined"]
    assert told[-1].data == {"by": ("b",), "state": "completed"}


async def test_what_one_listener_does_to_an_event_another_does_not_see(engine_with: Any, hook: Any) -> None:
    told: list[TurnEvent] = []

    def alters(event: TurnEvent) -> None:
        event.data["by"].append("me")  # type: ignore[union-attr, call-overload, index]

    hooks = [
        hook("on_turn_event", alters, "event", plugin="a"),
        hook("on_turn_event", hears(told), "event", plugin="b"),
        hook("should_handle_turn", lambda: False, plugin="c"),
    ]
    async with engine_with(Agent("t", nothing), gates=hooks) as bench:
        await bench.ask("hi")
        await bench.tenants["t"].hooks.close()
    assert told[-1].data["by"] == ("c",)


async def test_listeners_hear_of_everything_on_disk_in_order(engine_with: Any, hook: Any) -> None:
    told: list[TurnEvent] = []

    async def speaks(turn: Turn) -> str:
        await turn.progress("working", key="w")
        await turn.artifact("table", turn.parts[0])
        return "done"

    async with engine_with(Agent("t", speaks), gates=[hook("on_turn_event", hears(told), "event")]) as bench:
        task = await bench.ask("hi")
        await bench.tenants["t"].hooks.close()
    assert [(event.kind, event.data.get("state")) for event in told] == [
        ("task", "submitted"),
        ("status", "working"),
        ("status", "working"),
        ("artifact", None),
        ("status", "completed"),
    ]
    assert {event.task_id for event in told} == {task["id"]}
    assert told[2].data["message_id"] == f"{task['id']}:w"
    assert told[3].data == {"artifact_id": f"{task['id']}:table", "name": "table", "append": False, "last": True}
    assert told[0].at.tzinfo is not None


async def test_a_listener_that_fails_is_nobodys_trouble(engine_with: Any, hook: Any) -> None:
    async with engine_with(Agent("t", nothing), gates=[hook("on_turn_event", fails, "event")]) as bench:
        assert (await bench.ask("hi"))["state"] == "completed"
        await bench.tenants["t"].hooks.close()


class Broken(MemoryWorkspace):
    """A backing of which one method is broken."""

    async def read_file(self, path: str) -> str | None:
        raise OSError("the disk is gone")


async def reads(turn: Turn) -> str:
    return await turn.workspace.read_file("a") or "nothing"


async def goes_on(turn: Turn) -> str:
    try:
        return await reads(turn)
    except PluginFailed as failed:
        return f"sorry: {failed}"


@pytest.mark.parametrize(("handler", "state"), [(reads, "failed"), (goes_on, "completed")])
async def test_a_fault_of_a_backing_is_its_plugins_in_the_turns_events_and_the_log(
    engine_with: Any, hook: Any, caplog: pytest.LogCaptureFixture, handler: Any, state: str
) -> None:
    told: list[TurnEvent] = []
    hooks = [
        hook("on_turn_event", hears(told), "event", plugin="listener"),
        hook("workspace_backing", Broken, plugin="files"),
    ]
    async with engine_with(Agent("t", handler), gates=hooks) as bench:
        task = await bench.ask("hi")
        await bench.tenants["t"].hooks.close()
    assert task["state"] == state
    (fault,) = [event.data for event in told if event.kind == "fault"]
    assert (fault["plugin"], fault["hook"]) == ("files", "workspace_backing.read_file")
    assert "workspace_backing.read_file of plugin 'files' at tenant 't' raised OSError: the disk is gone" in caplog.text
    words = "plugin 'files': hook 'workspace_backing.read_file' raised OSError: the disk is gone"
    if state == "completed":
        assert task["text"].startswith(f"sorry: {words}")
    else:
        (failed,) = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
        assert "failed, a plugin that it needs is at fault" in failed
        assert words in failed
