"""What is another's does not exist: every method over every binding, for another caller and at another tenant.

The answer about something of another's is that about something that never was, byte for byte.
"""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from livehost import innkeeper, running_host

from innkeeper.edge.methods import METHODS

AUTH = '[auth]\nmode = "token"\n'
TENANTS = '[tenants]\nhers = { agent = "asker", use = [] }\nother = { agent = "asker", use = [] }\n'


def message(**fields: Any) -> dict[str, Any]:
    return {"messageId": "the same each time", "role": "ROLE_USER", "parts": [{"text": "hi"}], **fields}


@dataclass(frozen=True)
class Known:
    """What somebody may have heard of: a task, its context, and a push notification config of it."""

    task: str
    context: str
    config: str


NAMES: Mapping[str, Callable[[Known], dict[str, Any]]] = {
    "SendMessage": lambda known: {"message": message(taskId=known.task)},
    "SendStreamingMessage": lambda known: {"message": message(taskId=known.task, contextId=known.context)},
    "GetTask": lambda known: {"id": known.task},
    "ListTasks": lambda known: {"contextId": known.context},
    "CancelTask": lambda known: {"id": known.task},
    "SubscribeToTask": lambda known: {"id": known.task},
    "CreateTaskPushNotificationConfig": lambda known: {
        "taskId": known.task,
        "id": known.config,
        "url": "https://hook.example/a",
    },
    "GetTaskPushNotificationConfig": lambda known: {"taskId": known.task, "id": known.config},
    "ListTaskPushNotificationConfigs": lambda known: {"taskId": known.task},
    "DeleteTaskPushNotificationConfig": lambda known: {"taskId": known.task, "id": known.config},
}
"""The methods that name something, and how."""

ROUTES: Mapping[str, tuple[str, str]] = {
    "SendMessage": ("POST", "/message:send"),
    "SendStreamingMessage": ("POST", "/message:stream"),
    "GetTask": ("GET", "/tasks/{id}"),
    "ListTasks": ("GET", "/tasks"),
    "CancelTask": ("POST", "/tasks/{id}:cancel"),
    "SubscribeToTask": ("GET", "/tasks/{id}:subscribe"),
    "CreateTaskPushNotificationConfig": ("POST", "/tasks/{taskId}/pushNotificationConfigs"),
    "GetTaskPushNotificationConfig": ("GET", "/tasks/{taskId}/pushNotificationConfigs/{id}"),
    "ListTaskPushNotificationConfigs": ("GET", "/tasks/{taskId}/pushNotificationConfigs"),
    "DeleteTaskPushNotificationConfig": ("DELETE", "/tasks/{taskId}/pushNotificationConfigs/{id}"),
}


def by_name(http: httpx.Client, tenant: str, method: str, params: dict[str, Any]) -> httpx.Response:
    body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": {"tenant": tenant, **params}}
    return http.post("/a2a", json=body)


def by_path(http: httpx.Client, tenant: str, method: str, params: dict[str, Any]) -> httpx.Response:
    return http.post(f"/agents/{tenant}", json={"jsonrpc": "2.0", "id": 7, "method": method, "params": params})


def by_rest(http: httpx.Client, tenant: str, method: str, params: dict[str, Any]) -> httpx.Response:
    verb, path = ROUTES[method]
    url = f"/agents/{tenant}" + path.format_map(params)
    if verb == "POST":
        return http.post(url, json=params)
    query = {name: value for name, value in params.items() if f"{{{name}}}" not in path}
    return http.request(verb, url, params=query)


BINDINGS = {"JSON-RPC at /a2a": by_name, "JSON-RPC at the tenant": by_path, "HTTP+JSON": by_rest}


@pytest.fixture(scope="module")
def host(plugins, tmp_path_factory):
    """A host that knows two callers: Ann, at both tenants, and Bob."""
    path = tmp_path_factory.mktemp("isolation") / "innkeeper.toml"
    path.write_text(f'[host]\nbind = ["127.0.0.1:0"]\n{AUTH}{TENANTS}')
    assert innkeeper("keys", "new", plugins=plugins, cwd=path.parent).returncode == 0
    with running_host(path, plugins) as host:
        yield host


@pytest.fixture(scope="module")
def knocking(host, plugins):
    """Open a client for each caller."""

    def of(caller: str) -> httpx.Client:
        tenants = ("--tenant", "hers", "--tenant", "other")
        made = innkeeper("token", "create", "--caller", caller, *tenants, plugins=plugins, cwd=host.errors.parent)
        headers = {"authorization": f"Bearer {made.stdout.strip()}", "a2a-version": "1.0"}
        return httpx.Client(base_url=host.url, headers=headers, timeout=30, trust_env=False)

    with of("ann") as ann, of("bob") as bob:
        yield {"ann": ann, "bob": bob}


@pytest.fixture(scope="module")
def hers(knocking) -> Known:
    """A task of Ann's that waits for her answer."""
    sent = by_path(knocking["ann"], "hers", "SendMessage", {"message": message(messageId=str(uuid.uuid4()))})
    task = sent.json()["result"]["task"]
    assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    config = {"taskId": task["id"], "id": "hook", "url": "https://hook.example/a"}
    by_path(knocking["ann"], "hers", "CreateTaskPushNotificationConfig", config)
    return Known(task["id"], task["contextId"], "hook")


def seen(response: httpx.Response, known: Known) -> tuple[int, list[tuple[str, str]], bytes]:
    """What an answer says, with the names of what was asked for left out."""
    body = response.content
    for name in (known.task, known.context):
        body = body.replace(name.encode(), b"<id>")
    return response.status_code, [header for header in response.headers.items() if header[0] != "date"], body


def test_every_method_that_names_something_is_in_the_table():
    assert set(NAMES) == set(ROUTES) == set(METHODS) - {"GetExtendedAgentCard"}


@pytest.mark.parametrize(("caller", "tenant"), [("bob", "hers"), ("ann", "other")], ids=["a caller", "a tenant"])
@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize("method", NAMES)
def test_to_another_it_is_as_if_it_never_was(knocking, hers, caller, tenant, binding, method):
    never = Known(str(uuid.uuid4()), str(uuid.uuid4()), "hook")
    asked, call = NAMES[method], BINDINGS[binding]
    of_hers, of_none = (call(knocking[caller], tenant, method, asked(known)) for known in (hers, never))
    assert seen(of_hers, hers) == seen(of_none, never)
    assert "TASK_STATE" not in of_hers.text


@pytest.mark.parametrize("binding", BINDINGS)
def test_to_herself_it_is_there(knocking, hers, binding):
    answer = BINDINGS[binding](knocking["ann"], "hers", "GetTask", {"id": hers.task}).text
    assert "TASK_STATE_INPUT_REQUIRED" in answer
    listed = BINDINGS[binding](knocking["ann"], "hers", "ListTasks", {"contextId": hers.context}).json()
    assert [task["id"] for task in listed.get("result", listed)["tasks"]] == [hers.task]
