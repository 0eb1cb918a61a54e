"""What the engine needs from the wire: events encoded once, in the form in which they are stored and sent."""

from collections.abc import Sequence
from typing import Protocol

from innkeeper.contract.message import Message
from innkeeper.ports.events import ArtifactPiece, Status


class Codec(Protocol):
    """Contract types to wire JSON and back. Every method is pure, and safe to call from a store's thread."""

    def status(self, status: Status, task_id: str, context_id: str) -> bytes:
        """Encode a ``TaskStatus``."""
        ...

    def status_update(self, status: bytes, task_id: str, context_id: str) -> bytes:
        """Encode the ``StreamResponse`` that carries an encoded status."""
        ...

    def opening(self, status: bytes, task_id: str, context_id: str, message: bytes) -> bytes:
        """Encode the ``StreamResponse`` that opens a task: a snapshot with its first message in the history."""
        ...

    def artifact_update(self, piece: ArtifactPiece, task_id: str, context_id: str) -> bytes:
        """Encode the ``StreamResponse`` that carries a piece of an artifact."""
        ...

    def fold_artifacts(self, artifacts: bytes, pieces: Sequence[bytes]) -> bytes:
        """Fold artifact updates (``StreamResponse`` JSON) into a JSON array of artifacts.

        A piece without append replaces the artifact of its id, one with append adds its parts, creating the artifact
        where there is none.
        """
        ...

    def message_body(self, message: Message) -> bytes:
        """Encode a message as stored: ``Message`` JSON without contextId and taskId."""
        ...

    def message_from_body(self, body: bytes, at_us: int) -> Message:
        """Decode a stored message."""
        ...
