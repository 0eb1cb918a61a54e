"""JSON values as the rest of Python takes them."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from innkeeper.contract.message import JSON


def plain(value: JSON) -> Any:
    """Return a copy made of Python's own dicts, lists, strings and numbers, with nothing in it that JSON cannot carry.

    Raises:
        TypeError: something that is no JSON value, or an object's key that is no string.
        ValueError: nested too deeply, or within itself.
    """
    try:
        return _plain(value)
    except RecursionError:
        raise ValueError("a JSON value is nested too deeply, or within itself") from None


def frozen(value: JSON) -> JSON:
    """Return a copy of a plain value that nobody can change: read-only mappings and tuples."""
    if isinstance(value, dict):
        return MappingProxyType({key: frozen(item) for key, item in value.items()})
    return tuple(map(frozen, value)) if isinstance(value, list) else value


def exact(value: Any) -> Any:
    """Return a string or number as one of Python's own type, where it is of a class derived from that."""
    for kind in (str, bool, int, float):
        if isinstance(value, kind):
            return value if type(value) is kind else _EXACT[kind](value)
    return value


_EXACT: Mapping[type, Any] = {str: str.__str__, bool: int.__bool__, int: int.__int__, float: float.__float__}
"""The methods of the types themselves: those of derived classes are not asked."""


def _plain(value: JSON) -> Any:
    if value is None or isinstance(value, str | bool | int | float):
        return exact(value)
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"a key of a JSON object cannot be a {type(key).__name__}")
        return {exact(key): _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return [_plain(item) for item in value]
    raise TypeError(f"a JSON value cannot be a {type(value).__name__}")
