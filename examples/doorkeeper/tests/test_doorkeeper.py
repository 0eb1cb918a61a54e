import pytest

from innkeeper.testing import check_plugin


@pytest.mark.innkeeper(plugins=["doorkeeper"])
def test_only_whispers_are_declined(send):
    for text, gates in {"Ada": (), "psst, Ada": ("doorkeeper",), "PSST": ("doorkeeper",), "a psst": ()}.items():
        reply = send(text).result()
        assert (reply.declined_by, reply.text) == (gates, "" if gates else text)


def test_it_is_a_plugin_in_every_way():
    check_plugin("doorkeeper").raise_if_any()
