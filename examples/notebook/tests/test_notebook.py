import pytest

from innkeeper.testing import check_plugin

pytestmark = pytest.mark.innkeeper(plugins=["notebook"])


@pytest.fixture
def say(host):
    """Say something, at home unless somewhere else, and return what is answered."""

    def say(text: str, context: str = "home") -> str:
        reply = host.send(text, context=context).result()
        assert reply.state == "completed"
        return reply.text

    return say


def test_notes_are_written_read_and_listed(say):
    assert say("list") == "No notes yet."
    assert say("write shopping milk, eggs") == "Noted shopping."
    assert say("write work/monday call Bob") == "Noted work/monday."
    assert say("read shopping") == "milk, eggs"
    assert say("list") == "shopping\nwork/"
    assert say("list work") == "work/monday"
    assert say("read nothing") == "There is no note nothing."
    assert say("list", context="office") == "No notes yet."


def test_what_cannot_be_noted_is_said(say):
    assert "../up" in say("write ../up text")
    assert say("list") == "No notes yet."


def test_without_plugins_there_are_no_tools(say):
    assert say("tools") == "No tools."
    assert say("about") == "Nothing to add."
    assert say("use hammer {}") == "There is no tool hammer."


@pytest.mark.innkeeper(plugins=["notebook", "workspace"])
def test_a_tool_that_is_used_wrongly_is_an_answer_too(say):
    for arguments in ("{", "[]", "{}", '{"path": 3}', '{"path": "a", "more": 1}'):
        assert say(f"use ws_read {arguments}").startswith("The tool cannot be used like this: ")


def test_any_other_word_gets_the_list_of_commands(say):
    assert say("help").startswith("write: Write a note")


def test_it_is_a_plugin_in_every_way():
    check_plugin("notebook").raise_if_any()
