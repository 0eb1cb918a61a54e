"""JSON values as the rest of Python takes them."""

from collections.abc import Mapping, Sequence
from typing import Any

from innkeeper.contract.message import JSON


def plain(value: JSON) -> Any:
    """Return a copy made of dicts and lists only, with nothing in it that JSON cannot carry.

    Raises:
        TypeError: something that is no JSON value, or an object's key that is no string.
        ValueError: nested too deeply, or within itself.
    """
    try:
        return _plain(value)
    except RecursionError:
        raise ValueError("a JSON value is nested too deeply, or within itself") from None


def _plain(value: JSON) -> Any:
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"a key of a JSON object cannot be a {type(key).__name__}")
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return [_plain(item) for item in value]
    raise TypeError(f"a JSON value cannot be a {type(value).__name__}")
