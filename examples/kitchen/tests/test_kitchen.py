import pytest

from innkeeper.testing import check_plugin

pytestmark = pytest.mark.innkeeper(plugins=["kitchen"])


def progress(host) -> list[str]:
    return [event.data["message_id"].split(":")[-1] for event in host.events if "message_id" in event.data]


def test_what_belongs_to_every_menu_is_served_in_a_turn_of_its_own(host):
    reply = host.send("soup", context="table 1").result()
    assert (reply.state, reply.text) == ("completed", "Served: bread")
    assert progress(host) == ["dish-soup", "reply", "dish-bread", "final"]
    assert host.send("cake", context="table 1").result().text == "Served: cake"


def test_what_was_ordered_is_not_missing(host):
    reply = host.send("bread").result()
    assert (reply.state, reply.text) == ("completed", "Served: bread")


@pytest.mark.innkeeper(settings={"plugins": {"kitchen": {"always": ["salad", "cheese"]}}})
def test_all_that_is_missing_is_cooked_in_one_turn(host):
    assert host.send("soup").result().text == "Served: salad, cheese"


def test_it_is_a_plugin_in_every_way():
    check_plugin("kitchen").raise_if_any()
