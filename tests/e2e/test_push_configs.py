"""Push configurations as callers use them: the official client over a real socket, in both bindings, with tokens."""

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

BINDINGS = ["JSONRPC", "HTTP+JSON"]
HOOK = "http://127.0.0.1:9000/hook"
TABLES = '[auth]\nmode = "token"\n[push]\nenabled = true\nallow_loopback_http = true\n[tenants]\n' + "".join(
    f"{tenant} = {{ use = [] }}\n" for tenant in ("hello", "echo")
)


@pytest.fixture(scope="module")
def pushing(plugins, tmp_path_factory):
    """A settings file of a host that takes webhooks on loopback, and a token for it."""
    path = tmp_path_factory.mktemp("pushing") / "innkeeper.toml"
    path.write_text(f'[host]\nbind = ["127.0.0.1:0"]\n{TABLES}')
    assert innkeeper("keys", "new", plugins=plugins, cwd=path.parent).returncode == 0

    arguments = ("create", "--caller", "ann", "--operator")
    return path, innkeeper("token", *arguments, plugins=plugins, cwd=path.parent).stdout.strip()


@pytest.fixture(scope="module")
def host(pushing, plugins):
    with running_host(pushing[0], plugins) as host:
        yield host


@pytest.fixture
def client_of(pushing):
    """Open the official client with the token."""

    @asynccontextmanager
    async def opened(agent, binding):
        headers = {"authorization": f"Bearer {pushing[1]}"}
        async with httpx.AsyncClient(headers=headers, timeout=30, trust_env=False) as http:
            config = ClientConfig(streaming=False, httpx_client=http, supported_protocol_bindings=[binding])
            yield await create_client(agent, config)

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


def test_configs_outlive_the_host_and_their_secrets_are_told_to_nobody(pushing, plugins):
    path = pushing[0].with_name("again.toml")
    text = pushing[0].read_text().replace("[host]", '[host]\ndata_dir = "again"\nlog_level = "debug"')
    path.write_text(text)
    arguments = ("token", "create", "--config", path, "--caller", "ann", "--operator")
    token = innkeeper(*arguments, plugins=plugins, cwd=path.parent).stdout.strip()
    message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}
    authentication = {"scheme": "Bearer", "credentials": "s3cret-credentials"}
    hook = {"url": HOOK, "token": "s3cret-token", "id": "p", "authentication": authentication}
    told = []
    for _ in range(2):
        with (
            running_host(path, plugins) as host,
            httpx.Client(headers={"authorization": f"Bearer {token}"}, timeout=30, trust_env=False) as http,
        ):
            tasks = f"{host.agent('hello')}/tasks"
            if not told:
                body = {"message": message, "configuration": {"taskPushNotificationConfig": hook}}
                answer = http.post(f"{host.agent('hello')}/message:send", json=body)
                configs = f"/{answer.json()['task']['id']}/pushNotificationConfigs"
            got = http.get(f"{tasks}{configs}/p")
            assert (got.json()["url"], got.json()["authentication"]) == (HOOK, {"scheme": "Bearer"})
            pages = [tasks, f"{tasks}{configs}", f"{host.url}/plugins.json"]
            told += [answer.text, got.text, *(http.get(page).text for page in pages), host.said()]
    assert not any("s3cret" in each for each in told)
