"""Message bodies: contract messages and parts to A2A JSON and back (A2A v1.0 §4.1.4, §4.1.6, §5).

JSON is written by hand rather than by protobuf's ``json_format``, which costs several times as much; the tests hold
it to the SDK's reading of the same bytes.
"""

import json
import math
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from innkeeper.contract.message import ABSENT, JSON, Message, Part, Role

JsonObject = dict[str, Any]
"""A JSON object under construction or just parsed."""

MAX_DEPTH: Final = 30
"""How deep ``data`` and ``metadata`` may nest: protobuf reads 100 messages deep, and each object takes three."""

ROLE_NAMES: Final[Mapping[Role, str]] = {"user": "ROLE_USER", "agent": "ROLE_AGENT"}
_ROLES: Final[Mapping[str, Role]] = {name: role for role, name in ROLE_NAMES.items()}

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_encode: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_LINE_ENDS: Final = re.compile("[\u0085\u2028\u2029]")
_ESCAPED: Final[Mapping[str, str]] = {"\u0085": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def json_bytes(value: JsonObject | list[Any] | str | int) -> bytes:
    r"""Encode compact UTF-8 JSON without anything that a reader of lines could take for the end of one.

    JSON itself escapes ``\n`` and ``\r``; U+0085, U+2028 and U+2029 are escaped besides. A lone surrogate, which
    UTF-8 cannot carry, becomes U+FFFD.
    """
    text = _encode(value)
    if not text.isascii():
        text = _LINE_ENDS.sub(lambda match: _ESCAPED[match[0]], text)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def plain_json(value: JSON, depth: int = 1) -> Any:
    """Return a value of dicts and lists only, which every JSON reader takes for the same value.

    Raises:
        ValueError: a number beyond the range of a double, which is what ``google.protobuf.Value`` holds; nesting
            deeper than ``MAX_DEPTH``; something that is not JSON at all.
    """
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int | float):
        return finite(value)
    if depth > MAX_DEPTH:
        raise ValueError(f"nested deeper than {MAX_DEPTH}")
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise ValueError("an object's keys are strings")
        return {key: plain_json(item, depth + 1) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [plain_json(item, depth + 1) for item in value]
    raise ValueError(f"JSON cannot carry a {type(value).__name__}")


def finite(number: float) -> int | float:
    """Return the number.

    Raises:
        ValueError: a double cannot hold it, or it is infinite or not a number.
    """
    try:
        fits = math.isfinite(number)
    except OverflowError:
        fits = False
    if not fits:
        raise ValueError("a number that is not finite or too large for a double")
    return number


def part_dict(part: Part) -> JsonObject:
    """Lay out a ``Part``; what is unsaid is left out.

    Raises:
        ValueError: its data or metadata is not JSON (see ``plain_json``).
    """
    laid: JsonObject
    if part.text is not None:
        laid = {"text": part.text}
    elif part.url is not None:
        laid = {"url": part.url}
    elif part.raw is not None:
        laid = {"raw": b64encode(part.raw).decode("ascii")}
    else:
        laid = {"data": None if part.data is ABSENT else plain_json(part.data)}
    if part.metadata:
        laid["metadata"] = plain_json(part.metadata)
    if part.filename:
        laid["filename"] = part.filename
    if part.media_type:
        laid["mediaType"] = part.media_type
    return laid


def message_dict(message: Message) -> JsonObject:
    """Lay out a ``Message`` without contextId and taskId.

    Raises:
        ValueError: data or metadata in it is not JSON (see ``plain_json``).
    """
    laid: JsonObject = {
        "messageId": message.id,
        "role": ROLE_NAMES[message.role],
        "parts": [part_dict(part) for part in message.parts],
    }
    if message.metadata:
        laid["metadata"] = plain_json(message.metadata)
    return laid


def body_in_task(body: bytes, task_id: str, context_id: str) -> bytes:
    """Splice contextId and taskId into a stored message body, a JSON object that is never empty."""
    return b'%b,"contextId":%b,"taskId":%b}' % (body[:-1], json_bytes(context_id), json_bytes(task_id))


def message_from_body(body: bytes, at_us: int) -> Message:
    """Decode a stored message; ``at_us`` is microseconds since the Unix epoch."""
    laid: JsonObject = json.loads(body)
    return Message(
        id=laid["messageId"],
        role=_ROLES[laid["role"]],
        parts=tuple(part_from_dict(part) for part in laid["parts"]),
        at=_EPOCH + timedelta(microseconds=at_us),
        metadata=laid.get("metadata", {}),
    )


def timestamp(at_us: int) -> str:
    """Write a moment as A2A does: UTC, milliseconds, 'Z' (A2A v1.0 §5.6.1)."""
    moment = _EPOCH + timedelta(milliseconds=at_us // 1000)
    return f"{moment.isoformat(timespec='milliseconds')[:-6]}Z"


def part_from_dict(laid: JsonObject) -> Part:
    """Read a ``Part`` that is laid out as ``part_dict`` does."""
    raw = laid.get("raw")
    return Part(
        text=laid.get("text"),
        data=laid.get("data", ABSENT),
        url=laid.get("url"),
        raw=None if raw is None else b64decode(raw),
        media_type=laid.get("mediaType", ""),
        filename=laid.get("filename", ""),
        metadata=laid.get("metadata", {}),
    )
