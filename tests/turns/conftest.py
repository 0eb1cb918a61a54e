"""An engine on a real store and codec, with agents made on the spot."""

import asyncio
import dataclasses
import functools
import hashlib
import itertools
import json
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from innkeeper import Agent, Caller, PluginContext
from innkeeper.contract.agent import is_executor
from innkeeper.contract.markers import HookOptions
from innkeeper.edge.executor import runner_from_executor
from innkeeper.edge.wire import WireCodec
from innkeeper.ports.clock import World
from innkeeper.ports.events import Committed
from innkeeper.ports.store import Admitted, TaskView
from innkeeper.registry.charges import Charges
from innkeeper.registry.facade import Hooks
from innkeeper.registry.fanout import Implementation
from innkeeper.registry.foreign import Strays
from innkeeper.registry.tenants import Tenant
from innkeeper.registry.workspaces import Workspaces
from innkeeper.store import open_store
from innkeeper.turns.engine import Engine
from innkeeper.turns.means import Means
from innkeeper.turns.runners import runner_from_handler
from innkeeper.turns.submission import Submission

ALICE = Caller("alice")
GRACE = timedelta(milliseconds=100)


def context(plugin: str) -> PluginContext:
    return PluginContext(plugin, "t", logging.LoggerAdapter(logging.getLogger(plugin), {}), http=None)


def implementation(hook: str, function: Callable[..., Any], *argnames: str) -> Implementation:
    return Implementation(hook, "gate", function, argnames, HookOptions(), context("gate"))


gate = functools.partial(implementation, "should_handle_turn")


class Flaky:
    """A store of which some operations fail: each as often as it has errors left in ``errors``."""

    def __init__(self, store: Any, errors: dict[str, list[Exception]]) -> None:
        self._store = store
        self._errors = errors

    def __getattr__(self, name: str) -> Any:
        operation = getattr(self._store, name)
        if name == "own_tasks":
            return lambda *owner: Flaky(operation(*owner), self._errors)
        if not callable(operation):
            return operation

        def call(*arguments: Any, **options: Any) -> Any:
            if self._errors.get(name):
                failed = asyncio.get_running_loop().create_future()
                failed.set_exception(self._errors[name].pop())
                return failed
            return operation(*arguments, **options)

        return call


class Bench:
    """A running engine, and short ways to speak to it."""

    def __init__(self, engine: Engine, tenants: dict[str, Tenant], strays: Strays, means: Means) -> None:
        self.engine = engine
        self.tenants = tenants
        self.strays = strays
        self.store = means.store
        self.means = means
        self.events: list[Committed] = []
        self._numbers = itertools.count(1)

    def submission(self, text: str, *, message_id: str = "", **fields: Any) -> Submission:
        message_id = message_id or f"m{next(self._numbers)}"
        body = json.dumps({"messageId": message_id, "role": "ROLE_USER", "parts": [{"text": text}]}).encode()
        return Submission(message_id, hashlib.sha256(body).digest(), body, **fields)

    async def say(self, text: str, *, tenant: str = "t", caller: Caller = ALICE, **fields: Any) -> Admitted:
        return await self.engine.submit(self.tenants[tenant], caller, self.submission(text, **fields))

    async def settled(self, admitted: Admitted, *, caller: Caller = ALICE) -> dict[str, Any]:
        await self.engine.until_settled(admitted.task.id)
        return await self.task(admitted.task.id, caller=caller)

    async def ask(self, text: str, **fields: Any) -> dict[str, Any]:
        return await self.settled(await self.say(text, **fields))

    async def view(self, task_id: str, *, caller: Caller = ALICE) -> TaskView:
        view = await self.engine.own_tasks("t", caller.key).find(task_id)
        assert view is not None
        return view

    async def task(self, task_id: str, *, caller: Caller = ALICE) -> dict[str, Any]:
        """Return state, text, history texts and artifact texts of a task."""
        view = await self.view(task_id, caller=caller)
        status = json.loads(view.status if hasattr(view, "status") else view.task.status)
        artifacts = json.loads(self.means.codec.fold_artifacts(view.artifacts, view.pieces))
        return {
            "id": task_id,
            "state": str(view.task.state),
            "text": _text(status.get("message", {})),
            "message_id": status.get("message", {}).get("messageId", ""),
            "history": [_text(json.loads(body)) for body in view.history],
            "artifacts": {
                artifact["artifactId"].removeprefix(task_id + ":"): _text(artifact) for artifact in artifacts
            },
        }

    def states(self, task_id: str) -> list[str]:
        return [str(event.state) for event in self.events if event.task_id == task_id and event.state]


def _text(message: dict[str, Any]) -> str:
    return "".join(part.get("text", "") for part in message.get("parts", ()))


@asynccontextmanager
async def running(
    data_dir: Path,
    *agents: Agent,
    gates: Sequence[Implementation] = (),
    max_attempts: int = 3,
    max_concurrent_turns: int = 8,
    errors: dict[str, list[Exception]] | None = None,
    **limits: Any,
) -> AsyncIterator[Bench]:
    strays = Strays()
    hooks = Hooks(gates, strays, Charges())
    tenant = Tenant(
        id="",
        agent=agents[0],
        plugins=("p",),
        plugin=context("p"),
        hooks=hooks,
        workspaces=Workspaces(hooks),
        turn_timeout=timedelta(seconds=30),
        max_concurrent_turns=8,
        queue_per_session=8,
        queue_per_tenant=64,
    )
    tenants = {agent.id: dataclasses.replace(tenant, id=agent.id, agent=agent, **limits) for agent in agents}
    made: list[Bench] = []

    def published(committed: Committed) -> None:
        made[0].events.append(committed)
        made[0].engine.published(committed)

    async with AsyncExitStack() as opened:
        store = await opened.enter_async_context(open_store(data_dir, published))
        store = Flaky(store, errors) if errors else store
        means = Means(store, WireCodec(), World(), strays, "test", GRACE)
        engine = Engine(
            means,
            tenants,
            lambda agent: runner_from_executor(agent) if is_executor(agent.handler) else runner_from_handler(agent),
            max_attempts=max_attempts,
            max_concurrent_turns=max_concurrent_turns,
        )
        made.append(Bench(engine, tenants, strays, means))
        opened.push_async_callback(engine.close)
        await engine.start()
        yield made[0]


@pytest.fixture
def engine_with(tmp_path: Path) -> Callable[..., AbstractAsyncContextManager[Bench]]:
    """Return what runs an engine over one and the same data directory, however often it is called."""
    return functools.partial(running, tmp_path / "data")


@pytest.fixture(name="hook")
def make_hook() -> Callable[..., Implementation]:
    return implementation


@pytest.fixture(name="gate")
def make_gate() -> Callable[..., Implementation]:
    return gate
