"""Nothing that was acknowledged is lost by kill -9, or by a stop that did not wait for it."""

import signal

import pytest
from a2a.types import GetTaskRequest, SubscribeToTaskRequest, TaskState
from a2a.utils.errors import UnsupportedOperationError
from livehost import running_host
from sending import sending, sent, text_of

pytestmark = pytest.mark.anyio

TENANTS = "[tenants]\ncounter = { use = [] }\nstumbles = { use = [] }\n"
NO_GRACE = 'shutdown_grace = "0s"'


@pytest.fixture
def runs(tmp_path):
    """A file with one line for each run."""
    file = tmp_path / "runs"
    file.touch()
    return file


async def settled(client, task_id):
    """Follow a task to its end and return it."""
    try:
        async for _ in client.subscribe(SubscribeToTaskRequest(id=task_id)):
            pass
    except UnsupportedOperationError:
        pass  # it had ended before anybody could subscribe
    return await client.get_task(GetTaskRequest(id=task_id))


async def test_a_turn_accepted_right_before_kill_9_completes_after_the_restart(config, plugins, client_of, runs):
    path = config(TENANTS)
    with running_host(path, plugins, COUNTER_FILE=str(runs)) as host:
        async with client_of(host.agent("counter"), streaming=False) as client:
            accepted = await sent(client, sending("count me", return_immediately=True))
            host.stop(signal.SIGKILL)
    begun = len(runs.read_text().splitlines())
    with running_host(path, plugins, COUNTER_FILE=str(runs)) as host:
        async with client_of(host.agent("counter")) as client:
            task = await settled(client, accepted.id)
    assert task.id == accepted.id
    assert task.status.state == TaskState.TASK_STATE_COMPLETED
    assert 1 <= len(runs.read_text().splitlines()) <= begun + 1


async def test_a_turn_that_kill_9_cut_short_is_run_exactly_once_more(config, plugins, client_of, runs):
    path = config(TENANTS)
    with running_host(path, plugins, COUNTER_FILE=str(runs)) as host:
        async with client_of(host.agent("stumbles")) as client:
            stream = client.send_message(sending("count me"))
            opening = await anext(stream)
            async for response in stream:
                if text_of(response.status_update.status.message.parts) == "begun":
                    break
            await stream.aclose()
            host.stop(signal.SIGKILL)
    task_id = opening.task.id
    assert runs.read_text().splitlines() == [f"{task_id} 1"]
    with running_host(path, plugins, COUNTER_FILE=str(runs)) as host:
        async with client_of(host.agent("stumbles")) as client:
            task = await settled(client, task_id)
        assert host.stop() == 0
    with running_host(path, plugins, COUNTER_FILE=str(runs)) as host:
        async with client_of(host.agent("stumbles")) as client:
            assert await client.get_task(GetTaskRequest(id=task_id)) == task
    assert task.status.state == TaskState.TASK_STATE_COMPLETED
    assert text_of(task.status.message.parts) == "attempt 2"
    assert runs.read_text().splitlines() == [f"{task_id} 1", f"{task_id} 2"]


async def test_a_turn_ended_by_a_stop_runs_again_and_the_stopped_attempt_does_not_count(
    config, plugins, client_of, runs
):
    path = config(TENANTS, host=NO_GRACE)
    task_id = ""
    for starts in range(1, 3):
        with running_host(path, plugins, COUNTER_FILE=str(runs)) as host:
            async with client_of(host.agent("stumbles")) as client:
                if not task_id:
                    stream = client.send_message(sending("count me"))
                    task_id = (await anext(stream)).task.id
                else:
                    stream = client.subscribe(SubscribeToTaskRequest(id=task_id))
                    await anext(stream)
                await stream.aclose()
                while len(runs.read_text().splitlines()) < starts:
                    await client.get_task(GetTaskRequest(id=task_id))
                assert host.stop() == 0
    assert runs.read_text().splitlines() == [f"{task_id} 1"] * 2
