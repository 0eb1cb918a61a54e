"""What the hooks may answer: each takes an answer apart, in the task of whoever gave it."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

import click

from innkeeper.contract.agent import Agent
from innkeeper.contract.json_values import exact
from innkeeper.contract.tool import Tool
from innkeeper.registry.copies import taken
from innkeeper.registry.fanout import WrongAnswer

T = TypeVar("T")


def agents(answer: object) -> tuple[Agent, ...]:
    """Take agents."""
    return _all_of(Agent, answer)


def tools(answer: object) -> tuple[Tool, ...]:
    """Take tools."""
    return _all_of(Tool, answer)


def _all_of(kind: type[T], answer: object) -> tuple[T, ...]:
    if answer is None:
        return ()
    if isinstance(answer, kind):
        return (taken(kind, answer),)
    if not isinstance(answer, Iterable):
        raise WrongAnswer(type(answer).__name__)
    answers = tuple(answer)
    if wrong := sorted({type(each).__name__ for each in answers if not isinstance(each, kind)}):
        raise WrongAnswer(", ".join(wrong))
    return tuple(taken(kind, each) for each in answers)


def asgi(answer: object) -> Callable[..., Any]:
    """Take an ASGI application."""
    if not callable(answer) or isinstance(answer, type):
        raise WrongAnswer(type(answer).__name__)
    return cast("Callable[..., Any]", answer)


def group(answer: object) -> click.Group:
    """Take commands."""
    if not isinstance(answer, click.Group):
        raise WrongAnswer(type(answer).__name__)
    return answer


def text(answer: object) -> str | None:
    """Take a text; an empty one is none."""
    if answer is None or isinstance(answer, str):
        return cast("str | None", exact(answer) or None)
    raise WrongAnswer(type(answer).__name__)


def nothing(answer: object) -> None:
    """Take no answer."""
    if answer is not None:
        raise WrongAnswer(type(answer).__name__)


def ignored(_: object) -> None:
    """Take anything, and look at nothing."""
