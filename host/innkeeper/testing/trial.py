"""What is tried of a plugin while a host runs it."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Final
from uuid import uuid4

from click.testing import CliRunner

from innkeeper.contract.errors import InnkeeperError
from innkeeper.contract.hooks import HOOKS
from innkeeper.contract.message import Part
from innkeeper.contract.session import Scope
from innkeeper.contract.workspace import WorkspaceBacking
from innkeeper.registry.facade import Hooks
from innkeeper.registry.fanout import GRACE_SECONDS, HookFailed
from innkeeper.registry.tenants import implementations_at
from innkeeper.testing.backing import check_backing
from innkeeper.testing.declared import config_findings, tool_findings
from innkeeper.testing.findings import Finding, error, warning
from innkeeper.testing.half_way import half_way
from innkeeper.testing.host import InProcessHost
from innkeeper.testing.samples import Said, message_of

TENANT: Final = "checked"
SAID: Final[tuple[Said, ...]] = (
    "Hello",
    "žluťoučký 🐎 " * 500,
    Part(data={"a": [1, None]}),
    Part(raw=b"\x00", filename="a"),
)
TURN_SECONDS: Final = 15.0
"""How long a turn may take: longer than a gate and tools that use up their deadlines."""

SERVER_ERROR: Final = 500


def turns(host: InProcessHost) -> Iterator[Finding]:
    """Run turns of the agent that echoes; gates, tools and listeners are asked as they always are."""
    for said in SAID:
        reply = host.send(said, tenant=TENANT, context="c").result(TURN_SECONDS)
        if reply.state != "completed":
            yield error(f"a turn that was sent {said!r:.60} ended as {reply.state}: {reply.text}")
    host.caught_up().result()


def hooks(host: InProcessHost, name: str) -> Iterator[Finding]:
    """Ask what a turn does not ask; what hooks do wrong there is logged by the host."""
    plugin = host.registry.stock.plugins[name]
    yield from map(warning, plugin.notes)
    if plugin.config is not None:
        yield from config_findings(plugin.config)
    for hook, check in CHECKS.items():
        if plugin.has(hook):
            yield from check(host, name)


def ids_of_agents(host: InProcessHost, name: str) -> list[str]:
    """Return the ids of the agents that the plugin has registered."""
    return sorted(agent_id for agent_id, (plugin, _) in host.registry.stock.agents.items() if plugin == name)


def _tables(host: InProcessHost, name: str) -> Iterator[Finding]:
    version = host.registry.stock.plugins[name].schema_version or 0
    asked = host.tenant(TENANT).hooks
    yield from host.run(half_way, asked, name, version, host.folder / "half-way").result(
        2 * HOOKS["ensure_tables"].seconds
    )


def _backing(host: InProcessHost, _: str) -> Iterator[Finding]:
    asked = host.tenant(TENANT).hooks

    async def make() -> WorkspaceBacking:
        backing = await asked.workspace_backing(Scope(TENANT, host.caller, str(uuid4())))
        if backing is None:
            raise _LeftToTheHost
        return backing

    try:
        host.run(check_backing, make).result()
    except AssertionError as broken:
        if not isinstance(broken.__cause__, _LeftToTheHost | HookFailed):  # the latter is logged
            yield error(f"workspace_backing: {broken}")


class _LeftToTheHost(InnkeeperError):
    """The plugin keeps no files for this session."""


def _tools(host: InProcessHost, _: str) -> Iterator[Finding]:
    try:
        tools = host.tools(tenant=TENANT, context="c").result()
    except HookFailed:  # logged
        return
    for tool in tools.values():
        yield from tool_findings(tool)


def _web_app(host: InProcessHost, name: str) -> Iterator[Finding]:
    status = host.request("GET", f"/plugins/{name}/").result().status_code
    if status >= SERVER_ERROR:
        yield error(f"web_app: GET /plugins/{name}/ answers {status}")  # what it has raised is logged


def _cli(host: InProcessHost, name: str) -> Iterator[Finding]:
    stock = host.registry.stock
    plugin = stock.plugins[name]
    context, faults = stock.contexts.make(plugin, None)
    if context is None:
        yield from (error(f"cli: {fault}") for fault in faults)
        return
    try:
        group = Hooks(implementations_at([plugin], {name: context}), stock.strays, stock.charges).cli()
    except HookFailed:  # logged
        return
    for arguments in ((), *((command,) for command in group.commands)):
        helped = CliRunner().invoke(group, [*arguments, "--help"])
        if helped.exit_code:
            words = " ".join((name, *arguments))
            yield error(
                f"cli: innkeeper {words} --help ends with {helped.exit_code}: {helped.exception or helped.output!r}"
            )


def _capability(host: InProcessHost, _: str) -> Iterator[Finding]:
    host.run(host.tenant(TENANT).hooks.capability).result()
    yield from ()  # what it does wrong is logged, here and below


def _summary(host: InProcessHost, _: str) -> Iterator[Finding]:
    host.summarize(SAID, tenant=TENANT, context="c").result(_with_grace("summarize_messages"))
    yield from ()


def _displaced_twice(host: InProcessHost, _: str) -> Iterator[Finding]:
    """Tell of the same messages again, as after a crash."""
    messages = [message_of(said, datetime.now(UTC)) for said in SAID]
    for _time in range(2):
        host.displace(messages, tenant=TENANT, context="c").result(_with_grace("on_messages_displaced"))
    yield from ()


def _with_grace(hook: str) -> float:
    return HOOKS[hook].seconds + GRACE_SECONDS + 1


CHECKS: Final[dict[str, Callable[[InProcessHost, str], Iterator[Finding]]]] = {
    "ensure_tables": _tables,
    "workspace_backing": _backing,
    "capability": _capability,
    "summarize_messages": _summary,
    "on_messages_displaced": _displaced_twice,
    "agent_tools": _tools,
    "web_app": _web_app,
    "cli": _cli,
}
"""How each hook is tried; those that are missing are asked by starts and turns."""
