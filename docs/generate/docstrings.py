"""From docstrings and source to Markdown."""

import ast
import copy
import inspect
import re
from collections.abc import Iterator
from typing import Any

MADE = "Made of the code by `make docs`."


def markdown(doc: str | None) -> str:
    """Return a docstring as Markdown: code in single backquotes, what it raises as a list."""
    text = re.sub(r"``(.+?)``", r"`\1`", inspect.cleandoc(doc or ""))
    head, *sections = re.split(r"^(?:Raises|Every method raises):\n", text, flags=re.MULTILINE)
    every = "Every method raises" in text
    for section in sections:
        raised = re.findall(r"^ {4}([\w, ]+): (.+(?:\n {8}.+)*)", section, re.MULTILINE)
        lines = [f"- `{name.replace(', ', '`, `')}`: {' '.join(when.split())}" for name, when in raised]
        head = head.rstrip() + f"\n\n{'Every method raises' if every else 'Raises'}:\n\n" + "\n".join(lines)
    return head.strip()


def source_of(thing: Any) -> Any:
    """Return the syntax tree of a function or class."""
    return ast.parse(inspect.cleandoc("\n" + inspect.getsource(thing))).body[0]


def signature(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Return a function's first line as it is called: without ``self``, annotations as they are written."""
    arguments = copy.deepcopy(function.args)
    arguments.args = [each for each in arguments.args if each.arg != "self"]
    words = re.sub(r"(?<=[\w\]])=(?=\S)", " = ", ast.unparse(arguments))
    answer = f" -> {ast.unparse(function.returns)}" if function.returns else ""
    call = unquoted(f"{function.name}({words}){answer}")
    return f"await {call}" if isinstance(function, ast.AsyncFunctionDef) else call


def unquoted(code: str) -> str:
    """Return code without the quotes around names that are defined later; other strings have double quotes."""
    return re.sub(r"'([A-Za-z_][^']*)'", r"\1", code).replace("'", '"')


def documented(tree: ast.ClassDef) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Give the public methods and properties of a class that say what they do."""
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return (each for each in functions if ast.get_docstring(each) and not each.name.startswith("_"))


def is_property(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Tell whether it is read without being called."""
    return any(ast.unparse(each) == "property" for each in function.decorator_list)
