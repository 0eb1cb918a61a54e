"""The official a2a-sdk client against a live host: each operation once, over a real socket."""

import json
import urllib.request
import uuid

import httpx
import jwt
import pytest
from a2a.client.card_resolver import A2ACardResolver
from a2a.types import (
    CancelTaskRequest,
    GetExtendedAgentCardRequest,
    GetTaskRequest,
    ListTasksRequest,
    SubscribeToTaskRequest,
    TaskState,
)
from a2a.utils.errors import TaskNotCancelableError, TaskNotFoundError, UnsupportedOperationError
from a2a.utils.signing import create_signature_verifier
from sending import sending, sent, text_of

pytestmark = pytest.mark.anyio


async def test_a_blocking_send_answers_with_the_completed_task(host, client_of):
    async with client_of(host.agent("hello"), streaming=False) as client:
        task = await sent(client, sending("Ada"))
    assert task.status.state == TaskState.TASK_STATE_COMPLETED
    assert text_of(task.status.message.parts) == "Hello, Ada"


async def test_a_stream_tells_the_whole_turn_in_order(host, client_of):
    async with client_of(host.agent("flood")) as client:
        responses = [response async for response in client.send_message(sending("3"))]
    assert responses[0].task.status.state == TaskState.TASK_STATE_SUBMITTED
    states = [found.status_update.status.state for found in responses if found.HasField("status_update")]
    assert states == [TaskState.TASK_STATE_WORKING, TaskState.TASK_STATE_COMPLETED]
    pieces = [found.artifact_update for found in responses if found.HasField("artifact_update")]
    streamed = "".join(text_of(piece.artifact.parts) for piece in pieces)
    assert streamed
    assert streamed == text_of(responses[-1].status_update.status.message.parts)


async def test_a_task_is_found_again_by_get_and_list(host, client_of):
    context_id = str(uuid.uuid4())
    async with client_of(host.agent("echo"), streaming=False) as client:
        task = await sent(client, sending("remember me", context_id=context_id))
        got = await client.get_task(GetTaskRequest(id=task.id))
        listed = await client.list_tasks(ListTasksRequest(context_id=context_id))
    assert got.id == task.id
    assert got.context_id == context_id
    assert got.status.state == TaskState.TASK_STATE_COMPLETED
    assert text_of(got.history[0].parts) == "remember me"
    assert [found.id for found in listed.tasks] == [task.id]
    assert listed.total_size == 1


async def test_another_tenant_does_not_know_the_task(host, client_of):
    async with client_of(host.agent("echo"), streaming=False) as client:
        task = await sent(client, sending("mine"))
    async with client_of(host.agent("hello")) as other:
        with pytest.raises(TaskNotFoundError):
            await other.get_task(GetTaskRequest(id=task.id))


async def test_a_second_message_finds_the_conversation(host, client_of):
    async with client_of(host.agent("echo"), streaming=False) as client:
        first = await sent(client, sending("one"))
        second = await sent(client, sending("two", context_id=first.context_id))
    assert second.context_id == first.context_id
    assert second.id != first.id


async def test_cancel_ends_a_running_task_for_good(host, client_of):
    async with client_of(host.agent("waits"), streaming=False) as client:
        running = await sent(client, sending("go", return_immediately=True))
        canceled = await client.cancel_task(CancelTaskRequest(id=running.id))
        again = await client.cancel_task(CancelTaskRequest(id=running.id))
        got = await client.get_task(GetTaskRequest(id=running.id))
    assert [task.status.state for task in (canceled, again, got)] == [TaskState.TASK_STATE_CANCELED] * 3


async def test_a_completed_task_is_not_canceled(host, client_of):
    async with client_of(host.agent("echo"), streaming=False) as client:
        task = await sent(client, sending("done"))
        with pytest.raises(TaskNotCancelableError):
            await client.cancel_task(CancelTaskRequest(id=task.id))


async def test_subscribe_starts_with_a_snapshot_and_ends_with_the_task(host, client_of):
    async with client_of(host.agent("waits"), streaming=False) as client:
        running = await sent(client, sending("go", return_immediately=True))
    async with client_of(host.agent("waits")) as client:
        responses = []
        async for response in client.subscribe(SubscribeToTaskRequest(id=running.id)):
            if not responses:
                await client.cancel_task(CancelTaskRequest(id=running.id))
            responses.append(response)
        with pytest.raises(UnsupportedOperationError):
            _ = [response async for response in client.subscribe(SubscribeToTaskRequest(id=running.id))]
    assert responses[0].task.id == running.id
    assert responses[-1].status_update.status.state == TaskState.TASK_STATE_CANCELED


def verifier(jwks_url: str):
    """Return a check of a card's signature against the key set that the host itself publishes."""

    def key_of(kid: str | None, jku: str | None) -> jwt.PyJWK:
        assert jku == jwks_url
        with urllib.request.urlopen(jku, timeout=10) as response:  # noqa: S310 - the loopback host of this test
            keys = {key["kid"]: key for key in json.load(response)["keys"]}
        assert "d" not in keys[kid]
        return jwt.PyJWK.from_dict(keys[kid], algorithm="EdDSA")

    return create_signature_verifier(key_of, ["EdDSA"])


async def test_the_extended_card_is_the_tenants_signed_card(host, client_of):
    verify = verifier(f"{host.url}/.well-known/jwks.json")
    async with client_of(host.agent("hello")) as client:
        card = await client.get_extended_agent_card(GetExtendedAgentCardRequest(), signature_verifier=verify)
    assert card.name == "hello"
    assert card.supported_interfaces[0].url == host.agent("hello")


@pytest.mark.parametrize("path", ["", "/agents/hello", "/agents/flood"])
async def test_every_served_card_verifies_against_the_served_key_set(host, path):
    async with httpx.AsyncClient(trust_env=False) as http:
        verify = verifier(f"{host.url}/.well-known/jwks.json")
        card = await A2ACardResolver(http, host.url + path).get_agent_card(signature_verifier=verify)
    assert card.signatures
