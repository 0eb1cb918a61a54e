"""Push configurations as callers use them: the official client over a real socket, in both bindings, with tokens."""

import uuid
from contextlib import asynccontextmanager

import httpx
import pytest
from a2a.client import ClientConfig, create_client
from a2a.types import (
    AuthenticationInfo,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest,
    TaskPushNotificationConfig,
)
from a2a.utils.errors import InvalidParamsError, TaskNotFoundError
from livehost import innkeeper, running_host
from sending import sending, sent

pytestmark = pytest.mark.anyio

NOBODYS = "00000000-0000-4000-8000-000000000000"
BINDINGS = ["JSONRPC", "HTTP+JSON"]
HOOK = "http://127.0.0.1:9000/hook"
TABLES = '[auth]\nmode = "token"\n[push]\nenabled = true\nallow_loopback_http = true\n[tenants]\n' + "".join(
    f"{tenant} = {{ use = [] }}\n" for tenant in ("hello", "echo")
)


@pytest.fixture(scope="module")
def pushing(plugins, tmp_path_factory):
    """A settings file of a host that takes webhooks on loopback, and the tokens of ann and bob."""
    path = tmp_path_factory.mktemp("pushing") / "innkeeper.toml"
    path.write_text(f'[host]\nbind = ["127.0.0.1:0"]\n{TABLES}')
    assert innkeeper("keys", "new", plugins=plugins, cwd=path.parent).returncode == 0

    def token(caller):
        arguments = ("create", "--caller", caller, "--tenant", "hello", "--tenant", "echo")
        return innkeeper("token", *arguments, plugins=plugins, cwd=path.parent).stdout.strip()

    return path, {caller: token(caller) for caller in ("ann", "bob")}


@pytest.fixture(scope="module")
def host(pushing, plugins):
    with running_host(pushing[0], plugins) as host:
        yield host


@pytest.fixture
def reaching(pushing):
    """Open an HTTP client that comes in as a caller."""

    def opened(caller):
        return httpx.AsyncClient(headers={"authorization": f"Bearer {pushing[1][caller]}"}, timeout=30, trust_env=False)

    return opened


@pytest.fixture
def client_of(reaching):
    """Open the official client as a caller."""

    @asynccontextmanager
    async def opened(agent, binding="JSONRPC", caller="ann"):
        async with reaching(caller) as http:
            config = ClientConfig(streaming=False, httpx_client=http, supported_protocol_bindings=[binding])
            yield await create_client(agent, config, resolver_http_kwargs={"headers": dict(http.headers)})

    return opened


def config(task_id="", config_id="", url=HOOK):
    secrets = AuthenticationInfo(scheme="Bearer", credentials="s3cret-credentials")
    return TaskPushNotificationConfig(
        task_id=task_id, id=config_id, url=url, token="s3cret-token", authentication=secrets
    )


async def ids(client, task_id):
    request = ListTaskPushNotificationConfigsRequest(task_id=task_id)
    return [each.id for each in (await client.list_task_push_notification_configs(request)).configs]


@pytest.mark.parametrize("binding", BINDINGS)
async def test_configs_are_made_read_listed_and_forgotten(host, client_of, binding):
    async with client_of(host.agent("hello"), binding) as client:
        task = await sent(client, sending("Ada"))
        for name in ("b", "a", "a", "c"):
            made = await client.create_task_push_notification_config(config(task.id, name))
        assert (made.id, made.task_id, made.url, made.authentication.scheme) == ("c", task.id, HOOK, "Bearer")
        assert (made.token, made.authentication.credentials) == ("", "")
        assert made == await client.get_task_push_notification_config(
            GetTaskPushNotificationConfigRequest(task_id=task.id, id="c")
        )
        query = ListTaskPushNotificationConfigsRequest(task_id=task.id, page_size=2)
        first = await client.list_task_push_notification_configs(query)
        query.page_token = first.next_page_token
        second = await client.list_task_push_notification_configs(query)
        assert [[each.id for each in page.configs] for page in (first, second)] == [["a", "b"], ["c"]]
        assert second.next_page_token == ""
        for _ in range(2):
            await client.delete_task_push_notification_config(
                DeleteTaskPushNotificationConfigRequest(task_id=task.id, id="b")
            )
        assert await ids(client, task.id) == ["a", "c"]
        with pytest.raises(TaskNotFoundError):
            await client.get_task_push_notification_config(
                GetTaskPushNotificationConfigRequest(task_id=task.id, id="b")
            )


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_message_brings_its_config(host, client_of, binding):
    async with client_of(host.agent("hello"), binding) as client:
        request = sending("Ada")
        request.configuration.task_push_notification_config.CopyFrom(config())
        task = await sent(client, request)
        assert await ids(client, task.id) == [task.id]
        request = sending("Bob")
        request.configuration.task_push_notification_config.CopyFrom(config(url="https://10.0.0.1/"))
        with pytest.raises(InvalidParamsError, match=r"configuration\.taskPushNotificationConfig\.url leads to"):
            await sent(client, request)


