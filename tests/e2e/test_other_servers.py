"""``innkeeper.app:asgi`` under stock ASGI servers."""

import socket
import subprocess
import sys

import pytest
from a2a.types import TaskState
from livehost import environment
from sending import sending, sent, text_of

COMMANDS = {
    "uvicorn": ("uvicorn", "innkeeper.app:asgi", "--fd", "{fd}"),
    "hypercorn": ("hypercorn", "innkeeper.app:asgi", "--bind", "fd://{fd}"),
}


@pytest.fixture(params=COMMANDS)
def command(request, listener):
    """How to start the server on the listening socket."""
    return (sys.executable, "-m", *(part.format(fd=listener.fileno()) for part in COMMANDS[request.param]))


@pytest.fixture
def listener():
    """A listening socket: requests wait in its queue until the server has started."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


@pytest.fixture
def served(command, listener, config, plugins, tmp_path):
    """The URL of a host under the server; its end must be orderly too."""
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    path = config("[tenants.hello]\nuse = []\n", host=f'public_url = "{url}"')
    with subprocess.Popen(
        command,
        env=environment(plugins, INNKEEPER_CONFIG=str(path)),
        cwd=tmp_path,
        pass_fds=(listener.fileno(),),
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield url
            process.terminate()
            _, errors = process.communicate(timeout=20)
        finally:
            process.kill()
    assert "Traceback" not in errors


@pytest.mark.anyio
async def test_another_asgi_server_serves_the_host(served, client_of):
    async with client_of(f"{served}/agents/hello", streaming=False) as client:
        task = await sent(client, sending("Ada"))
    assert task.status.state == TaskState.TASK_STATE_COMPLETED
    assert text_of(task.status.message.parts) == "Hello, Ada"


def test_another_server_needs_the_public_url(command, listener, config, plugins, tmp_path):
    done = subprocess.run(
        command,
        env=environment(plugins, INNKEEPER_CONFIG=str(config())),
        cwd=tmp_path,
        pass_fds=(listener.fileno(),),
        capture_output=True,
        text=True,
        check=False,
        timeout=40,
    )
    assert "public_url" in done.stderr
    assert not (tmp_path / "innkeeper-data").exists()
