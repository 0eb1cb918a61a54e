import pytest

from innkeeper.testing import check_plugin
from innkeeper_digest import LONGEST

SAID = {
    "Where is it? I have looked.": "user: Where is it?",
    "No end": "user: No end",
    "Version 1.5 is out! Get it.": "user: Version 1.5 is out!",
    "  First line\nsecond line.": "user: First line",
    "x" * 500: "user: " + "x" * LONGEST,
    " \n ": None,
}


@pytest.mark.innkeeper(plugins=["digest"])
def test_a_digest_is_the_first_sentence_of_each_message_that_says_something(host):
    for text, line in SAID.items():
        assert host.summarize([text]).result() == line
    assert host.summarize(SAID).result() == "\n".join(filter(None, SAID.values()))


def test_it_is_a_plugin_in_every_way():
    check_plugin("digest").raise_if_any()
