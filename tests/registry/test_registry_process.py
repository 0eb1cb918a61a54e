"""A process ends when it is told to, whatever foreign code is left in it."""

import signal
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

async def busy_executor():
    begun.set()
    await asyncio.to_thread(time.sleep, 3600)

async def agen():
    try:
        yield 1
    finally:
        await asyncio.sleep(3600)

kept = agen()

async def unclosed():
    await anext(kept)
    begun.set()

def block():
    begun.set()
    time.sleep(3600)

async def blocks():
    await to_thread.run_sync(block, abandon_on_cancel=True)

async def respawns():
    begun.set()
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        asyncio.create_task(ignores(), name="the child")

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
        ("respawns", ["done"], "the child"),
        ("busy_executor", ["done"], "a thread of the loop's executor"),
        ("unclosed", ["done"], "an async generator that does not close"),
    ],
)
def test_what_is_left_running_does_not_keep_the_process(left: str, printed: list[str], said: str) -> None:
    script = BEGIN.replace("{}", left)
    done = subprocess.run((sys.executable, "-c", script), capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 7, done.stderr
    assert done.stdout.split() == printed
    assert said in done.stderr


@pytest.mark.parametrize("closed", ["sys.stdout", "sys.stderr"])
def test_a_closed_stream_does_not_keep_the_process_either(closed: str) -> None:
    closes = (
        f"import sys; from innkeeper.app.logs import configure_logs; configure_logs('info', 'text'); {closed}.close()"
    )
    script = BEGIN.replace("{}", "ignores").replace("    return 7", f"    {closes}; return 7")
    done = subprocess.run((sys.executable, "-c", script), capture_output=True, text=True, check=False, timeout=30)
    assert (done.returncode, done.stdout) == (7, "done\n")
    assert "although this still runs: the stray" in done.stderr


EXITS = """
import asyncio, signal, os
from innkeeper.registry.process import run_process

def leave(*_):
    raise {error}

async def main():
    loop = asyncio.get_running_loop()
    went_on = loop.create_future()
    {attack}
    loop.call_soon(loop.call_later, 0.02, went_on.set_result, None)
    await went_on
    print("went on", flush=True)
    return 7

raise SystemExit(run_process(main()))
"""

ATTACKS = {
    "call_soon": "loop.call_soon(leave)",
    "call_later": "loop.call_later(0.001, leave)",
    "done callback": "asyncio.ensure_future(asyncio.sleep(0)).add_done_callback(leave)",
    "from a thread": "asyncio.get_running_loop().run_in_executor(None, loop.call_soon_threadsafe, leave)",
    "reader": "r, w = os.pipe(); loop.add_reader(r, lambda: (os.read(r, 1), leave())); os.write(w, b'x')",
    "signal handler": "loop.add_signal_handler(signal.SIGUSR1, leave); os.kill(os.getpid(), signal.SIGUSR1)",
    "task": "asyncio.ensure_future(asyncio.to_thread(leave))",
    "as it ends": "went_on.add_done_callback(leave)",
}
WHILE_IT_STOPS = "asyncio.current_task().add_done_callback(lambda _: loop.call_soon(leave))"


ERRORS = ("SystemExit(3)", "KeyboardInterrupt")


def run_script(script: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run((sys.executable, "-c", script), capture_output=True, text=True, check=False, timeout=30)


CASES = [
    *(pytest.param(attack, error, id=f"{name}: {error}") for name, attack in ATTACKS.items() for error in ERRORS),
    pytest.param(WHILE_IT_STOPS, "SystemExit(3)", id="while it stops"),  # a KeyboardInterrupt may be Ctrl-C by then
]


@pytest.mark.parametrize(("attack", "error"), CASES)
def test_an_exit_from_anything_but_the_main_task_does_not_end_the_process(attack: str, error: str) -> None:
    done = run_script(EXITS.format(attack=attack, error=error))
    assert (done.returncode, done.stdout) == (7, "went on\n"), done.stderr
    assert "does not end the process" in done.stderr


@pytest.mark.parametrize(("error", "code"), [("SystemExit(3)", 3), ("KeyboardInterrupt", -signal.SIGINT)])
def test_the_main_task_ends_the_process(error: str, code: int) -> None:
    done = run_script(EXITS.format(attack="leave()", error=error))
    assert (done.returncode, done.stdout) == (code, "")


INTERRUPTED = """
import asyncio, os, signal
from innkeeper.registry.process import run_process

async def main():
    loop = asyncio.get_running_loop()
    loop.call_soon(os.kill, os.getpid(), signal.SIGINT)
    try:
        await asyncio.Event().wait()
    finally:
        print("stopping", flush=True)
        {stopping}

run_process(main())
"""


@pytest.mark.parametrize(
    "stopping",
    ["pass", "loop.call_soon(os.kill, os.getpid(), signal.SIGINT); await asyncio.Event().wait()"],
    ids=["once", "twice"],
)
def test_ctrl_c_ends_the_process_at_once_where_its_stop_is_not_waited_for(stopping: str) -> None:
    done = run_script(INTERRUPTED.format(stopping=stopping))
    assert (done.returncode, done.stdout) == (-signal.SIGINT, "stopping\n"), done.stderr
