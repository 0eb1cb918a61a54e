"""Odd tools and agents: they are taken apart where their plugin answers, which is charged with what that raises."""

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from innkeeper import Agent, PluginContext, PluginFailed, Provider, Skill, Tool
from innkeeper.contract.markers import HookOptions
from innkeeper.contract.message import Message, Part
from innkeeper.registry.charges import Charge, Charges
from innkeeper.registry.copies import own
from innkeeper.registry.facade import Hooks
from innkeeper.registry.fanout import Implementation
from innkeeper.registry.foreign import Strays

pytestmark = pytest.mark.anyio

Bring = Callable[[str, object], Hooks]


def fails(*_: object) -> Any:
    raise RuntimeError("do not touch")


class OddText(str):
    """A text that cannot be compared, hashed or shown."""

    __slots__ = ()
    __eq__ = __hash__ = __repr__ = __str__ = __format__ = fails  # type: ignore[assignment]


async def run(arguments: Any, turn: Any) -> str:
    return "x"


async def handler(turn: Any) -> str:
    return "x"


class Liar:
    """It says that it is what it is not."""

    def __init__(self, kind: type) -> None:
        self._kind = kind

    @property
    def __class__(self) -> type:  # type: ignore[override]
        return self._kind


class SecretTool(Tool):
    """Its name cannot be read."""

    name = property(fails)


class SecretAgent(Agent):
    """Its id cannot be read."""

    id = property(fails)


class Untouchable:
    """Mixed in, it can be neither compared nor hashed nor shown."""

    __eq__ = __hash__ = __repr__ = fails  # type: ignore[assignment]


class UntouchableTool(Untouchable, Tool):
    pass


class UntouchableAgent(Untouchable, Agent):
    pass


@dataclass(frozen=True, slots=True)
class Numbered:
    """A session of which nothing but its id is known."""

    id: str = "s"

    async def history(self, limit: int | None = None) -> tuple[Message, ...]:
        return ()


@pytest.fixture
def charges() -> Charges:
    return Charges()


@pytest.fixture
def bring(strays: Strays, charges: Charges) -> Bring:
    context = PluginContext("odd", "t", logging.LoggerAdapter(logging.getLogger("odd"), {}), http=None)

    def bringing(hook: str, answer: object) -> Hooks:
        return Hooks([Implementation(hook, "odd", lambda: answer, (), HookOptions(), context)], strays, charges)

    return bringing


def without_name(kind: type[Any], **fields: Any) -> Any:
    """Make one around its constructor, as one whose ``__init__`` is its own."""
    made = object.__new__(kind)
    for name, value in fields.items():
        object.__setattr__(made, name, value)
    return made


ODD_TOOLS = {
    "a name that cannot be read": without_name(SecretTool),
    "no name at all": without_name(Tool),
    "another class than it says": Liar(Tool),
    "a number for a name": without_name(Tool, name=1, description="", parameters={"type": "object"}, run=run),
}


@pytest.mark.parametrize("case", ODD_TOOLS)
async def test_an_odd_tool_is_a_fault_of_its_plugin(bring: Bring, charges: Charges, case: str) -> None:
    session: Any = Numbered()
    with pytest.raises(PluginFailed, match="plugin 'odd': hook 'agent_tools' "):
        await bring("agent_tools", [ODD_TOOLS[case]]).agent_tools(session)
    assert charges.counts == {Charge("odd", "agent_tools", "t"): 1}


async def test_of_a_tool_nothing_but_its_function_is_the_plugins(bring: Bring) -> None:
    schema = {"type": "object", "properties": {"a": {"type": OddText("string"), "enum": (OddText("b"),)}}}
    session: Any = Numbered()
    brought = UntouchableTool("add", OddText("Adds."), schema, run)
    object.__setattr__(brought, "name", OddText("add"))
    (tool,) = await bring("agent_tools", brought).agent_tools(session)
    assert (type(tool), tool.name, tool.description) == (Tool, "add", "Adds.")
    assert type(tool.name) is type(tool.description) is str
    plain = {"type": "object", "properties": {"a": {"type": "string", "enum": ["b"]}}}
    assert tool.parameters == json.loads(json.dumps(tool.parameters)) == plain
    turn: Any = None
    assert await tool.run({}, turn) == "x"


ODD_AGENTS = {
    "an id that cannot be read": without_name(SecretAgent),
    "no id at all": without_name(Agent),
    "another class than it says": Liar(Agent),
}


@pytest.mark.parametrize("case", ODD_AGENTS)
async def test_an_odd_agent_is_a_fault_of_its_plugin(bring: Bring, charges: Charges, case: str) -> None:
    asked = await bring("register_agents", [ODD_AGENTS[case]]).register_agents()
    assert [(fault.plugin, fault.hook) for fault in asked.faults] == [("odd", "register_agents")]
    assert charges.counts == {Charge("odd", "register_agents", "t"): 1}


async def test_of_an_agent_nothing_but_its_handler_is_the_plugins(bring: Bring) -> None:
    brought = UntouchableAgent(
        "echo",
        handler,
        name=OddText("Echo"),
        skills=(Skill("s", name=OddText("S"), tags=(OddText("t"),)),),
        provider=Provider(OddText("Acme"), "https://acme.example"),
        streaming=False,
    )
    object.__setattr__(brought, "id", OddText("echo"))
    asked = await bring("register_agents", brought).register_agents()
    ((_, (agent,)),) = asked.answers
    assert agent == Agent(
        "echo",
        handler,
        name="Echo",
        skills=(Skill("s", name="S", tags=("t",)),),
        provider=Provider("Acme", "https://acme.example"),
        streaming=False,
    )
    assert type(agent) is Agent
    assert type(agent.id) is type(agent.skills[0].tags[0]) is str


def test_an_own_message_is_the_same_and_shares_nothing_that_can_change() -> None:
    parts = (Part(data={"a": [1]}, metadata={"b": {}}), Part(text="x"), Part(data=None))
    message = Message("m", "user", parts, datetime.now(UTC), {"c": [{}]})
    copy: Any = own((message,))[0]
    assert copy == message
    copy.parts[0].data["a"].append(2)
    copy.parts[0].metadata["b"]["d"] = copy.metadata["c"][0]["d"] = copy.parts[1].metadata["d"] = 1
    assert message == Message("m", "user", parts, message.at, {"c": [{}]})
    assert (parts[0].data, parts[0].metadata, parts[1].metadata) == ({"a": [1]}, {"b": {}}, {})
