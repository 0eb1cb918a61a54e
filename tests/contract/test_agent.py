"""What a plugin may bring, and what is refused by name."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from innkeeper import Agent, Skill, Turn


async def answers(turn: Turn) -> str:
    """Answers what it is asked,
    in one word.

    Never more.
    """
    return "yes"


async def streams(turn: Turn) -> AsyncIterator[str]:
    yield "yes"


class Executor:
    """Looks like an a2a-sdk AgentExecutor."""

    async def execute(self, context: Any, event_queue: Any) -> None: ...

    async def cancel(self, context: Any, event_queue: Any) -> None: ...


class CallableObject:
    async def __call__(self, turn: Turn) -> str:
        return "yes"


@pytest.mark.parametrize("agent_id", ["a", "7", "a-b", "a.b_c", "a" * 63])
def test_an_id_is_1_to_63_lower_case_letters_digits_and_some_marks(agent_id: str) -> None:
    assert Agent(agent_id, answers).id == agent_id


@pytest.mark.parametrize("agent_id", ["", "A", "-a", "a-", ".", "a/b", "a b", "ä", "a" * 64, "a\n", None, 7])
def test_another_id_is_refused_and_named(agent_id: Any) -> None:
    with pytest.raises(ValueError, match="Agent id") as caught:
        Agent(agent_id, answers)
    assert repr(agent_id) in str(caught.value)


@pytest.mark.parametrize("handler", [answers, streams, Executor(), CallableObject()])
def test_the_forms_of_a_handler_are_taken(handler: Any) -> None:
    assert Agent("a", handler).handler is handler


def synchronous(turn: Turn) -> str:
    return "no"


@pytest.mark.parametrize("handler", [None, "x", synchronous, Executor, lambda turn: "no", object()])
def test_anything_else_is_refused_at_once_and_not_when_the_first_message_comes(handler: Any) -> None:
    with pytest.raises(TypeError, match="handler is neither"):
        Agent("a", handler)


def test_what_is_not_said_is_derived_so_that_no_card_has_an_empty_field() -> None:
    agent = Agent("a", answers)
    assert (agent.name, agent.description) == ("a", "Answers what it is asked, in one word.")
    assert agent.skills == (Skill("a", name="a", description="Answers what it is asked, in one word."),)
    assert Agent("a", streams, name="Ann").description == "Ann"


def test_an_executor_does_not_describe_its_agent_with_the_docstring_of_its_class() -> None:
    assert Agent("a", Executor()).description == "a"


def test_a_turn_cut_short_is_run_again_unless_the_agent_is_an_executor_or_says_no() -> None:
    assert Agent("a", answers).resumable is True
    assert Agent("a", Executor()).resumable is False
    assert Agent("a", answers, resumable=False).resumable is False
    assert Agent("a", Executor(), resumable=True).resumable is True


@pytest.mark.parametrize(
    ("field", "value", "error"),
    [
        ("turn_timeout", timedelta(0), ValueError),
        ("session_scope", "tenant", ValueError),
        ("input_modes", "text/plain", TypeError),
        ("output_modes", (1,), TypeError),
        ("skills", ("a",), TypeError),
    ],
)
def test_a_field_out_of_range_is_refused_and_named(field: str, value: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=field):
        Agent("a", answers, **{field: value})


def test_a_skill_says_at_least_what_its_id_says() -> None:
    assert Skill("translate") == Skill("translate", "translate", "translate", ("translate",), ())
    with pytest.raises(ValueError, match="needs an id"):
        Skill("")
    with pytest.raises(TypeError, match="tags"):
        Skill("a", tags="abc")  # type: ignore[arg-type] # what a forgotten comma makes of a tuple
