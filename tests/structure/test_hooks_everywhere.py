"""A hook is a specification, a rule, a method of the facade, a heading of the reference, and somebody's."""

import inspect
import re
import typing
from collections.abc import Iterator
from pathlib import Path
from types import UnionType

import pytest
from hook_users import users_of_hooks

import innkeeper
from innkeeper.contract import hooks
from innkeeper.contract.hooks import HOOKS
from innkeeper.registry.facade import Hooks

ROOT = Path(__file__).parents[2]
NOT_HOOKS = {"has", "close", "dropped_events"}
"""What the facade can do besides."""


def specifications() -> dict[str, object]:
    defined = inspect.getmembers(hooks, inspect.isfunction)
    return {name: each for name, each in defined if each.__module__ == hooks.__name__ and not name.startswith("_")}


def headings() -> list[str]:
    page = (ROOT / "docs/reference/hooks.md").read_text(encoding="utf-8")
    section = page.split("\n## The hooks\n")[1].split("\n## ")[0]
    return re.findall(r"^### `(\w+)`$", section, re.MULTILINE)


def named_in(annotation: object) -> Iterator[type]:
    """Give every class that an annotation names, wherever in it."""
    if typing.get_origin(annotation) is not None or isinstance(annotation, UnionType):
        for each in typing.get_args(annotation):
            yield from named_in(each)
    elif isinstance(annotation, type):
        yield annotation


def test_every_specification_has_a_rule_and_the_reverse():
    assert set(specifications()) == set(HOOKS)


def test_every_hook_is_a_method_of_the_facade_and_the_reverse():
    methods = {name for name, _ in inspect.getmembers(Hooks, inspect.isfunction) if not name.startswith("_")}
    assert methods - NOT_HOOKS == set(HOOKS)


def test_every_hook_has_a_heading_in_the_reference_in_the_order_of_the_rules():
    assert headings() == list(HOOKS)


@pytest.mark.parametrize("hook", HOOKS)
def test_a_hook_says_since_when_there_is_one_of_it(hook):
    assert "Since v1." in inspect.getdoc(specifications()[hook])


@pytest.mark.parametrize("hook", HOOKS)
def test_a_hook_is_used_by_a_plugin_that_people_may_read(hook):
    assert users_of_hooks().get(hook, ()) != ()


def test_plugins_implement_no_other_hooks():
    assert set(users_of_hooks()) - set(HOOKS) == set()


@pytest.mark.parametrize("hook", HOOKS)
def test_whoever_writes_a_hook_can_import_every_type_of_it(hook):
    named = {
        each for annotation in typing.get_type_hints(specifications()[hook]).values() for each in named_in(annotation)
    }
    ours = {each.__name__ for each in named if each.__module__.startswith("innkeeper.")}
    assert ours - set(innkeeper.__all__) == set()
