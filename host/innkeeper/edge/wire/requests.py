"""``SendMessageRequest`` to what admission needs; the first and only look at a message from outside."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from a2a.types import a2a_pb2

from innkeeper.contract.errors import InvalidParams
from innkeeper.contract.message import JSON
from innkeeper.edge.wire.bodies import ROLE_NAMES, JsonObject, json_bytes, part_dict
from innkeeper.edge.wire.protobuf import object_from_struct, part_from_proto

MAX_ID_LENGTH: Final = 256
"""How many characters an id from outside may have: it becomes a database key and is sent with every event."""


@dataclass(frozen=True, slots=True)
class Incoming:
    """A message from outside, checked.

    ``body`` is the message as stored: JSON without contextId and taskId. ``digest`` is SHA-256 over the deterministic
    protobuf serialisation of the message as it was sent. ``metadata`` is the request's overlaid by the message's.
    ``history_length`` None means unsaid.
    """

    message_id: str
    body: bytes
    digest: bytes
    task_id: str | None
    context_id: str | None
    metadata: Mapping[str, JSON]
    history_length: int | None
    return_immediately: bool


def incoming_from_request(request: a2a_pb2.SendMessageRequest) -> Incoming:
    """Check and convert a request (A2A v1.0 §3.1.1, §3.2.2).

    Raises:
        InvalidParams: a field is missing or out of range; the text names it.
    """
    if not request.HasField("message"):
        raise InvalidParams("message is required")
    message, configuration = request.message, request.configuration
    _check_envelope(message, configuration)
    body = _body(message)
    return Incoming(
        message_id=message.message_id,
        body=json_bytes(body),
        digest=hashlib.sha256(message.SerializeToString(deterministic=True)).digest(),
        task_id=message.task_id or None,
        context_id=message.context_id or None,
        metadata=_metadata("metadata", request) | body.get("metadata", {}),
        history_length=configuration.history_length if configuration.HasField("history_length") else None,
        return_immediately=configuration.return_immediately,
    )


def _check_envelope(message: a2a_pb2.Message, configuration: a2a_pb2.SendMessageConfiguration) -> None:
    if not message.message_id:
        raise InvalidParams("message.messageId is required")
    if message.role != a2a_pb2.ROLE_USER:
        raise InvalidParams("message.role must be ROLE_USER")
    if not message.parts:
        raise InvalidParams("message.parts must have at least one part")
    _check_length("message.messageId", (message.message_id,))
    _check_length("message.taskId", (message.task_id,))
    _check_length("message.contextId", (message.context_id,))
    _check_length("message.referenceTaskIds", message.reference_task_ids)
    if configuration.history_length < 0:
        raise InvalidParams("configuration.historyLength must not be negative")


def _check_length(field: str, ids: Sequence[str]) -> None:
    if any(len(value) > MAX_ID_LENGTH for value in ids):
        raise InvalidParams(f"{field} is longer than {MAX_ID_LENGTH} characters")


def _body(message: a2a_pb2.Message) -> JsonObject:
    body: JsonObject = {
        "messageId": message.message_id,
        "role": ROLE_NAMES["user"],
        "parts": [_part(f"message.parts[{index}]", part) for index, part in enumerate(message.parts)],
    }
    if message.HasField("metadata"):
        body["metadata"] = _metadata("message.metadata", message)
    if message.extensions:
        body["extensions"] = list(message.extensions)
    if message.reference_task_ids:
        body["referenceTaskIds"] = list(message.reference_task_ids)
    return body


def _part(field: str, part: a2a_pb2.Part) -> JsonObject:
    try:
        return part_dict(part_from_proto(part))
    except ValueError as error:
        raise InvalidParams(f"{field}: {error}") from None


def _metadata(field: str, holder: a2a_pb2.Message | a2a_pb2.SendMessageRequest) -> JsonObject:
    try:
        return object_from_struct(holder.metadata)
    except ValueError as error:
        raise InvalidParams(f"{field}: {error}") from None
