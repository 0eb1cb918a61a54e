"""A whole edge over a fake engine, and a client that sees what a server would see."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
import httpx
import pytest
from joserfc.jwk import OKPKey

from innkeeper.contract.agent import Agent
from innkeeper.contract.caller import Caller
from innkeeper.contract.errors import TaskNotFound
from innkeeper.edge.app import EdgeApp, Limits, origins_from_urls
from innkeeper.edge.cards import Cards
from innkeeper.edge.door import OpenDoor
from innkeeper.edge.keys import SigningKeys
from innkeeper.edge.service import Service
from innkeeper.edge.wire import WireCodec
from innkeeper.ports.events import Committed, State, Status
from innkeeper.ports.push import PushConfig, PushPage
from innkeeper.ports.store import Admitted, TaskPage, TaskQuery, TaskRecord, TaskView

PUBLIC_URL = "http://127.0.0.1:8080"


@dataclass(frozen=True)
class FakeTenant:
    id: str
    agent: Agent


async def answer_nothing(turn: object) -> None:
    """Says nothing."""


class FakeWatch:
    """Gives the events it was made with, then those that are sent, until it is told to finish."""

    def __init__(self, *events: Committed, from_start: bool = True, finished: bool = True) -> None:
        self.from_start = from_start
        self.closed = False
        self.place: tuple[int, int] | None = None
        self.delivered = 0
        self._events: asyncio.Queue[Committed | Exception | None] = asyncio.Queue()
        for event in events:
            self.push(event)
        if finished:
            self.finish()

    def push(self, event: Committed | Exception) -> None:
        self._events.put_nowait(event)

    def finish(self) -> None:
        self._events.put_nowait(None)

    def resume(self, after: int, known: int) -> None:
        self.place = (after, known)

    async def aclose(self) -> None:
        self.closed = True

    def __aiter__(self) -> "FakeWatch":
        return self

    async def __anext__(self) -> Committed:
        event = await self._events.get()
        if event is None:
            raise StopAsyncIteration
        if isinstance(event, Exception):
            raise event
        self.delivered += 1
        return event


@dataclass
class FakeEngine:
    """Keeps tasks in a dict and every call in a list. ``error`` is raised by whatever is called next."""

    tenants: dict[str, FakeTenant]
    views: dict[str, TaskView] = field(default_factory=dict)
    push_configs: dict[str, dict[str, PushConfig]] = field(default_factory=dict)
    calls: list[tuple[Any, ...]] = field(default_factory=list)
    watch_next: FakeWatch | None = None
    error: Exception | None = None

    def record(self, *call: Any) -> None:
        self.calls.append(call)
        if self.error is not None:
            raise self.error

    @property
    def names(self) -> list[str]:
        return [call[0] for call in self.calls]

    def add(self, task_id: str, state: State = State.COMPLETED, *, seq: int = 3, history: int = 2) -> TaskView:
        codec = WireCodec()
        record = TaskRecord(
            task_id, "hello", "anonymous", "s1", "c1", state,
            codec.status(Status(state, 1_700_000_000_000_000), task_id, "c1"), 1_700_000_000_000_000, seq,
        )  # fmt: skip
        bodies = tuple(b'{"messageId":"m%d","role":"ROLE_USER","parts":[{"text":"x"}]}' % n for n in range(history))
        self.views[task_id] = TaskView(record, bodies)
        return self.views[task_id]

    def find_tenant(self, tenant_id: str) -> FakeTenant | None:
        return self.tenants.get(tenant_id)

    async def submit(self, tenant: FakeTenant, caller: Caller, submission: Any) -> Admitted:
        self.record("submit", tenant.id, caller.key, submission)
        return Admitted(self.add("t1").task, None)

    async def submit_and_watch(self, tenant: FakeTenant, caller: Caller, submission: Any) -> tuple[Admitted, Any]:
        self.record("submit_and_watch", tenant.id, caller.key, submission)
        assert self.watch_next is not None
        view = self.views.get("t1") or self.add("t1")
        return Admitted(view.task, None), self.watch_next

    async def until_settled(self, task_id: str) -> None:
        self.record("until_settled", task_id)

    def watch(self, task_id: str) -> FakeWatch:
        self.record("watch", task_id)
        return self.watch_next or FakeWatch(from_start=False)

    async def cancel(self, tenant_id: str, caller: Caller, task_id: str) -> None:
        self.record("cancel", tenant_id, caller.key, task_id)
        if task_id not in self.views:
            raise TaskNotFound
        self.add(task_id, State.CANCELED)

    def own_tasks(self, tenant_id: str, caller_key: str) -> "FakeTasks":
        return FakeTasks(self, tenant_id, caller_key)


@dataclass
class FakePushConfigs:
    """Keeps the configurations of the tasks that the engine has."""

    engine: FakeEngine

    def of(self, operation: str, task_id: str) -> dict[str, PushConfig]:
        self.engine.record(operation, task_id)
        if task_id not in self.engine.views:
            raise TaskNotFound
        return self.engine.push_configs.setdefault(task_id, {})

    async def put(self, task_id: str, config: PushConfig) -> PushConfig:
        named = replace(config, id=config.id or task_id)
        self.of("put", task_id)[named.id] = named
        return named

    async def find(self, task_id: str, config_id: str) -> PushConfig | None:
        return self.of("find_config", task_id).get(config_id)

    async def list(self, task_id: str, *, after: str, limit: int) -> PushPage:
        later = [config for name, config in sorted(self.of("list_configs", task_id).items()) if name > after]
        return PushPage(tuple(later[:limit]), more=len(later) > limit)

    async def delete(self, task_id: str, config_id: str) -> None:
        self.of("delete", task_id).pop(config_id, None)


@dataclass
class FakeTasks:
    engine: FakeEngine
    tenant_id: str
    caller_key: str

    @property
    def push_configs(self) -> FakePushConfigs:
        return FakePushConfigs(self.engine)

    async def find(self, task_id: str, *, history_length: int | None = None, artifacts: bool = True) -> TaskView | None:
        self.engine.record("find", self.tenant_id, self.caller_key, task_id, history_length)
        view = self.engine.views.get(task_id)
        if view is None or history_length is None:
            return view
        return TaskView(view.task, view.history[-history_length:] if history_length else ())

    async def list(self, query: TaskQuery) -> TaskPage:
        self.engine.record("list", self.tenant_id, self.caller_key, query)
        views = tuple(self.engine.views.values())
        return TaskPage(views[: query.limit], len(views) > query.limit, len(views))


@pytest.fixture
def committed() -> Callable[..., Committed]:
    def make(seq: int, state: State | None = None, body: bytes | None = None, task_id: str = "t1") -> Committed:
        return Committed(task_id, seq, body or b'{"statusUpdate":{"n":%d}}' % seq, state)

    return make


@pytest.fixture
def new_watch() -> type[FakeWatch]:
    return FakeWatch


@pytest.fixture
def engine() -> FakeEngine:
    mute = Agent("mute", answer_nothing, streaming=False)
    return FakeEngine({"hello": FakeTenant("hello", Agent("hello", answer_nothing)), "mute": FakeTenant("mute", mute)})


@pytest.fixture(scope="session")
def keys() -> SigningKeys:
    return SigningKeys([OKPKey.generate_key("Ed25519", {"kid": "k1"})])


@pytest.fixture
def cards(engine: FakeEngine, keys: SigningKeys) -> Cards:
    agents = {tenant.id: tenant.agent for tenant in engine.tenants.values()}
    return Cards(keys, PUBLIC_URL, agents, name="Innkeeper", description="A host.")


@pytest.fixture
def make_edge(engine: FakeEngine, cards: Cards) -> Callable[..., EdgeApp]:
    """Make an edge; keyword arguments take the place of the usual parts."""

    def make(**parts: Any) -> EdgeApp:
        usual: dict[str, Any] = {
            "service": Service(engine, cards),  # type: ignore[arg-type]
            "cards": cards,
            "door": OpenDoor(),
            "origins": origins_from_urls(PUBLIC_URL, ["127.0.0.1:8080"], ["inn.example"], ["https://console.example"]),
            "limits": Limits(body_bytes=1000, body_seconds=5, ping_seconds=60, write_seconds=5),
        }
        return EdgeApp(**usual | parts)

    return make


@pytest.fixture
def edge(make_edge: Callable[..., EdgeApp]) -> EdgeApp:
    return make_edge()


Rpc = Callable[..., Awaitable[httpx.Response]]


@pytest.fixture
async def client(edge: EdgeApp) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(edge), base_url=PUBLIC_URL) as client:
        yield client


@pytest.fixture
def rpc(client: httpx.AsyncClient) -> Rpc:
    """Post a JSON-RPC request and return the parsed response, which must have come with status 200."""

    async def call(method: str, params: Any = None, *, path: str = "/agents/hello", **headers: str) -> Any:
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        response = await client.post(path, json=request, headers={k.replace("_", "-"): v for k, v in headers.items()})
        assert (response.status_code, response.headers["content-type"]) == (200, "application/json")
        answer = response.json()
        assert (answer["jsonrpc"], answer["id"]) == ("2.0", 1)
        return answer

    return call


class Wire:
    """One request as a server would hand it in: chunks go in one by one, what is sent is kept, the client can leave."""

    def __init__(
        self, app: EdgeApp, path: str, *, method: str = "POST", headers: Mapping[str, str] | None = None
    ) -> None:
        usual = {"host": "127.0.0.1:8080", "content-type": "application/json", "transfer-encoding": "chunked"}
        raw = [(name.encode(), value.encode()) for name, value in (usual | dict(headers or {})).items()]
        self.scope = {
            "type": "http", "http_version": "1.1", "method": method, "path": path, "raw_path": path.encode(),
            "query_string": b"", "headers": raw, "scheme": "http",
        }  # fmt: skip
        self.app = app
        self.sent: list[Any] = []
        self.taken = 0
        self.reads = True
        self._messages: asyncio.Queue[Any] = asyncio.Queue()
        self._changed = anyio.Event()

    def say(self, body: bytes, *, more: bool = False) -> None:
        self._messages.put_nowait({"type": "http.request", "body": body, "more_body": more})

    def call(self, method: str, params: Any) -> None:
        self.say(json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).encode())

    def leave(self) -> None:
        self._messages.put_nowait({"type": "http.disconnect"})

    async def run(self) -> None:
        await self.app(self.scope, self._receive, self._send)

    async def until(self, seen: Callable[["Wire"], bool]) -> None:
        """Wait until what was sent so far satisfies ``seen``."""
        while not seen(self):
            await self._changed.wait()

    @property
    def status(self) -> int | None:
        return self.sent[0]["status"] if self.sent else None

    @property
    def headers(self) -> dict[bytes, bytes]:
        return dict(self.sent[0]["headers"])

    @property
    def body(self) -> bytes:
        return b"".join(message["body"] for message in self.sent[1:])

    @property
    def ended(self) -> bool:
        return len(self.sent) > 1 and not self.sent[-1].get("more_body", False)

    async def _receive(self) -> Any:
        message = await self._messages.get()
        self.taken += 1
        return message

    async def _send(self, message: Any) -> None:
        if not self.reads and message["type"] == "http.response.body":
            await anyio.sleep_forever()
        self.sent.append(message)
        self._changed.set()
        self._changed = anyio.Event()


@pytest.fixture
def open_wire(edge: EdgeApp) -> Callable[..., Wire]:
    def open_one(path: str = "/agents/hello", *, app: EdgeApp = edge, **more: Any) -> Wire:
        return Wire(app, path, **more)

    return open_one


@pytest.fixture
def message() -> Callable[..., dict[str, Any]]:
    """Make the params of a SendMessage."""

    def make(text: str = "hi", configuration: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
        body = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": text}], **fields}
        return {"message": body} | ({} if configuration is None else {"configuration": configuration})

    return make
