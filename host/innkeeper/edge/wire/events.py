"""Task events as A2A ``StreamResponse`` JSON (A2A v1.0 §3.2.3, §4.2): the form in which they are stored and sent."""

from collections.abc import Mapping, Sequence
from typing import Final, final

from innkeeper.contract.message import Message
from innkeeper.edge.wire.bodies import (
    JsonObject,
    body_in_task,
    json_bytes,
    message_dict,
    message_from_body,
    part_dict,
    timestamp,
)
from innkeeper.edge.wire.tasks import fold_artifacts
from innkeeper.ports.events import ArtifactPiece, State, Status

STATE_NAMES: Final[Mapping[State, str]] = {
    state: "TASK_STATE_" + state.value.upper().replace("-", "_") for state in State
}


@final
class WireCodec:
    """``ports.codec.Codec`` for A2A v1.0 JSON.

    Every method that encodes parts raises ValueError where an agent put something into data or metadata that JSON
    cannot carry: NaN, a number beyond a double, nesting deeper than ``MAX_DEPTH``.
    """

    def status(self, status: Status, task_id: str, context_id: str) -> bytes:
        """Encode a ``TaskStatus``."""
        laid: JsonObject = {"state": STATE_NAMES[status.state]}
        if status.message is not None:
            laid["message"] = message_dict(status.message) | {"contextId": context_id, "taskId": task_id}
        laid["timestamp"] = timestamp(status.at_us)
        return json_bytes(laid)

    def status_update(self, status: bytes, task_id: str, context_id: str) -> bytes:
        """Encode the ``StreamResponse`` that carries an encoded status."""
        ids = json_bytes(task_id), json_bytes(context_id)
        return b'{"statusUpdate":{"taskId":%b,"contextId":%b,"status":%b}}' % (*ids, status)

    def opening(self, status: bytes, task_id: str, context_id: str, message: bytes) -> bytes:
        """Encode the ``StreamResponse`` that opens a task: a snapshot with its first message in the history."""
        ids = json_bytes(task_id), json_bytes(context_id)
        first = body_in_task(message, task_id, context_id)
        return b'{"task":{"id":%b,"contextId":%b,"status":%b,"history":[%b]}}' % (*ids, status, first)

    def artifact_update(self, piece: ArtifactPiece, task_id: str, context_id: str) -> bytes:
        """Encode the ``StreamResponse`` that carries a piece of an artifact."""
        artifact: JsonObject = {"artifactId": piece.artifact_id}
        if piece.name:
            artifact["name"] = piece.name
        if piece.description:
            artifact["description"] = piece.description
        artifact["parts"] = [part_dict(part) for part in piece.parts]
        update: JsonObject = {"taskId": task_id, "contextId": context_id, "artifact": artifact}
        if piece.append:
            update["append"] = True
        if piece.last:
            update["lastChunk"] = True
        return json_bytes({"artifactUpdate": update})

    def fold_artifacts(self, artifacts: bytes, pieces: Sequence[bytes]) -> bytes:
        """Fold artifact updates into a JSON array of artifacts."""
        return fold_artifacts(artifacts, pieces)

    def message_body(self, message: Message) -> bytes:
        """Encode a message as stored: ``Message`` JSON without contextId and taskId."""
        return json_bytes(message_dict(message))

    def message_from_body(self, body: bytes, at_us: int) -> Message:
        """Decode a stored message."""
        return message_from_body(body, at_us)
