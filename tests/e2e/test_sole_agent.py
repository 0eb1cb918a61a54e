"""A host of one agent in open mode, known by nothing but its origin: the card there is enough to come in."""

import pytest
from a2a.types import CancelTaskRequest, GetTaskRequest, ListTasksRequest, SubscribeToTaskRequest, TaskState
from livehost import running_host
from sending import sending

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("tenant", ["asker", "tasks"])
@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
async def test_the_official_client_needs_the_origin_alone(config, plugins, client_of, binding, tenant):
    path = config(f'[tenants]\n{tenant} = {{ agent = "asker", use = [] }}\n')
    with running_host(path, plugins) as host:
        async with client_of(host.url, binding=binding) as client:
            told = [response async for response in client.send_message(sending("a ball"))]
            task = told[0].task
            assert told[-1].status_update.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
            assert (await client.get_task(GetTaskRequest(id=task.id))).id == task.id
            assert [found.id for found in (await client.list_tasks(ListTasksRequest())).tasks] == [task.id]
            followed = client.subscribe(SubscribeToTaskRequest(id=task.id))
            assert (await anext(followed)).task.id == task.id
            canceled = await client.cancel_task(CancelTaskRequest(id=task.id))
            rest = [response async for response in followed]
    assert canceled.status.state == TaskState.TASK_STATE_CANCELED
    assert rest[-1].status_update.status.state == TaskState.TASK_STATE_CANCELED