BAD_URLS = [
    "", "/x", "ftp://127.0.0.1/", "http://10.0.0.1/", "http://2130706433/", "http://0x7f.1/", "http://127.1/",
    "http://u:p@127.0.0.1/", "http://127.0.0.1:22/", "https://[::ffff:10.0.0.1]/", "https://[64:ff9b::a00:1]/",
    "https://100.64.0.1/", "https://169.254.169.254/", "https://0.0.0.0/", "http://localhost./", "https://[fe80::1]/",
]  # fmt: skip


@pytest.mark.parametrize("binding", BINDINGS)
async def test_urls_that_lead_inside_are_refused(host, client_of, binding):
    async with client_of(host.agent("hello"), binding) as client:
        task = await sent(client, sending("Ada"))
        for url in BAD_URLS:
            with pytest.raises(InvalidParamsError, match="url"):
                await client.create_task_push_notification_config(config(task.id, url=url))
        assert await ids(client, task.id) == []


OPERATIONS = {
    "Create": ("POST", "", {"url": HOOK}),
    "Create with a bad url": ("POST", "", {"url": "https://10.0.0.1/"}),
    "Get": ("GET", "/p", None),
    "List": ("GET", "", None),
    "Delete": ("DELETE", "/p", None),
}


@pytest.mark.parametrize(("caller", "tenant"), [("bob", "hello"), ("ann", "echo")])
async def test_configs_of_anothers_task_are_as_those_of_a_task_that_never_was(
    host, client_of, reaching, caller, tenant
):
    async with client_of(host.agent("hello")) as client:
        task = await sent(client, sending("mine"))
        await client.create_task_push_notification_config(config(task.id, "p"))
        async with reaching(caller) as http:
            for name, (method, path, body) in OPERATIONS.items():
                answers = []
                for task_id in (task.id, NOBODYS):
                    where = f"{host.agent(tenant)}/tasks/{task_id}/pushNotificationConfigs{path}"
                    plain = await http.request(method, where, json=body)
                    rpc_method = f"{name.split()[0]}TaskPushNotificationConfig{'s' * (name == 'List')}"
                    params = {"taskId": task_id, "id": "p", **(body or {})}
                    request = {"jsonrpc": "2.0", "id": 1, "method": rpc_method, "params": params}
                    rpc = await http.post(host.agent(tenant), json=request)
                    assert (plain.status_code, rpc.json()["error"]["code"]) == (404, -32001), name
                    answers.append((plain.content, rpc.content))
                assert answers[0] == answers[1]
        assert await ids(client, task.id) == ["p"]


def test_configs_outlive_the_host_and_their_secrets_are_told_to_nobody(pushing, plugins):
    path = pushing[0].with_name("again.toml")
    path.write_text(f'[host]\nbind = ["127.0.0.1:0"]\ndata_dir = "again"\nlog_level = "debug"\n{TABLES}')
    arguments = ("token", "create", "--config", path, "--caller", "ann", "--operator")
    token = innkeeper(*arguments, plugins=plugins, cwd=path.parent).stdout.strip()
    told = []
    headers = {"authorization": f"Bearer {token}"}
    task = None
    for _ in range(2):
        with running_host(path, plugins) as host, httpx.Client(headers=headers, timeout=30, trust_env=False) as http:
            if task is None:
                message = {"messageId": str(uuid.uuid4()), "role": "ROLE_USER", "parts": [{"text": "hi"}]}
                wanted = {"url": HOOK, "token": "s3cret-token", "id": "p"}
                wanted["authentication"] = {"scheme": "Bearer", "credentials": "s3cret-credentials"}
                body = {"message": message, "configuration": {"taskPushNotificationConfig": wanted}}
                answer = http.post(f"{host.agent('hello')}/message:send", json=body)
                task = answer.json()["task"]["id"]
                told.append(answer.text)
            for place in (f"/{task}/pushNotificationConfigs", f"/{task}/pushNotificationConfigs/p", f"/{task}", ""):
                answer = http.get(f"{host.agent('hello')}/tasks{place}")
                assert answer.status_code == 200
                told.append(answer.text)
            told.append(http.get(f"{host.url}/plugins.json").text)
        told.append(host.said())
    assert HOOK in told[-6]
    assert not any("s3cret" in each for each in told)
