from datetime import UTC, datetime

import pytest

from innkeeper import Message, Part
from innkeeper_digest import LONGEST

pytestmark = pytest.mark.anyio

SAID = [
    ("Where is it? I have looked.", "user: Where is it?"),
    ("No end", "user: No end"),
    ("Version 1.5 is out! Get it.", "user: Version 1.5 is out!"),
    ("  First line\nsecond line.", "user: First line"),
    ("x" * 500, "user: " + "x" * LONGEST),
    (" \n ", None),
]


def message(number: int, text: str) -> Message:
    return Message(f"m{number}", "user", (Part(text=text),), datetime.now(UTC))


@pytest.mark.parametrize(("text", "line"), SAID)
async def test_a_message_becomes_its_first_sentence(open_house, text, line):
    async with open_house("[tenants.notebook]\nuse = ['digest']") as house:
        assert await house.hooks().summarize_messages(None, [message(1, text)]) == line


async def test_a_digest_has_a_line_for_each_message_that_says_something(open_house):
    said = [message(number, text) for number, (text, _) in enumerate(SAID)]
    async with open_house("[tenants.notebook]\nuse = ['digest']") as house:
        lines = (await house.hooks().summarize_messages(None, said)).splitlines()
    assert lines == [line for _, line in SAID if line]
