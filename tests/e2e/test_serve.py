"""``innkeeper serve`` as an operator meets it: what it prints, how it stops, what it refuses."""

import json
import re
import shutil
import signal
import socket
import subprocess
import uuid
from urllib.parse import urlsplit

import h11
import pytest
from livehost import innkeeper, running_host

TENANTS = "[tenants.hello]\nuse = []\n[tenants.waits]\nuse = []\n"


def printed_for(host, tenant: str) -> tuple[str, str, str]:
    """Return the card's URL, the curl line and the call line that the host printed for a tenant."""
    while not (line := host.next_line()).startswith(f"{tenant}: "):
        assert line, host.said()
    return line.split()[1], host.next_line().strip(), host.next_line().strip()


def run_in_shell(line: str, cwd) -> str:
    shell = shutil.which("sh")
    return subprocess.run((shell, "-c", line), cwd=cwd, capture_output=True, text=True, check=True, timeout=30).stdout


def test_the_printed_lines_work_when_pasted(config, plugins, tmp_path):
    with running_host(config(TENANTS), plugins) as host:
        card_url, curl, call = printed_for(host, "hello")
        assert card_url == f"{host.url}/agents/hello/.well-known/agent-card.json"
        card = json.loads(run_in_shell(f"curl -sS {card_url}", tmp_path))
        first, second = (json.loads(run_in_shell(curl, tmp_path))["result"]["task"] for _ in range(2))
        called = run_in_shell(call, tmp_path)
    assert card["name"] == "hello"
    assert first["status"]["message"]["parts"][0]["text"] == "Hello, hi"
    assert first["id"] != second["id"], "each paste is a message of its own"
    assert called == "Hello, hi\n"


def read_stream(connection: socket.socket, target, tenant: str):
    """Send a streaming message and yield the h11 events of the answer."""
    message = {"messageId": str(uuid.uuid4()), "role": "ROLE_USER", "parts": [{"text": "go"}]}
    call = {"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": {"message": message}}
    body = json.dumps(call).encode()
    http = h11.Connection(h11.CLIENT)
    headers = [("Host", target.netloc), ("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
    connection.sendall(http.send(h11.Request(method="POST", target=f"/agents/{tenant}", headers=headers)))
    connection.sendall(http.send(h11.Data(body)) + http.send(h11.EndOfMessage()))
    while True:
        event = http.next_event()
        if event is h11.NEED_DATA:
            http.receive_data(connection.recv(65536))
            continue
        yield event
        if isinstance(event, h11.EndOfMessage):
            return


@pytest.mark.parametrize("tenant", ["waits", "stubborn"])
@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "Ctrl-C"])
def test_a_stop_ends_open_streams_properly_and_exits_0_within_the_grace(config, plugins, sign, tenant):
    tables = f'[turns]\ncancel_grace = "200ms"\n{TENANTS}[tenants.stubborn]\nuse = []\n'
    path = config(tables, host='shutdown_grace = "500ms"')
    with running_host(path, plugins) as host:
        target = urlsplit(host.url)
        with socket.create_connection((target.hostname, target.port), timeout=20) as connection:
            events = read_stream(connection, target, tenant)
            assert next(events).status_code == 200
            assert b"TASK_STATE_SUBMITTED" in next(events).data
            assert b"TASK_STATE_WORKING" in next(events).data
            host.process.send_signal(sign)
            assert isinstance(list(events)[-1], h11.EndOfMessage)
        assert host.process.wait(timeout=10) == 0
        assert "Traceback" not in host.said()


def test_a_second_signal_cuts_the_grace_short(config, plugins):
    with running_host(config(TENANTS, host='shutdown_grace = "300s"'), plugins) as host:
        target = urlsplit(host.url)
        with socket.create_connection((target.hostname, target.port), timeout=20) as connection:
            events = read_stream(connection, target, "waits")
            for _ in range(3):  # headers, submitted, working
                next(events)
            host.process.send_signal(signal.SIGTERM)
            while "stopping" not in host.said():
                assert host.process.poll() is None
            host.process.send_signal(signal.SIGTERM)
            assert isinstance(list(events)[-1], h11.EndOfMessage)
        assert host.process.wait(timeout=10) == 0
        assert "put back" in host.said()


def test_a_host_without_agents_says_so(config, tmp_path):
    with running_host(config("[tenants]\n"), tmp_path) as host:
        assert host.next_line().startswith("No agent is served")


def test_a_second_host_on_the_same_data_is_refused_by_name(config, plugins, tmp_path):
    path = config(TENANTS)
    with running_host(path, plugins):
        second = innkeeper("serve", "--config", path, plugins=plugins, cwd=tmp_path)
    assert second.returncode == 2
    assert str(tmp_path / "innkeeper-data") in second.stderr
    assert len(second.stderr.splitlines()) == 1
    assert second.stdout == ""


def test_the_data_is_readable_by_its_owner_only(config, plugins, tmp_path):
    with running_host(config(TENANTS), plugins):
        data = tmp_path / "innkeeper-data"
        assert data.stat().st_mode & 0o777 == 0o700
        files = [found for found in data.iterdir() if found.is_file()]
        assert files
        assert {found.stat().st_mode & 0o777 for found in files} == {0o600}


def test_every_fault_of_the_settings_is_reported_at_once(config, plugins, tmp_path):
    path = config("[turns]\nturn_timeout = 'soon'\n[hots]\nport = 1", host='log_level = "loud"')
    done = innkeeper("serve", "--config", path, plugins=plugins, cwd=tmp_path)
    assert done.returncode == 2
    for named in ("turn_timeout", "soon", "hots", "log_level", "loud"):
        assert named in done.stderr
    assert len(done.stderr.splitlines()) == 3
    assert not (tmp_path / "innkeeper-data").exists()


def test_a_taken_port_is_a_start_fault(config, plugins, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        bind = f"127.0.0.1:{taken.getsockname()[1]}"
        done = innkeeper("serve", "--config", config(bind=bind), plugins=plugins, cwd=tmp_path)
    assert done.returncode == 2
    assert bind in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_bind_on_the_command_line_wins_over_the_file(config, plugins):
    path = config(TENANTS, bind="127.0.0.1:1")
    with running_host(path, plugins, ("-m", "innkeeper", "serve", "--bind", "127.0.0.1:0")) as host:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", host.url)


def test_open_mode_is_refused_beyond_loopback(config, plugins, tmp_path):
    done = innkeeper("serve", "--config", config(bind="0.0.0.0:0"), plugins=plugins, cwd=tmp_path)
    assert done.returncode == 2
    assert "0.0.0.0" in done.stderr
