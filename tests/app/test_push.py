"""Push as the settings offer it: to whom, whether it must be asked for, and that cards tell."""

import json

import httpx
import pytest

from innkeeper.app import Host
from innkeeper.app.push import push_from_settings
from innkeeper.contract.errors import StartFault

pytestmark = pytest.mark.anyio
BASE = "http://127.0.0.1:8000"
GATEWAY = '[auth]\nmode = "gateway"\ngateway_origins = ["gw.example"]\n'


class FakeResolver:
    async def addresses(self, host):
        return ["10.0.0.1"] if host == "hooks.inside" else ["93.184.215.14"]


@pytest.mark.parametrize(
    ("toml", "required"),
    [
        ("", None),
        ("[push]\nallow_loopback_http = true", None),
        (GATEWAY, None),
        ("[push]\nenabled = true", False),
        ("[push]\nenabled = true\nrequired = true", True),
        (f"{GATEWAY}[push]\nenabled = true", True),
        (f"{GATEWAY}[push]\nenabled = true\nrequired = false", False),
    ],
)
def test_push_is_offered_where_it_is_enabled_and_asked_for_by_gateways(settings, toml, required):
    push = push_from_settings(settings(toml=toml), FakeResolver())
    assert (push and push.required) is required


def test_an_allowed_host_that_is_none_is_a_fault_whether_or_not_push_is_enabled(settings):
    for enabled in ("false", "true"):
        made = settings(toml=f'[push]\nenabled = {enabled}\nallow_hosts = ["https://h/x"]')
        with pytest.raises(StartFault, match=r"^push\.allow_hosts: 'https://h/x': expected is a host"):
            push_from_settings(made, FakeResolver())


@pytest.mark.parametrize("enabled", [False, True])
async def test_cards_say_whether_there_is_push_and_the_methods_agree(settings, enabled):
    toml = f'[push]\nenabled = {json.dumps(enabled)}\nallow_hosts = ["hooks.inside"]'
    host = Host(settings(toml=toml), BASE, resolver=FakeResolver())
    await host.start()
    try:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(host), base_url=BASE) as http:
            for path in ("", "/agents/hello"):
                card = (await http.get(f"{path}/.well-known/agent-card.json")).json()
                assert card["capabilities"]["pushNotifications"] is enabled
            message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}
            sent = await http.post("/agents/hello/message:send", json={"message": message})
            configs = f"/agents/hello/tasks/{sent.json()['task']['id']}/pushNotificationConfigs"
            answers = [
                await http.post(configs, json={"url": f"https://{name}/"})
                for name in ("hooks.example", "hooks.inside", "hooks.example:22")
            ]
    finally:
        await host.stop()
    assert [answer.status_code for answer in answers] == ([200, 200, 400] if enabled else [400] * 3)
    reasons = {answer.json()["error"]["details"][0]["reason"] for answer in answers if answer.status_code == 400}
    assert reasons == {"INVALID_PARAMS" if enabled else "PUSH_NOTIFICATION_NOT_SUPPORTED"}
