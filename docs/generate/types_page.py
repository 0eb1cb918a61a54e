"""The page of types: every class that a plugin author meets, as its source says it."""

import ast
import dataclasses
import inspect
from collections.abc import Iterator
from typing import Final

from docstrings import MADE, documented, is_property, markdown, signature, source_of, unquoted

import innkeeper
from innkeeper.contract.workspace import MAX_FILE_BYTES, MAX_FILES

HEAD: Final = f"""\
# Types

{MADE}

What plugins get and give. Everything with a heading here is imported from `innkeeper`. A type that shows fields is a
dataclass: make one with these fields as arguments; once made, it cannot be changed. `PluginContext` and `TurnEvent` are
on the page of the [hooks](hooks.md).

Some types have a name and no section: `JSON` is what JSON can carry; `Answer` is what a handler may return,
`str | Part | Sequence[Part] | Ask | None`; `Handler` is a coroutine function from `Turn` to `Answer`, or an async
generator of `str | Part`. `ABSENT` is the `data` of a `Part` that has none, as JSON's null is data too. A `Scalar` is
`int | float | str | bytes | None`, a `Row` a tuple of them, and `Parameters` are a sequence for `?` or a mapping for
`:name`. The limits of a workspace are `MAX_FILE_BYTES`, {MAX_FILE_BYTES}, and `MAX_FILES`, {MAX_FILES}.
"""

ELSEWHERE: Final = frozenset({"PluginContext", "TurnEvent", "StartFault", "Unavailable", "InnkeeperError"})
"""Types that other pages explain."""

HOSTS_SIDE: Final = frozenset({("Turn", "outlet"), ("PluginContext", "environ"), ("PluginContext", "tenants")})
"""Fields that the host fills for itself."""


def types_page() -> str:
    """Return the page of types, in the order of their names."""
    public = {name: getattr(innkeeper, name) for name in innkeeper.__all__ if name not in ELSEWHERE}
    classes = [each for each in public.values() if inspect.isclass(each) and each.__module__.startswith("innkeeper.")]
    functions = [each for each in public.values() if inspect.isfunction(each)]
    return "\n".join((HEAD, *map(type_section, classes), *map(_function_section, functions)))


def type_section(kind: type, level: int = 2) -> str:
    """Return what there is to say of a class: its docstring, its fields, its properties and methods."""
    tree = source_of(kind)
    text = f"{'#' * level} `{kind.__name__}`\n\n{markdown(inspect.getdoc(kind))}\n"
    if fields := list(_fields(kind, tree)):
        text += "\n```python\n" + "\n".join(fields) + "\n```\n"
    members = [(each, markdown(ast.get_docstring(each))) for each in documented(tree)]
    if members:
        text += "\nWhat can be read and called:\n"
    for member, doc in members:
        name = member.name if is_property(member) else signature(member)
        text += f"\n- `{name}`: {_indented(doc)}\n"
    return text


def _fields(kind: type, tree: ast.ClassDef) -> Iterator[str]:
    if not dataclasses.is_dataclass(kind):
        return
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            name = node.target.id
            if name == "_":
                yield "# by name only:"
            elif (kind.__name__, name) not in HOSTS_SIDE:
                default = _default(node.value)
                yield f"{name}: {unquoted(ast.unparse(node.annotation))}{f' = {default}' if default else ''}"


def _default(value: ast.expr | None) -> str:
    if isinstance(value, ast.Call):
        made = [each.value for each in value.keywords if each.arg == "default_factory"]
        return f"{ast.unparse(made[0])}()" if made else ""
    return ast.unparse(value).replace("'", '"') if value else ""


def _function_section(function: object) -> str:
    tree = source_of(function)
    return f"## `{tree.name}`\n\n{markdown(inspect.getdoc(function))}\n"


def _indented(doc: str) -> str:
    return "\n".join(f"  {line}" if line else "" for line in doc.splitlines()).strip()
