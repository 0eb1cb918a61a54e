"""Gates that are installed plugins decide about a turn, and cannot harm it."""

import pytest
from a2a.types import GetTaskRequest, TaskState
from sending import sending, sent, text_of

pytestmark = pytest.mark.anyio


async def test_a_message_that_the_doorkeeper_declines_completes_in_silence_and_runs_no_handler(host, client_of, runs):
    async with client_of(host.agent("guarded"), streaming=False) as client:
        task = await sent(client, sending("psst, a whisper"))
        stored = await client.get_task(GetTaskRequest(id=task.id))
    for seen in (task, stored):
        assert seen.status.state == TaskState.TASK_STATE_COMPLETED
        assert not seen.status.HasField("message")
        assert not seen.artifacts
        assert [text_of(message.parts) for message in seen.history] == ["psst, a whisper"]
    assert task.id not in runs()


async def test_a_declined_stream_ends_with_completed_and_not_a_word(host, client_of, runs):
    async with client_of(host.agent("guarded")) as client:
        responses = [response async for response in client.send_message(sending("psst"))]
    assert responses[0].task.status.state == TaskState.TASK_STATE_SUBMITTED
    assert [found.status_update.status.state for found in responses[1:]] == [TaskState.TASK_STATE_COMPLETED]
    assert not responses[-1].status_update.status.HasField("message")
    assert responses[0].task.id not in runs()


async def test_a_message_that_the_doorkeeper_admits_is_handled(host, client_of, runs):
    async with client_of(host.agent("guarded"), streaming=False) as client:
        task = await sent(client, sending("aloud"))
    assert text_of(task.status.message.parts) == "attempt 1"
    assert runs().count(task.id) == 1


async def test_gates_that_raise_and_hang_are_survived_and_the_turn_runs(host, client_of, runs):
    async with client_of(host.agent("besieged"), streaming=False) as client:
        task = await sent(client, sending("let me in"))
    assert task.status.state == TaskState.TASK_STATE_COMPLETED
    assert runs().count(task.id) == 1
    said = host.said()
    for plugin in ("raises-now", "raises-later", "hangs", "ignores-cancel"):
        assert plugin in said, f"{plugin} was not charged with its failure"


async def test_one_gates_no_counts_among_gates_that_raise_and_hang(host, client_of, runs):
    async with client_of(host.agent("besieged"), streaming=False) as client:
        task = await sent(client, sending("no-entry"))
    assert task.status.state == TaskState.TASK_STATE_COMPLETED
    assert not task.status.HasField("message")
    assert task.id not in runs()
