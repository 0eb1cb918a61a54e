"""A process ends when it is told to, whatever foreign code is left in it."""

import subprocess
import sys

import pytest

BEGIN = """
import asyncio, contextlib, threading, time
from anyio import to_thread
from innkeeper.registry.process import run_process

begun = threading.Event()

async def ignores():
    begun.set()
    while True:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(3600)

async def obeys():
    begun.set()
    try:
        await asyncio.sleep(3600)
    finally:
        print("stopped", flush=True)

def block():
    begun.set()
    time.sleep(3600)

async def blocks():
    await to_thread.run_sync(block, abandon_on_cancel=True)

async def main():
    task = asyncio.create_task({}(), name="the stray")
    while not begun.is_set():
        await asyncio.sleep(0)
    print("done", flush=True)
    return 7

code = run_process(main())
print("returned", flush=True)
raise SystemExit(code)
"""


@pytest.mark.parametrize(
    ("left", "printed", "said"),
    [
        ("obeys", ["done", "stopped", "returned"], ""),
        ("ignores", ["done"], "the stray"),
        ("blocks", ["done"], "AnyIO worker thread"),
    ],
)
def test_what_is_left_running_does_not_keep_the_process(left: str, printed: list[str], said: str) -> None:
    script = BEGIN.replace("{}", left)
    done = subprocess.run((sys.executable, "-c", script), capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 7, done.stderr
    assert done.stdout.split() == printed
    assert said in done.stderr
