"""Speaking as one caller in one context of one tenant, through the engine of a host."""

import hashlib
import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import anyio

from innkeeper.contract.caller import Caller
from innkeeper.contract.message import JSON, Message
from innkeeper.contract.session import Scope, Session
from innkeeper.contract.tool import ToolAnswer
from innkeeper.contract.workspace import Workspace
from innkeeper.edge.wire import WireCodec
from innkeeper.ports.events import Committed
from innkeeper.registry.tenants import Tenant
from innkeeper.testing.reply import Reply, reply_from_updates
from innkeeper.testing.samples import Said, message_of, turn_of
from innkeeper.turns.engine import Engine
from innkeeper.turns.submission import Submission


@dataclass(frozen=True, slots=True)
class Asking:
    """One caller in one context, or in a new one if ``context`` is empty.

    ``sessions`` keeps the session id of each tenant, caller key and context, so that what is asked outside of turns
    belongs to the session of the turns. ``now`` is the time of messages.
    """

    engine: Engine
    tenant: Tenant
    caller: Caller
    context: str
    sessions: dict[tuple[str, str, str], str]
    now: Callable[[], datetime]

    @property
    def session(self) -> Session:
        """The session of this caller and context as it stands; of a context without turns: a new one, empty."""
        context = self.context or str(uuid.uuid4())
        session_id = self.sessions.setdefault(self._key(context), str(uuid.uuid4()))
        return self.engine.session(session_id, self.tenant.id, self.caller, context)

    async def send(self, said: Said, task: str, metadata: Mapping[str, JSON], committed: Sequence[Committed]) -> Reply:
        """Say something and wait until its task has settled; ``committed`` grows by what happens.

        Raises:
            Answerable: the message is not taken.
        """
        message = message_of(said, self.now())
        body = WireCodec().message_body(message)
        begun = len(committed)
        admitted = await self.engine.submit(
            self.tenant,
            self.caller,
            Submission(message.id, hashlib.sha256(body).digest(), body, task or None, self.context or None, metadata),
        )
        record = admitted.task
        self.sessions[self._key(record.context_id)] = record.session_id
        await self.engine.until_settled(record.id)
        told = [each for each in committed[begun:] if each.task_id == record.id]
        return reply_from_updates((json.loads(each.body) for each in told if each.body), declined_by=_declined_by(told))

    async def use(self, name: str, arguments: Mapping[str, JSON], message: Message) -> ToolAnswer:
        """Run a tool of a turn of this session.

        Raises:
            LookupError: there is no such tool.
        """
        session = self.session
        tools = {tool.name: tool for tool in await self.tenant.hooks.agent_tools(session)}
        if name not in tools:
            raise LookupError(f"the session has no tool {name!r}; it has: {', '.join(tools) or 'none'}")
        scope = Scope(session.tenant, session.caller, session.id)
        workspace = Workspace(lambda: self.tenant.workspaces.backing(scope), anyio.Lock())
        turn = turn_of(message, session, self.tenant.plugin, workspace, tuple(tools.values()))
        return await tools[name].run(arguments, turn)

    def _key(self, context: str) -> tuple[str, str, str]:
        return self.tenant.id, self.caller.key, context if self.tenant.agent.session_scope == "context" else ""


def _declined_by(told: Sequence[Committed]) -> tuple[str, ...]:
    return tuple(
        str(name)
        for each in told
        if each.source and each.source.event.kind == "declined"
        for name in each.source.event.data["by"]  # type: ignore[union-attr] # a list of names, as TURN_EVENTS says
    )
