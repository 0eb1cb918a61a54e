"""Streams that are continued where their reader left off, and what they have to do with the host's stop."""

from contextlib import asynccontextmanager

import httpx
import pytest
from conforming import Wire, saying
from livehost import running_host

pytestmark = pytest.mark.anyio

TENANTS = "[tenants]\nasker = { use = [] }\n"


@pytest.fixture(params=["JSONRPC", "HTTP+JSON"])
def reaching(request):
    """Speak to the agent of a host in one binding."""

    @asynccontextmanager
    async def reached(host):
        async with httpx.AsyncClient(timeout=30, trust_env=False) as http:
            yield Wire(request.param, host.agent("asker"), http)

    return reached


async def test_a_stream_is_continued_across_a_restart_without_gap_or_repeat(config, plugins, reaching):
    path = config(TENANTS)
    with running_host(path, plugins) as host:
        async with reaching(host) as wire:
            asked = {"id": (await wire.done("SendMessage", saying("a ball"))).task["id"]}
            async with wire.stream("SubscribeToTask", asked) as events:
                seen, snapshot = await anext(events)
                assert host.stop() == 0  # although somebody follows a task that waits
                assert [event async for event in events] == []
    with running_host(path, plugins) as host:
        async with reaching(host) as wire:
            async with wire.stream("SubscribeToTask", asked, last_event_id=seen) as events:
                await wire.done("SendMessage", saying("red", taskId=asked["id"]))
                told = [event async for event in events]
            async with wire.stream("SubscribeToTask", asked, last_event_id=seen) as events:
                assert [event async for event in events] == told
            async with wire.stream("SubscribeToTask", asked, last_event_id=told[-1][0]) as events:
                assert [event async for event in events] == []
            assert (await wire.call("SubscribeToTask", asked)).reason == "UNSUPPORTED_OPERATION"
    assert snapshot["task"]["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    states = [event["statusUpdate"]["status"]["state"] for _, event in told if "statusUpdate" in event]
    assert (states[0], states[-1]) == ("TASK_STATE_WORKING", "TASK_STATE_COMPLETED")
    numbers = [int(event_id.rpartition(":")[2]) for event_id, _ in told]
    assert numbers == sorted(set(numbers))
    assert numbers[0] > int(seen.rpartition(":")[2])
