"""JSON as RFC 8259 means it, and no more: what two parsers could read differently is refused."""

import json
import re
from collections.abc import Iterable
from typing import Any, Final, NoReturn

from innkeeper.contract.errors import ParseFailed
from innkeeper.contract.message import JSON

DEPTH: Final = 64
"""How deep objects and arrays may be nested."""

NUMBER_CHARACTERS: Final = 100
"""How long a number may be as written."""

_SURROGATE_ESCAPE: Final = re.compile(r"\\u[dD][89a-fA-F]")


def json_from_bytes(data: bytes) -> JSON:
    """Parse one JSON text.

    Refused besides what is no JSON: anything but UTF-8, a name given twice in one object, NaN and the infinities,
    numbers that are too long or too large for a double, lone surrogates, and nesting beyond ``DEPTH``.

    Raises:
        ParseFailed: always with the same words.
    """
    try:
        text = data.decode("utf-8")
        value: JSON = _DECODER.decode(text)
        # Only as many levels as there are brackets, only escapes make surrogates: most bodies need no second look.
        if text.count("[") + text.count("{") > DEPTH:
            _check_depth(value)
        if _SURROGATE_ESCAPE.search(text):
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError):
        raise ParseFailed from None
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a name is given twice")
    return members


def _number(literal: str) -> str:
    if len(literal) > NUMBER_CHARACTERS:
        raise ValueError("a number is too long")
    return literal


def _float(literal: str) -> float:
    number = float(_number(literal))
    if number in (float("inf"), float("-inf")):
        raise ValueError("a number is too large")
    return number


def _int(literal: str) -> int:
    return int(_number(literal))


def _constant(literal: str) -> NoReturn:
    raise ValueError(f"{literal} is no JSON")


def _check_depth(value: JSON) -> None:
    """Go down level by level: a loop cannot run out of stack."""
    level = [value]
    for _ in range(DEPTH):
        level = [child for node in level for child in _children(node) if isinstance(child, dict | list)]
        if not level:
            return
    raise ValueError("nested too deep")


def _children(node: JSON) -> Iterable[JSON]:
    if isinstance(node, dict):
        return node.values()
    return node if isinstance(node, list) else ()


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=_float, parse_int=_int, parse_constant=_constant
)
