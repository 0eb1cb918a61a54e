"""Foreign code neither ends the host nor keeps it from stopping, and the log says who has tried."""

import signal

import pytest
from a2a.types import CancelTaskRequest, TaskState
from livehost import running_host
from sending import sending, sent, text_of

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


@pytest.mark.anyio
@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "Ctrl-C"])
async def test_an_agent_that_exits_wherever_it_can_ends_nothing(config, plugins, client_of, sign):
    with running_host(config("[tenants.leaves]\nuse = []\n"), plugins) as host:
        async with client_of(host.agent("leaves"), streaming=False) as client:
            answers = [text_of((await sent(client, sending("hi"))).status.message.parts) for _ in range(3)]
        assert host.stop(sign) == 0
        assert "of agent leaves of plugin agents-kit at tenant leaves" in host.said()
    assert answers == ["still here"] * 3


@pytest.mark.anyio
async def test_an_agent_that_cancels_every_task_ends_no_task_of_the_host(config, plugins, client_of):
    with running_host(config("[tenants.sweeps]\nuse = []\n[tenants.echo]\nuse = []\n"), plugins) as host:
        for tenant in ("sweeps", "echo", "sweeps"):
            async with client_of(host.agent(tenant), streaming=False) as client:
                task = await sent(client, sending("still here"))
            assert text_of(task.status.message.parts).endswith("still here")
        assert host.stop() == 0
        assert "agent sweeps of plugin agents-kit at tenant sweeps" in host.said()
        assert host.said().count("cancels tasks of the host, which go on") == 1


@pytest.mark.anyio
async def test_an_agent_that_blocks_the_loop_is_named_in_the_log(config, plugins, client_of):
    tables = '[watch]\nslow_hook = "20ms"\n[tenants.blocks]\nuse = []\n'
    with running_host(config(tables), plugins) as host:
        async with client_of(host.agent("blocks"), streaming=False) as client:
            await sent(client, sending("0.3"))
        assert host.stop() == 0
        said = host.said()
    assert "agent blocks of plugin agents-kit at tenant blocks" in said
    assert "in blocks" in said
    assert said.count("blocks the event loop") == 1


@pytest.mark.anyio
async def test_a_killed_host_can_be_started_again_although_a_child_of_an_agent_lives_on(
    config, plugins, client_of, tmp_path
):
    alive = tmp_path / "alive"
    alive.touch()
    with running_host(config("[tenants.forks]\nuse = []\n"), plugins) as host:
        async with client_of(host.agent("forks"), streaming=False) as client:
            await sent(client, sending(str(alive)))
        host.stop(signal.SIGKILL)
    try:
        same = config("[tenants.forks]\nuse = []\n", bind=host.url.removeprefix("http://"))
        with running_host(same, plugins) as again:
            assert again.url == host.url
    finally:
        alive.unlink()


@pytest.mark.anyio
async def test_an_agent_that_closes_the_streams_of_the_process_does_not_silence_the_log(config, plugins, client_of):
    with running_host(config("[tenants.mutes]\nuse = []\n"), plugins) as host:
        async with client_of(host.agent("mutes"), streaming=False) as client:
            for _ in range(2):
                await sent(client, sending("hush"))
        assert host.stop() == 0
    assert host.said().count("heard all the same") >= 2
