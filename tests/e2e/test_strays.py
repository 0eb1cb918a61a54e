"""Foreign code that ignores its cancellation does not keep the host from stopping."""

import pytest
from a2a.types import CancelTaskRequest, TaskState
from livehost import running_host
from sending import sending, sent

TENANTS = """
[turns]
cancel_grace = "100ms"
[tenants]
echo = { use = ["ignores-cancel"] }
stubborn = { use = [] }
"""


@pytest.mark.anyio
async def test_a_host_stops_although_a_gate_and_a_handler_ignore_that_they_were_canceled(config, plugins, client_of):
    with running_host(config(TENANTS, host='shutdown_grace = "500ms"'), plugins) as host:
        async with client_of(host.agent("stubborn"), streaming=False) as client:
            running = await sent(client, sending("go", return_immediately=True))
            canceled = await client.cancel_task(CancelTaskRequest(id=running.id))
        async with client_of(host.agent("echo"), streaming=False) as client:
            task = await sent(client, sending("hi"))
        host.process.terminate()
        assert host.process.wait(timeout=15) == 0
    assert canceled.status.state == TaskState.TASK_STATE_CANCELED
    assert task.status.state == TaskState.TASK_STATE_COMPLETED
