"""Who implements a hook, found by reading source: nothing is imported."""

import ast
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
SHOWN: Final = ("examples", "plugins")
"""Folders of distributions that people may read as examples."""


def users_of_hooks(folders: Iterable[str] = SHOWN) -> Mapping[str, tuple[Path, ...]]:
    """Return the folders of the distributions that implement a hook, by hook, relative to the root of the tree."""
    users: dict[str, set[Path]] = {}
    for folder in folders:
        for distribution in sorted(path.parent for path in (ROOT / folder).glob("*/pyproject.toml")):
            for module in distribution.rglob("*.py"):
                if "tests" not in module.relative_to(distribution).parts:
                    for hook in _implemented(ast.parse(module.read_text(encoding="utf-8"))):
                        users.setdefault(hook, set()).add(distribution.relative_to(ROOT))
    return {hook: tuple(sorted(found)) for hook, found in users.items()}


def _implemented(tree: ast.Module) -> Iterable[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and any(map(_is_marker, node.decorator_list)):
            yield node.name


def _is_marker(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return ast.unparse(called).split(".")[-1] == "hookimpl"
