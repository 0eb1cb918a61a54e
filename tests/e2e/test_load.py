"""A host under work still answers, and ends every task it took."""

import asyncio
import json
import socket
import time
import uuid
from urllib.parse import urlsplit

import httpx
import pytest
from a2a.types import GetTaskRequest, ListTasksRequest, TaskState
from livehost import running_host

TENANTS = "[tenants]\nflood = { use = [] }\necho = { use = [] }\n"
CONCURRENCY = 16
GROWTH_BYTES = 24 * 2**20
"""What 1 000 turns may leave in memory: pages that SQLite's caches and the allocator take once and then reuse. A host
that kept tasks, streams or sessions would grow with every turn."""


@pytest.fixture
def fresh_host(config, plugins):
    with running_host(config(TENANTS), plugins) as host:
        yield host


def message(text: str) -> dict:
    return {"message": {"messageId": str(uuid.uuid4()), "role": "ROLE_USER", "parts": [{"text": text}]}}


def request(method: str, params: dict) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


def leave_mid_stream(url: str, body: bytes) -> str:
    """Open a stream, read its first event, close the socket; returns the task's id."""
    target = urlsplit(url)
    head = f"POST {target.path} HTTP/1.1\r\nHost: {target.netloc}\r\nContent-Type: application/json\r\n"
    with socket.create_connection((target.hostname, target.port), timeout=10) as connection:
        connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        with connection.makefile("rb") as stream:
            first = next(line for line in stream if line.startswith(b"data:"))
    return json.loads(first.removeprefix(b"data:"))["result"]["task"]["id"]


@pytest.mark.timeout(240)
@pytest.mark.anyio
async def test_a_flood_whose_client_left_does_not_keep_others_waiting(fresh_host, client_of):
    stream = request("SendStreamingMessage", message("100000"))
    task_id = await asyncio.to_thread(leave_mid_stream, fresh_host.agent("flood"), stream)
    slowest, polls = 0.0, 0
    async with client_of(fresh_host.agent("flood")) as client, httpx.AsyncClient(trust_env=False, timeout=30) as http:
        state = TaskState.TASK_STATE_WORKING
        while state in (TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING):
            for _ in range(20):
                asked = time.monotonic()
                answer = await http.get(f"{fresh_host.url}/healthz")
                slowest, polls = max(slowest, time.monotonic() - asked), polls + 1
                assert answer.status_code == 200
            state = (await client.get_task(GetTaskRequest(id=task_id, history_length=0))).status.state
    assert state == TaskState.TASK_STATE_COMPLETED
    assert polls > 20, "the flood was over before anybody could have been kept waiting"
    assert slowest < 1


@pytest.mark.timeout(180)
@pytest.mark.anyio
async def test_a_thousand_turns_at_once_end_without_error_and_without_a_trace_in_memory(fresh_host, client_of):
    url = fresh_host.agent("echo")
    limits = httpx.Limits(max_connections=CONCURRENCY)
    async with httpx.AsyncClient(trust_env=False, timeout=30, limits=limits) as http:

        async def speak(numbers):
            for number in numbers:
                answer = await http.post(
                    url,
                    content=request("SendMessage", message(f"turn {number}")),
                    headers={"Content-Type": "application/json"},
                )
                task = answer.json()["result"]["task"]
                assert task["status"]["state"] == "TASK_STATE_COMPLETED"

        async def turns(count):
            numbers = iter(range(count))
            await asyncio.gather(*(speak(numbers) for _ in range(CONCURRENCY)))

        await turns(500)
        warm = fresh_host.resident_bytes()
        await turns(1000)
        grown = fresh_host.resident_bytes() - warm
    async with client_of(url) as client:
        every = await client.list_tasks(ListTasksRequest())
        completed = await client.list_tasks(ListTasksRequest(status=TaskState.TASK_STATE_COMPLETED))
    assert every.total_size == completed.total_size == 1500
    assert grown < GROWTH_BYTES
