import pytest

pytestmark = pytest.mark.anyio

ALONE = "[tenants.notebook]\nuse = []"


async def test_notes_are_written_read_and_listed(open_house):
    async with open_house(ALONE) as house:
        assert await house.say("list") == "No notes yet."
        assert await house.say("write shopping milk, eggs") == "Noted shopping."
        assert await house.say("write work/monday call Bob") == "Noted work/monday."
        assert await house.say("read shopping") == "milk, eggs"
        assert await house.say("list") == "shopping\nwork/"
        assert await house.say("list work") == "work/monday"
        assert await house.say("read nothing") == "There is no note nothing."
        assert await house.say("list", context="office") == "No notes yet."


async def test_what_cannot_be_noted_is_said(open_house):
    async with open_house(ALONE) as house:
        assert "../up" in await house.say("write ../up text")
        assert await house.say("list") == "No notes yet."


async def test_without_plugins_there_are_no_tools(open_house):
    async with open_house(ALONE) as house:
        assert await house.say("tools") == "No tools."
        assert await house.say("about") == "Nothing to add."
        assert await house.say("use hammer {}") == "There is no tool hammer."


@pytest.mark.parametrize("arguments", ["{", "[]", "{}", '{"path": 3}', '{"path": "a", "more": 1}'])
async def test_a_tool_that_is_used_wrongly_is_an_answer_too(open_house, arguments):
    async with open_house("[tenants.notebook]\nuse = ['workspace']") as house:
        assert (await house.say(f"use ws_read {arguments}")).startswith("The tool cannot be used like this: ")


async def test_any_other_word_gets_the_list_of_commands(open_house):
    async with open_house(ALONE) as house:
        assert (await house.say("help")).startswith("write: Write a note")
