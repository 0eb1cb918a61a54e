"""What a forked child must not keep alive."""

import socket
import subprocess
import sys

FORKS = """
import os, socket, sys
from innkeeper.store.forks import not_for_children

listener = socket.create_server(("127.0.0.1", 0))
with not_for_children((listener.fileno(),)):
    print(listener.getsockname()[1], flush=True)
    if os.fork() == 0:
        print("forked", flush=True)
        sys.stdin.read()  # lives until the test closes its end
        os._exit(0)
os._exit(0)
"""


def test_a_forked_child_that_outlives_its_host_does_not_hold_the_port() -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen((sys.executable, "-c", FORKS), text=True, **pipes) as host:
        assert host.stdin is not None
        assert host.stdout is not None
        port = int(host.stdout.readline())
        assert host.stdout.readline() == "forked\n"
        assert host.wait(timeout=20) == 0
        with socket.create_server(("127.0.0.1", port)):
            host.stdin.close()
