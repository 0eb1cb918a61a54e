"""Nothing that was acknowledged is lost: not by kill -9, and not by a stop."""

import signal

import pytest
from a2a.types import GetTaskRequest, SubscribeToTaskRequest, TaskState
from a2a.utils.errors import UnsupportedOperationError
from livehost import running_host
from sending import sending, sent

pytestmark = pytest.mark.anyio

TENANTS = "[tenants.counter]\nuse = []\n[tenants.echo]\nuse = []\n"


async def settled(client, task_id):
    """Follow a task to its end and return it."""
    try:
        async for _ in client.subscribe(SubscribeToTaskRequest(id=task_id)):
            pass
    except UnsupportedOperationError:
        pass  # it had ended before anybody could subscribe
    return await client.get_task(GetTaskRequest(id=task_id))


async def test_a_turn_accepted_right_before_kill_9_completes_after_the_restart(config, plugins, client_of, tmp_path):
    counter = tmp_path / "runs"
    path = config(TENANTS)
    with running_host(path, plugins, COUNTER_FILE=str(counter)) as host:
        async with client_of(host.agent("counter"), streaming=False) as client:
            accepted = await sent(client, sending("count me", return_immediately=True))
            host.stop(signal.SIGKILL)
    begun = counter.read_text().splitlines() if counter.exists() else []
    with running_host(path, plugins, COUNTER_FILE=str(counter)) as host:
        async with client_of(host.agent("counter"), streaming=False) as client:
            task = await settled(client, accepted.id)
    assert task.id == accepted.id
    assert task.status.state == TaskState.TASK_STATE_COMPLETED
    assert len(counter.read_text().splitlines()) == len(begun) + 1
