"""Tasks as read: ``Task`` and ``ListTasksResponse`` JSON, spliced from what is stored (A2A v1.0 §3.1.3, §3.1.4)."""

import json
from collections.abc import Sequence

from innkeeper.edge.wire.bodies import JsonObject, body_in_task, json_bytes
from innkeeper.ports.store import TaskPage, TaskView


def task_json(view: TaskView) -> bytes:
    """Encode a ``Task``; an empty history and an empty list of artifacts are left out."""
    task = view.task
    members = [b'{"id":%b,"contextId":%b,"status":%b' % (json_bytes(task.id), json_bytes(task.context_id), task.status)]
    artifacts = fold_artifacts(view.artifacts, view.pieces)
    if artifacts != b"[]":
        members.append(b'"artifacts":' + artifacts)
    if view.history:
        bodies = (body_in_task(body, task.id, task.context_id) for body in view.history)
        members.append(b'"history":[%b]' % b",".join(bodies))
    return b",".join(members) + b"}"


def list_json(page: TaskPage, next_page_token: str, page_size: int) -> bytes:
    """Encode a ``ListTasksResponse``: all four of its fields are required, an empty token ends the listing."""
    tasks = b",".join(task_json(view) for view in page.tasks)
    return b'{"tasks":[%b],"nextPageToken":%b,"pageSize":%d,"totalSize":%d}' % (
        tasks,
        json_bytes(next_page_token),
        page_size,
        page.total,
    )


def fold_artifacts(artifacts: bytes, pieces: Sequence[bytes]) -> bytes:
    """Fold artifact updates (``StreamResponse`` JSON) into a JSON array of artifacts, in the order they first came.

    A piece without append replaces the artifact of its id, one with append adds its parts (A2A v1.0 §4.2.2).
    """
    if not pieces:
        return artifacts
    folded: dict[str, JsonObject] = {artifact["artifactId"]: artifact for artifact in json.loads(artifacts)}
    for piece in pieces:
        update = json.loads(piece)["artifactUpdate"]
        artifact = update["artifact"]
        known = folded.get(artifact["artifactId"])
        if known is not None and update.get("append", False):
            known["parts"].extend(artifact["parts"])
        else:
            folded[artifact["artifactId"]] = artifact
    return json_bytes(list(folded.values()))
