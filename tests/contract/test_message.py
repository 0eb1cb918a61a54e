"""Messages, parts and the marker."""

from datetime import UTC, datetime
from typing import Any

import pytest

from innkeeper import ABSENT, Message, Part, hookimpl
from innkeeper.contract.markers import HOOKIMPL_ATTRIBUTE, HookOptions


@pytest.mark.parametrize(
    "content", [{"text": ""}, {"text": "a"}, {"data": None}, {"data": 0}, {"data": {}}, {"url": "u"}, {"raw": b""}]
)
def test_a_part_holds_one_thing_and_empty_is_a_thing(content: dict[str, Any]) -> None:
    part = Part(**content)
    assert (part.data is ABSENT) == ("data" not in content)


@pytest.mark.parametrize("content", [{}, {"text": "a", "data": None}, {"url": "u", "raw": b""}])
def test_a_part_that_holds_none_or_two_is_refused(content: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="exactly one"):
        Part(**content)


def test_the_text_of_a_message_is_its_text_parts_without_separator() -> None:
    parts = (Part(text="a "), Part(data=1), Part(text="b"))
    assert Message("m", "user", parts, datetime.now(UTC)).text == "a b"


def test_the_marker_leaves_its_options_and_the_function_as_it_is() -> None:
    @hookimpl
    def bare() -> None: ...

    @hookimpl(tryfirst=True, blocking=True)
    def with_options() -> None: ...

    assert getattr(bare, HOOKIMPL_ATTRIBUTE) == HookOptions()
    assert getattr(with_options, HOOKIMPL_ATTRIBUTE) == HookOptions(tryfirst=True, blocking=True)
    assert bare.__name__ == "bare"


def test_first_and_last_at_once_is_refused() -> None:
    with pytest.raises(ValueError, match="not both"):
        hookimpl(tryfirst=True, trylast=True)
