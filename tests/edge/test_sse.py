"""Streams: what is sent, how they end, and that nobody holds them up."""

import json

import anyio
import pytest

from innkeeper.contract.errors import Unavailable
from innkeeper.edge.app import Limits
from innkeeper.ports.events import State

pytestmark = pytest.mark.anyio

SEND = {"message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "hi"}]}}
RPC = {"jsonrpc": "2.0", "id": 7, "params": {"id": "t1", **SEND}}


def events(body):
    """Parse a finished stream: each event as (id, response)."""
    parsed = []
    for block in body.decode().split("\n\n")[:-1]:
        if not block.startswith(":"):
            fields = dict(line.split(": ", 1) for line in block.split("\n"))
            parsed.append((fields.get("id"), json.loads(fields["data"])))
    return parsed


def numbers(body):
    return [number for number, _ in events(body)]


@pytest.fixture
def start(open_wire, make_edge, message):
    """Open a wire with a SendStreamingMessage on it."""

    def start_one(**limits):
        wire = open_wire(app=make_edge(limits=Limits(**limits)))
        wire.call("SendStreamingMessage", message())
        return wire

    return start_one


@pytest.fixture
def streaming(start):
    return start()


# --- what is sent -----------------------------------------------------------------------------------------------------


async def test_a_new_task_is_streamed_from_its_first_event(streaming, engine, new_watch, committed):
    engine.watch_next = new_watch(committed(1), committed(2), committed(3, State.COMPLETED))
    await streaming.run()
    assert streaming.status == 200
    assert streaming.headers == {
        b"content-type": b"text/event-stream",
        b"cache-control": b"no-store",
        b"x-accel-buffering": b"no",
    }
    assert streaming.sent[1]["body"] == (
        b'id: t1:1\ndata: {"jsonrpc":"2.0","id":7,"result":{"statusUpdate":{"n":1}}}\n\n'
    )
    assert numbers(streaming.body) == ["t1:1", "t1:2", "t1:3"]
    assert streaming.ended
    assert engine.names == ["submit_and_watch"]
    assert engine.watch_next.closed


async def test_a_task_that_had_events_starts_with_a_snapshot_and_goes_on_without_gap_or_repeat(
    streaming, engine, new_watch, committed
):
    engine.add("t1", State.WORKING, seq=3)
    engine.watch_next = new_watch(*map(committed, range(2, 7)), from_start=False)
    await streaming.run()
    assert numbers(streaming.body) == ["t1:3", "t1:4", "t1:5", "t1:6"]
    snapshot = events(streaming.body)[0][1]["result"]["task"]
    assert (snapshot["id"], snapshot["status"]["state"]) == ("t1", "TASK_STATE_WORKING")
    assert engine.names == ["submit_and_watch", "find"]


async def test_subscribing_starts_with_a_snapshot_that_was_read_after_the_watch_began(
    open_wire, engine, new_watch, committed
):
    engine.add("t1", State.WORKING, seq=1)
    engine.watch_next = new_watch(committed(2), committed(3, State.COMPLETED), from_start=False)
    wire = open_wire()
    wire.call("SubscribeToTask", {"id": "t1"})
    await wire.run()
    assert engine.names == ["watch", "find"]
    assert numbers(wire.body) == ["t1:1", "t1:2", "t1:3"]
    assert engine.watch_next.closed


async def test_a_task_that_waits_for_its_caller_is_followed_until_it_ends(open_wire, engine, new_watch, committed):
    engine.add("t1", State.INPUT_REQUIRED, seq=4)
    engine.watch_next = new_watch(from_start=False, finished=False)
    wire = open_wire()
    wire.call("SubscribeToTask", {"id": "t1"})
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wire.run)
        await wire.until(lambda wire: b"id: t1:4" in wire.body)
        assert not wire.ended
        engine.watch_next.push(committed(5))
        engine.watch_next.push(committed(6, State.COMPLETED))
        engine.watch_next.finish()
    assert numbers(wire.body) == ["t1:4", "t1:5", "t1:6"]
    assert wire.ended


