"""What an agent has answered, put together from the updates of its task (A2A v1.0 StreamResponse JSON)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from innkeeper.contract.message import Part, text_of
from innkeeper.edge.wire.bodies import part_from_dict

_PREFIX: Final = "TASK_STATE_"


@dataclass(frozen=True, slots=True)
class Artifact:
    """An artifact as a whole, its pieces in order."""

    name: str
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """The text parts, concatenated without a separator."""
        return text_of(self.parts)


@dataclass(frozen=True, slots=True)
class Reply:
    """How a message was answered.

    ``state`` is that of the task, such as "completed" or "input-required". ``parts`` are those of the closing message;
    none if the turn ended without a word. ``progress`` holds what was said on the way, ``artifacts`` what was put out.
    ``declined_by`` names the plugins whose gates declined the turn; a live host does not tell.
    """

    task_id: str
    context_id: str
    state: str
    parts: tuple[Part, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    progress: tuple[str, ...] = ()
    declined_by: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The text of the closing message."""
        return text_of(self.parts)


def reply_from_updates(updates: Iterable[Mapping[str, Any]], *, declined_by: Iterable[str] = ()) -> Reply:
    """Put a reply together from the updates of one turn, in order."""
    fold = _Fold()
    for update in updates:
        for kind, body in update.items():
            getattr(fold, _STEPS[kind])(body)
    artifacts = tuple(Artifact(name, tuple(parts)) for name, parts in fold.artifacts.values())
    return Reply(
        fold.task_id, fold.context_id, fold.state, fold.parts, artifacts, tuple(fold.progress), tuple(declined_by)
    )


_STEPS: Final = {
    "task": "take_task",
    "message": "take_message",
    "statusUpdate": "take_status",
    "artifactUpdate": "take_artifact",
}


class _Fold:
    """The updates so far."""

    def __init__(self) -> None:
        self.task_id = self.context_id = self.state = ""
        self.parts: tuple[Part, ...] = ()
        self.artifacts: dict[str, tuple[str, list[Part]]] = {}
        self.progress: list[str] = []

    def take_task(self, task: Mapping[str, Any]) -> None:
        self.task_id, self.context_id = task["id"], task["contextId"]
        for artifact in task.get("artifacts", ()):
            self._put(artifact, append=False)
        self._status(task["status"])

    def take_message(self, message: Mapping[str, Any]) -> None:
        self.context_id, self.state, self.parts = message.get("contextId", ""), "completed", _parts(message)

    def take_status(self, update: Mapping[str, Any]) -> None:
        self.task_id, self.context_id = update["taskId"], update["contextId"]
        self._status(update["status"])

    def take_artifact(self, update: Mapping[str, Any]) -> None:
        self._put(update["artifact"], append=update.get("append", False))

    def _put(self, artifact: Mapping[str, Any], *, append: bool) -> None:
        name, before = self.artifacts.get(artifact["artifactId"], (artifact.get("name", ""), []))
        self.artifacts[artifact["artifactId"]] = (name, [*(before if append else ()), *_parts(artifact)])

    def _status(self, status: Mapping[str, Any]) -> None:
        self.state = status["state"].removeprefix(_PREFIX).lower().replace("_", "-")
        parts = _parts(status.get("message", {}))
        if self.state == "working":
            self.progress += [text_of(parts)] if parts else []
        else:
            self.parts = parts


def _parts(holder: Mapping[str, Any]) -> tuple[Part, ...]:
    return tuple(map(part_from_dict, holder.get("parts", ())))
