"""Protobuf messages of the SDK to contract types and back, for requests and for agents written against the SDK."""

from collections.abc import Mapping
from typing import Any, Final

from a2a.types import a2a_pb2
from google.protobuf import json_format, struct_pb2

from innkeeper.contract.message import JSON, Message, Part
from innkeeper.edge.wire.bodies import MAX_DEPTH, finite, message_dict
from innkeeper.edge.wire.events import STATE_NAMES
from innkeeper.ports.events import State

_STATES: Final[Mapping[int, State]] = {a2a_pb2.TaskState.Value(name): state for state, name in STATE_NAMES.items()}
_EXACT_INTEGERS: Final = 2.0**53


def state_from_proto(state: int) -> State | None:
    """Return the state of a ``TaskState`` number; None for unspecified and for numbers of a later protocol."""
    return _STATES.get(state)


def part_from_proto(part: a2a_pb2.Part) -> Part:
    """Convert a part.

    Raises:
        ValueError: it holds none of text, data, url and raw, or its data or metadata is not JSON.
    """
    media_type, filename = part.media_type, part.filename
    metadata = object_from_struct(part.metadata) if part.HasField("metadata") else {}
    match part.WhichOneof("content"):
        case "text":
            return Part(text=part.text, media_type=media_type, filename=filename, metadata=metadata)
        case "data":
            data = value_from_proto(part.data)
            return Part(data=data, media_type=media_type, filename=filename, metadata=metadata)
        case "url":
            return Part(url=part.url, media_type=media_type, filename=filename, metadata=metadata)
        case "raw":
            return Part(raw=part.raw, media_type=media_type, filename=filename, metadata=metadata)
        case _:
            raise ValueError("has none of text, data, url and raw")


def object_from_struct(struct: struct_pb2.Struct, depth: int = 1) -> dict[str, JSON]:
    """Convert a JSON object.

    Raises:
        ValueError: a number in it is not finite, or it nests deeper than ``MAX_DEPTH``.
    """
    if depth > MAX_DEPTH:
        raise ValueError(f"nested deeper than {MAX_DEPTH}")
    return {key: value_from_proto(value, depth + 1) for key, value in struct.fields.items()}


def value_from_proto(value: struct_pb2.Value, depth: int = 1) -> JSON:
    """Convert a JSON value; a whole number that a double holds exactly becomes an int.

    Raises:
        ValueError: a number in it is not finite, or it nests deeper than ``MAX_DEPTH``.
    """
    match value.WhichOneof("kind"):
        case "string_value" | "bool_value" as kind:
            scalar: str | bool = getattr(value, kind)
            return scalar
        case "number_value":
            number: float = finite(value.number_value)
            return int(number) if number.is_integer() and abs(number) <= _EXACT_INTEGERS else number
        case "struct_value":
            return object_from_struct(value.struct_value, depth)
        case "list_value":
            if depth > MAX_DEPTH:
                raise ValueError(f"nested deeper than {MAX_DEPTH}")
            return [value_from_proto(item, depth + 1) for item in value.list_value.values]
        case _:
            return None


def proto_from_message(message: Message, task_id: str, context_id: str) -> a2a_pb2.Message:
    """Convert a message, as one of this task and context."""
    body: dict[str, Any] = message_dict(message) | {"taskId": task_id, "contextId": context_id}
    converted = a2a_pb2.Message()
    json_format.ParseDict(body, converted)
    return converted