READERS = {
    "subscribes": ("/agents/hello/tasks/t1:subscribe", b""),
    "sends again": ("/agents/hello/message:stream", json.dumps(SEND).encode()),
    "subscribes by JSON-RPC": ("/agents/hello", json.dumps(RPC | {"method": "SubscribeToTask"}).encode()),
    "sends again by JSON-RPC": ("/agents/hello", json.dumps(RPC | {"method": "SendStreamingMessage"}).encode()),
}


@pytest.fixture(params=READERS.values(), ids=READERS)
def reading(request, open_wire, engine, new_watch):
    """Come back to a task that has come to event 5, with what was seen last."""
    engine.add("t1", State.WORKING, seq=5)
    engine.watch_next = new_watch(from_start=False, finished=False)
    path, body = request.param

    def come_back(*seen):
        wire = open_wire(path)
        wire.scope["headers"] += [(b"last-event-id", each.encode()) for each in seen]
        wire.say(body)
        return wire

    return come_back


async def test_a_reader_who_comes_back_gets_what_it_has_not_seen_and_no_snapshot(reading, engine, committed):
    wire = reading("t1:3")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wire.run)
        await wire.until(lambda wire: wire.status == 200)  # before there is anything to say
        for number in (4, 5):
            engine.watch_next.push(committed(number))
        engine.watch_next.finish()
    assert numbers(wire.body) == ["t1:4", "t1:5"]
    assert engine.watch_next.place == (3, 5)
    assert engine.watch_next.closed


@pytest.mark.parametrize("state", [State.COMPLETED, State.FAILED, State.CANCELED, State.REJECTED])
async def test_a_reader_who_comes_back_to_a_task_that_has_ended_gets_the_rest_and_the_end(reading, engine, state):
    engine.add("t1", state, seq=5)
    wire = reading("t1:5")
    await wire.run()
    assert (wire.status, wire.body, wire.ended) == (200, b"", True)
    assert engine.watch_next.place == (5, 5)


@pytest.mark.parametrize(
    "seen",
    [
        *(("t1:6",), ("t1:0",), ("t1:-1",), ("t1:+1",), ("t1:",), ("t1:x",), ("t1:1e0",), ("t1:" + "9" * 30,)),
        *(("t2:3",), ("3",), ("",), (":3",), ("t1:t1:3",), ("t1:3", "t1:4")),
    ],
)
async def test_what_is_no_event_of_the_task_is_as_if_nothing_had_been_said(reading, engine, committed, seen):
    wire = reading(*seen)
    engine.watch_next.push(committed(6))
    engine.watch_next.finish()
    await wire.run()
    assert numbers(wire.body) == ["t1:5", "t1:6"]
    assert engine.watch_next.place is None


@pytest.mark.parametrize("state", [State.COMPLETED, State.FAILED, State.CANCELED, State.REJECTED])
async def test_a_task_that_has_ended_cannot_be_subscribed_to(rpc, engine, new_watch, state):
    engine.add("t1", state)
    engine.watch_next = new_watch(from_start=False)
    assert (await rpc("SubscribeToTask", {"id": "t1"}))["error"]["code"] == -32004
    assert engine.watch_next.closed


async def test_a_strangers_task_is_not_found_and_no_watch_stays(rpc, engine, new_watch):
    engine.watch_next = new_watch(from_start=False)
    assert (await rpc("SubscribeToTask", {"id": "other"}))["error"]["code"] == -32001
    assert engine.watch_next.closed


@pytest.mark.parametrize("method", ["SendStreamingMessage", "SubscribeToTask"])
async def test_an_agent_that_does_not_stream_says_so(rpc, engine, message, method):
    answer = await rpc(method, message() | {"id": "t1"}, path="/agents/mute")
    assert answer["error"]["code"] == -32004
    assert engine.calls == []


