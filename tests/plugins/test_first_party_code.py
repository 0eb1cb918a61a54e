"""What holds for every plugin that comes with Innkeeper, read off its source."""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import innkeeper.testing
from innkeeper.contract.hooks import HOOKS

ROOT = Path(__file__).parents[2]
PROJECTS = sorted(found.parent for kind in ("plugins", "examples") for found in ROOT.glob(f"{kind}/*/pyproject.toml"))


FRONT_DOOR = {("innkeeper", name) for name in innkeeper.__all__}
KIT = {("innkeeper.testing", name) for name in innkeeper.testing.__all__}


def modules(project: Path, *, tests: bool = False) -> Iterator[ast.Module]:
    for file in project.rglob("*.py"):
        if ("tests" in file.relative_to(project).parts) is tests:
            yield ast.parse(file.read_text(encoding="utf-8"))


def imported_of_innkeeper(project: Path, *, tests: bool = False) -> set[tuple[str, str | None]]:
    found = {each for module in modules(project, tests=tests) for each in imported(module)}
    return {each for each in found if each[0].split(".")[0] == "innkeeper"}


def imported(module: ast.Module) -> Iterator[tuple[str, str | None]]:
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)


def implemented(module: ast.Module) -> Iterator[str]:
    for node in module.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and any(
            isinstance(name, ast.Name) and name.id == "hookimpl"
            for each in node.decorator_list
            for name in ast.walk(each)
        ):
            yield node.name


@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.name)
def test_of_innkeeper_a_plugin_imports_what_the_front_door_offers(project):
    ours = imported_of_innkeeper(project)
    assert ours
    assert ours - FRONT_DOOR == set()


@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.name)
def test_a_plugin_is_tested_with_what_any_author_has_and_checked_in_every_way(project):
    ours = imported_of_innkeeper(project, tests=True)
    assert ("innkeeper.testing", "check_plugin") in ours
    assert ours - FRONT_DOOR - KIT == set()
    assert list(project.rglob("conftest.py")) == []


@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.name)
def test_a_plugin_can_be_read_about_is_tested_and_has_one_name(project):
    described = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (entry,) = described["entry-points"]["innkeeper.v1"].items()
    name = described["name"].removeprefix("innkeeper-")
    assert entry == (name, f"innkeeper_{name}")
    assert project.name.removeprefix("innkeeper-") == name
    readme = (project / "README.md").read_text(encoding="utf-8")
    assert readme.startswith(f"# innkeeper-{name}\n")
    assert readme.count("\n") <= 50, "a README is one screen"
    assert list(project.glob("tests/test_*.py"))


def test_every_hook_has_a_user():
    used = {hook for project in PROJECTS for module in modules(project) for hook in implemented(module)}
    assert used == set(HOOKS)
