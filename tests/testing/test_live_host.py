"""The served host of plugin tests."""

import pytest

from innkeeper.edge.client import CallFailed
from innkeeper.testing import LiveHost
from innkeeper.testing.setup import Setup

pytestmark = pytest.mark.innkeeper(plugins=["hello", "doorkeeper"], settings={"card": {"name": 'Quote " me'}})


def test_a_live_host_is_served_on_a_free_port_and_spoken_to_by_a_client(live_host):
    assert live_host.tenants == ("hello", "test-echo")
    reply = live_host.send("Ada", context="c").result()
    assert (reply.text, reply.state, reply.context_id) == ("Hello, Ada", "completed", "c")
    assert live_host.send("psst").result().text == ""
    (first, *_, last) = live_host.call("Ada").result()
    assert first["task"]["history"][0]["parts"] == [{"text": "Ada"}]
    assert last["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"
    assert live_host.agent() == f"{live_host.url}/agents/hello"


@pytest.mark.anyio
async def test_an_async_test_awaits_a_live_host(live_host):
    assert (await live_host.send("Ada", tenant="test-echo")).text == "Ada"


def test_a_live_host_that_does_not_start_says_why(tmp_path):
    setup = Setup().over(plugins=["hello"], settings={"tenants": {"support": {"agent": "helo"}}})
    with pytest.raises(RuntimeError, match="did you mean 'hello'"), LiveHost(setup, tmp_path):
        pass


def test_a_live_host_is_gone_after_the_test(tmp_path):
    with LiveHost(Setup().over(plugins=["hello"]), tmp_path) as host:
        pass
    with pytest.raises(CallFailed, match="nothing answers there"):
        _call_again(host, tmp_path)


def _call_again(host, tmp_path):
    other = LiveHost(Setup(), tmp_path)
    other.url, other.tenants = host.url, host.tenants
    other.send("Ada").result()