# --- what goes wrong --------------------------------------------------------------------------------------------------


async def test_a_stream_that_ends_before_it_began_is_unavailable(streaming, engine, new_watch):
    engine.watch_next = new_watch()
    await streaming.run()
    assert streaming.status == 503
    assert engine.watch_next.closed


async def test_what_breaks_before_the_first_event_is_a_plain_error(streaming, engine, new_watch, caplog):
    engine.watch_next = new_watch(finished=False)
    engine.watch_next.push(RuntimeError("sk-secret"))
    await streaming.run()
    assert (streaming.status, streaming.headers[b"content-type"]) == (200, b"application/json")
    assert json.loads(streaming.body)["error"]["code"] == -32603
    assert b"sk-secret" not in streaming.body
    assert caplog.text.count("RuntimeError: sk-secret") == 1
    assert engine.watch_next.closed


@pytest.mark.parametrize("error", [RuntimeError("sk-secret"), Unavailable("The store is gone")])
async def test_what_breaks_later_is_the_last_event(streaming, engine, new_watch, committed, error):
    engine.watch_next = new_watch(committed(1), finished=False)
    engine.watch_next.push(error)
    await streaming.run()
    (first, _), (number, last) = events(streaming.body)
    assert (first, number, last["id"], last["error"]["code"]) == ("t1:1", None, 7, -32603)
    assert b"sk-secret" not in streaming.body
    assert streaming.ended
    assert engine.watch_next.closed


async def test_a_client_that_leaves_ends_the_stream_and_its_watch_only(streaming, engine, new_watch, committed):
    engine.watch_next = new_watch(committed(1), finished=False)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(streaming.run)
        await streaming.until(lambda wire: len(wire.sent) == 2)
        assert not engine.watch_next.closed
        streaming.leave()
    assert engine.watch_next.closed
    assert not streaming.ended
    assert engine.names == ["submit_and_watch"]


async def test_a_client_that_leaves_is_noticed_while_events_come_without_a_pause(
    streaming, engine, new_watch, committed
):
    engine.watch_next = new_watch(*map(committed, range(1, 10_001)))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(streaming.run)
        await streaming.until(lambda wire: len(wire.sent) == 10)
        streaming.leave()
    assert engine.watch_next.closed
    assert engine.watch_next.delivered < 100


async def test_a_client_that_takes_nothing_is_cut_off(start, engine, new_watch, committed):
    wire = start(write_seconds=0.05)
    wire.reads = False
    engine.watch_next = new_watch(committed(1), finished=False)
    with anyio.fail_after(5):
        await wire.run()
    assert engine.watch_next.closed
    assert not wire.ended


async def test_a_client_that_takes_nothing_more_is_found_out_by_a_ping(start, engine, new_watch, committed):
    wire = start(ping_seconds=0.05, write_seconds=0.05)
    engine.watch_next = new_watch(committed(1), finished=False)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wire.run)
        await wire.until(lambda wire: len(wire.sent) >= 2)
        wire.reads = False
    assert engine.watch_next.closed


async def test_a_quiet_stream_is_pinged(start, engine, new_watch, committed):
    wire = start(ping_seconds=0.02)
    engine.watch_next = new_watch(committed(1), finished=False)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wire.run)
        await wire.until(lambda wire: wire.body.count(b": ping\n\n") >= 2)
        engine.watch_next.push(committed(2, State.COMPLETED))
        engine.watch_next.finish()
    assert numbers(wire.body) == ["t1:1", "t1:2"]
    assert wire.ended


async def test_a_host_that_stops_ends_its_streams_properly(streaming, engine, new_watch, committed):
    engine.watch_next = new_watch(committed(1), finished=False)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(streaming.run)
        await streaming.until(lambda wire: len(wire.sent) == 2)
        engine.watch_next.finish()
    assert streaming.ended
    assert numbers(streaming.body) == ["t1:1"]
