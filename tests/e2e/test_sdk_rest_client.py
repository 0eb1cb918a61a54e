"""The official a2a-sdk client over HTTP+JSON against a live host: each operation once, and what is refused."""

import uuid
from functools import partial

import httpx
import pytest
from a2a.types import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Message,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.errors import (
    InvalidParamsError,
    PushNotificationNotSupportedError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from sending import sending, sent, text_of

pytestmark = pytest.mark.anyio

NOBODYS = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def rest_client_of(client_of):
    return partial(client_of, binding="HTTP+JSON")


async def test_a_blocking_send_answers_with_the_completed_task(host, rest_client_of):
    async with rest_client_of(host.agent("hello"), streaming=False) as client:
        task = await sent(client, sending("Ada"))
    assert task.status.state == TaskState.TASK_STATE_COMPLETED
    assert text_of(task.status.message.parts) == "Hello, Ada"


async def test_a_stream_tells_the_whole_turn_in_order(host, rest_client_of):
    async with rest_client_of(host.agent("flood")) as client:
        responses = [response async for response in client.send_message(sending("3"))]
    assert responses[0].task.status.state == TaskState.TASK_STATE_SUBMITTED
    states = [found.status_update.status.state for found in responses if found.HasField("status_update")]
    assert states == [TaskState.TASK_STATE_WORKING, TaskState.TASK_STATE_COMPLETED]
    pieces = [found.artifact_update for found in responses if found.HasField("artifact_update")]
    streamed = "".join(text_of(piece.artifact.parts) for piece in pieces)
    assert streamed
    assert streamed == text_of(responses[-1].status_update.status.message.parts)


async def test_a_task_is_read_with_as_much_history_as_asked(host, rest_client_of):
    async with rest_client_of(host.agent("echo"), streaming=False) as client:
        task = await sent(client, sending("remember me"))
        whole = await client.get_task(GetTaskRequest(id=task.id))
        bare = await client.get_task(GetTaskRequest(id=task.id, history_length=0))
    assert text_of(whole.history[0].parts) == "remember me"
    assert (bare.id, len(bare.history)) == (task.id, 0)


async def test_a_list_is_read_page_by_page(host, rest_client_of):
    context_id = str(uuid.uuid4())
    async with rest_client_of(host.agent("echo"), streaming=False) as client:
        ids = {(await sent(client, sending(word, context_id=context_id))).id for word in ("one", "two", "three")}
        query = ListTasksRequest(
            context_id=context_id, page_size=2, status=TaskState.TASK_STATE_COMPLETED, include_artifacts=True
        )
        query.status_timestamp_after.FromJsonString("2020-01-01T00:00:00Z")
        first = await client.list_tasks(query)
        query.page_token = first.next_page_token
        second = await client.list_tasks(query)
    assert [len(first.tasks), len(second.tasks), first.total_size] == [2, 1, 3]
    assert {task.id for page in (first, second) for task in page.tasks} == ids
    assert not second.next_page_token


async def test_cancel_ends_a_running_task_for_good(host, rest_client_of):
    async with rest_client_of(host.agent("waits"), streaming=False) as client:
        running = await sent(client, sending("go", return_immediately=True))
        canceled = await client.cancel_task(CancelTaskRequest(id=running.id))
        got = await client.get_task(GetTaskRequest(id=running.id))
    assert [task.status.state for task in (canceled, got)] == [TaskState.TASK_STATE_CANCELED] * 2


async def test_a_completed_task_is_not_canceled(host, rest_client_of):
    async with rest_client_of(host.agent("echo"), streaming=False) as client:
        task = await sent(client, sending("done"))
        with pytest.raises(TaskNotCancelableError):
            await client.cancel_task(CancelTaskRequest(id=task.id))


async def test_subscribe_starts_with_a_snapshot_and_ends_with_the_task(host, rest_client_of):
    async with rest_client_of(host.agent("waits"), streaming=False) as client:
        running = await sent(client, sending("go", return_immediately=True))
    async with rest_client_of(host.agent("waits")) as client:
        responses = []
        async for response in client.subscribe(SubscribeToTaskRequest(id=running.id)):
            if not responses:
                await client.cancel_task(CancelTaskRequest(id=running.id))
            responses.append(response)
        with pytest.raises(UnsupportedOperationError):
            _ = [response async for response in client.subscribe(SubscribeToTaskRequest(id=running.id))]
    assert responses[0].task.id == running.id
    assert responses[-1].status_update.status.state == TaskState.TASK_STATE_CANCELED


async def test_the_extended_card_is_the_tenants_and_tells_of_the_binding(host, rest_client_of):
    async with rest_client_of(host.agent("hello")) as client:
        card = await client.get_extended_agent_card(GetExtendedAgentCardRequest())
    assert (card.name, len(card.signatures)) == ("hello", 1)
    interfaces = [(interface.protocol_binding, interface.url) for interface in card.supported_interfaces]
    assert interfaces == [("JSONRPC", host.agent("hello")), ("HTTP+JSON", host.agent("hello"))]


async def test_a_client_of_the_origin_names_the_tenant(host, rest_client_of):
    async with rest_client_of(host.url, streaming=False) as client:
        request = sending("Ada")
        request.tenant = "hello"
        task = await sent(client, request)
        got = await client.get_task(GetTaskRequest(id=task.id, tenant="hello"))
    assert text_of(got.status.message.parts) == "Hello, Ada"


async def test_a_card_with_the_tenant_on_it_is_enough(host, client_of, rest_client_of):
    async with client_of(host.url) as client:
        card = await client.get_extended_agent_card(GetExtendedAgentCardRequest(tenant="hello"))
    assert {interface.tenant for interface in card.supported_interfaces} == {"hello"}
    async with rest_client_of(card, streaming=False) as client:
        task = await sent(client, sending("Ada"))
        got = await client.get_task(GetTaskRequest(id=task.id))
    assert text_of(got.status.message.parts) == "Hello, Ada"


async def test_a_task_that_never_was_is_not_found(host, rest_client_of):
    async with rest_client_of(host.agent("echo")) as client:
        with pytest.raises(TaskNotFoundError):
            await client.get_task(GetTaskRequest(id=NOBODYS))
        with pytest.raises(TaskNotFoundError):
            await client.cancel_task(CancelTaskRequest(id=NOBODYS))
        with pytest.raises(TaskNotFoundError):
            _ = [response async for response in client.subscribe(SubscribeToTaskRequest(id=NOBODYS))]


@pytest.mark.parametrize("streaming", [True, False])
async def test_wrong_input_is_told_by_name(host, rest_client_of, streaming):
    async with rest_client_of(host.agent("echo"), streaming=streaming) as client:
        with pytest.raises(InvalidParamsError, match=r"message\.messageId"):
            _ = [found async for found in client.send_message(SendMessageRequest(message=Message()))]
        with pytest.raises(InvalidParamsError, match="pageSize"):
            await client.list_tasks(ListTasksRequest(page_size=1000))
        with pytest.raises(InvalidParamsError, match="historyLength"):
            await client.get_task(GetTaskRequest(id=NOBODYS, history_length=-1))


async def test_push_configurations_are_refused(host, rest_client_of):
    config = TaskPushNotificationConfig(task_id=NOBODYS, url="https://hooks.example/x")
    async with rest_client_of(host.agent("echo")) as client:
        for operation, request in (
            (client.create_task_push_notification_config, config),
            (client.get_task_push_notification_config, GetTaskPushNotificationConfigRequest(task_id=NOBODYS, id="p")),
            (client.list_task_push_notification_configs, ListTaskPushNotificationConfigsRequest(task_id=NOBODYS)),
            (
                client.delete_task_push_notification_config,
                DeleteTaskPushNotificationConfigRequest(task_id=NOBODYS, id="p"),
            ),
        ):
            with pytest.raises(PushNotificationNotSupportedError):
                await operation(request)


@pytest.mark.parametrize(("method", "path"), [("GET", ""), ("POST", ":cancel"), ("POST", ":subscribe")])
async def test_anothers_task_looks_like_one_that_never_was_byte_for_byte(host, rest_client_of, method, path):
    async with rest_client_of(host.agent("waits"), streaming=False) as client:
        foreign = (await sent(client, sending("mine", return_immediately=True))).id
        async with httpx.AsyncClient(trust_env=False) as http:
            tasks = f"{host.agent('echo')}/tasks"
            answers = [await http.request(method, f"{tasks}/{task_id}{path}") for task_id in (foreign, NOBODYS)]
        canceled = await client.cancel_task(CancelTaskRequest(id=foreign))
    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].content == answers[1].content
    headers = [{name: value for name, value in answer.headers.items() if name != "date"} for answer in answers]
    assert headers[0] == headers[1]
    assert canceled.status.state == TaskState.TASK_STATE_CANCELED


async def test_head_on_a_stream_is_answered_by_headers_alone(host, rest_client_of):
    async with rest_client_of(host.agent("waits"), streaming=False) as client:
        running = await sent(client, sending("go", return_immediately=True))
        async with httpx.AsyncClient(trust_env=False) as http:
            headed = await http.head(f"{host.agent('waits')}/tasks/{running.id}:subscribe")
            again = await http.get(f"{host.agent('waits')}/tasks/{running.id}")
        await client.cancel_task(CancelTaskRequest(id=running.id))
    assert (headed.status_code, headed.headers["content-type"]) == (200, "text/event-stream")
    assert again.json()["id"] == running.id
