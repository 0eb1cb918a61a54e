"""One host from start to stop, in process."""

import asyncio
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from innkeeper.app import Host
from innkeeper.contract.errors import StartFault
from innkeeper.registry.foreign import Foreign, ForeignExit, Strays

pytestmark = pytest.mark.anyio
BASE = "http://127.0.0.1:8000"


def client(host: Any, base: str = BASE) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(host), base_url=base)


def send(text: str, message_id: str) -> dict[str, Any]:
    message = {"messageId": message_id, "role": "ROLE_USER", "parts": [{"text": text}]}
    return {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}


async def test_a_host_is_ready_from_start_to_stop(settings: Any) -> None:
    host = Host(settings(), BASE)
    assert host.state == "starting"
    await host.start()
    try:
        async with client(host) as http:
            assert (await http.get("/readyz")).json() == {"status": "ready"}
            await host.drain()
            stopping = await http.get("/readyz")
            assert (stopping.status_code, stopping.json()) == (503, {"status": "stopping"})
            assert (await http.get("/healthz")).json() == {"status": "ok"}
            refused = await http.post("/agents/hello", json=send("hi", "m"))
            assert (refused.status_code, "retry-after" in refused.headers) == (503, True)
    finally:
        await host.stop()


async def test_a_host_whose_disk_is_full_says_so_and_goes_on_when_there_is_room(settings: Any, caplog: Any) -> None:
    host = Host(settings(), BASE)
    await host.start()
    try:
        connection = host._store._writer._connection
        pages = "PRAGMA max_page_count"
        (before,) = await connection.run(lambda raw: raw.execute(pages).fetchone())
        await connection.run(lambda raw: raw.execute(f"{pages} = 1").fetchone())
        async with client(host) as http:
            full = [await http.post("/agents/hello", json=send("x" * 20_000, f"m{n}")) for n in range(3)]
            assert {answer.status_code for answer in full} == {503}
            assert (await http.get("/readyz")).json() == {"status": "not storing"}
            assert sum("nothing can be stored" in record.getMessage() for record in caplog.records) == 1
            await connection.run(lambda raw: raw.execute(f"{pages} = {before}").fetchone())
            answer = await http.post("/agents/hello", json=send("Ada", "m"))
            assert answer.json()["result"]["task"]["status"]["message"]["parts"][0]["text"] == "Hello, Ada"
            assert (await http.get("/readyz")).json() == {"status": "ready"}
    finally:
        await host.stop()


async def test_every_start_fault_is_in_one_report_and_nothing_stays_open(settings: Any, tmp_path: Path) -> None:
    made = settings(toml='tenants.lost.agent = "nobody-brings-this"', INNKEEPER_AUTH__SIGNING_KEY="{}")
    made.host.data_dir.mkdir(mode=0o700)
    (made.host.data_dir / "innkeeper.db").write_bytes(b"no database, but long enough to be looked at" * 100)
    with pytest.raises(StartFault) as caught:
        await Host(made, BASE).start(["host.bind: taken"])
    faults = caught.value.faults
    assert len(faults) == 4
    for word in ("host.bind: taken", "nobody-brings-this", "signing key", "innkeeper.db"):
        assert any(word in fault for fault in faults), faults
    (made.host.data_dir / "innkeeper.db").unlink()
    host = Host(settings(), BASE)
    await host.start()
    await host.stop()


async def test_two_hosts_in_one_process_share_nothing(settings: Any) -> None:
    hosts = [Host(settings(folder), BASE) for folder in ("a", "b")]
    for host in hosts:
        await host.start()
    try:
        async with client(hosts[0]) as first, client(hosts[1]) as second:
            await first.post("/agents/hello", json=send("hi", "m"))
            listing = {"jsonrpc": "2.0", "id": 1, "method": "ListTasks"}
            totals = [
                (await http.post("/agents/hello", json=listing)).json()["result"]["totalSize"]
                for http in (first, second)
            ]
            assert totals == [1, 0]
    finally:
        for host in reversed(hosts):
            await host.stop()


async def test_who_declined_and_what_was_withdrawn_is_in_the_event_log(settings: Any) -> None:
    made = settings()
    host = Host(made, BASE)
    await host.start()
    try:
        async with client(host) as http:
            answer = (await http.post("/agents/hello", json=send("psst", "m"))).json()
            assert "doorkeeper" not in str(answer)
        with sqlite3.connect(made.host.data_dir / "innkeeper.db") as database:
            notes = database.execute("SELECT kind, state, data FROM events ORDER BY seq").fetchall()
        database.close()
        assert notes[-1] == ("declined", "completed", '{"by": ["doorkeeper"]}')
    finally:
        await host.stop()


async def test_a_loop_that_runs_a_host_contains_the_exits_of_foreign_tasks(settings: Any) -> None:
    host = Host(settings(), BASE)
    await host.start()
    try:

        async def leave() -> None:
            raise SystemExit(3)

        async def handler() -> BaseException | None:
            (left,) = await asyncio.gather(asyncio.create_task(leave()), return_exceptions=True)
            return left

        foreign = Foreign(handler, name="spawns", strays=Strays())
        assert await foreign.wait(5)
        assert isinstance(foreign.result(), ForeignExit)
    finally:
        await host.stop()


@pytest.mark.parametrize("hosts", [1, 2])
async def test_a_host_watches_its_own_plugins_for_as_long_as_it_runs(settings: Any, hosts: int) -> None:
    running = [Host(settings(str(n), 'watch.slow_hook = "20ms"'), BASE) for n in range(hosts)]
    for host in running:
        await host.start()
    try:
        for host in running:
            assert host._engine is not None
            strays = host._engine._means.strays

            def block(watchdog: Any = host.watchdog) -> None:
                until = time.monotonic() + 10
                while "x" not in watchdog.slow and time.monotonic() < until:
                    time.sleep(0.001)

            assert await Foreign(block, name="x", strays=strays).wait(20)
        assert [host.watchdog.slow["x"] for host in running if host.watchdog] == [1] * hosts
    finally:
        for host in reversed(running):
            await host.stop()
    assert "innkeeper watchdog" not in {thread.name for thread in threading.enumerate()}
