import pytest

from innkeeper.testing import check_plugin


@pytest.mark.innkeeper(plugins=["hello"])
def test_hello_greets_whoever_is_named(send):
    assert send("Ada").result().text == "Hello, Ada"


def test_it_is_a_plugin_in_every_way():
    check_plugin("hello").raise_if_any()
