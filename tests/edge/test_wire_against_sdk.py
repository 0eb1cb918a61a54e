"""Our hand-written JSON and the SDK's protobuf read each other without loss."""

import json
from datetime import UTC, datetime
from typing import Any

from a2a.types import a2a_pb2
from google.protobuf.json_format import MessageToDict, ParseDict
from hypothesis import example, given
from hypothesis import strategies as st

from innkeeper.contract.message import Message, Part
from innkeeper.edge.wire import (
    MAX_DEPTH,
    WireCodec,
    fold_artifacts,
    incoming_from_request,
    list_json,
    message_from_body,
    part_from_proto,
    proto_from_message,
    task_json,
)
from innkeeper.ports.events import ArtifactPiece, State, Status
from innkeeper.ports.store import TaskPage, TaskRecord, TaskView

CODEC = WireCodec()
STATE_NAMES = tuple(a2a_pb2.TaskState.keys())
AWKWARD = 'é e\u0301 😀 \u0000\u0085\u2028\u2029\x7f"\\/</script>\r\n'

texts = st.text(st.characters(exclude_categories=["Cs"])) | st.just(AWKWARD)
ids = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
numbers = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(texts, values, max_size=3)
some_objects = st.dictionaries(texts, values, min_size=1, max_size=3)  # an empty one is as good as none
contents = st.one_of(
    st.builds(dict, text=texts),
    st.builds(dict, url=texts),
    st.builds(dict, raw=st.binary()),
    st.builds(dict, data=values),
)
parts = st.builds(
    lambda content, extra: Part(**content, **extra),
    contents,
    st.fixed_dictionaries({}, optional={"media_type": texts, "filename": texts, "metadata": objects}),
)
some_parts = st.lists(parts, min_size=1, max_size=3).map(tuple)
moments = st.integers(0, 253_402_300_799_999_999)
messages = st.builds(
    Message,
    id=ids,
    role=st.sampled_from(["user", "agent"]),
    parts=some_parts,
    at=st.just(datetime(2026, 1, 2, tzinfo=UTC)),
    metadata=objects,
)
statuses = st.builds(Status, state=st.sampled_from(State), at_us=moments, message=st.none() | messages)
pieces = st.builds(
    ArtifactPiece,
    artifact_id=st.sampled_from(["a", "b", AWKWARD]),
    parts=some_parts,
    name=texts,
    description=texts,
    append=st.booleans(),
    last=st.booleans(),
)
sdk_parts = st.builds(
    lambda content, extra: ParseDict(content | extra, a2a_pb2.Part()),
    st.builds(dict, text=texts)
    | st.builds(dict, url=texts)
    | st.builds(dict, data=values)
    | st.builds(dict, raw=st.sampled_from(["", "AA==", "+/+/"])),
    st.fixed_dictionaries({}, optional={"mediaType": texts, "filename": texts, "metadata": some_objects}),
)
sdk_messages = st.builds(
    lambda parts, fields: ParseDict(fields, a2a_pb2.Message(role=a2a_pb2.ROLE_USER, parts=parts)),
    st.lists(sdk_parts, min_size=1, max_size=3),
    st.fixed_dictionaries(
        {"messageId": ids},
        optional={
            "contextId": ids,
            "taskId": ids,
            "metadata": some_objects,
            "extensions": st.lists(texts, max_size=2),
            "referenceTaskIds": st.lists(ids, max_size=2),
        },
    ),
)


def read_by_sdk(ours: bytes, kind: Any) -> dict[str, Any]:
    """Parse as strictly as the SDK's parser can, and give back what it understood."""
    return MessageToDict(ParseDict(json.loads(ours), kind))


def as_sdk_writes(ours: bytes) -> Any:
    """Our JSON, its timestamps with the fraction that protobuf would write."""
    return json.loads(ours, object_hook=_without_zero_fraction)


def _without_zero_fraction(laid: dict[str, Any]) -> dict[str, Any]:
    if laid.get("state") in STATE_NAMES:
        laid["timestamp"] = laid["timestamp"].replace(".000Z", "Z")
    return laid


def is_one_line(body: bytes) -> bool:
    return len(body.decode().splitlines()) == 1


@given(statuses, ids, ids)
@example(Status(State.WORKING, 0), "t", "c")
def test_a_status_update_is_read_by_the_sdk_as_written(status: Status, task_id: str, context_id: str) -> None:
    body = CODEC.status_update(CODEC.status(status, task_id, context_id), task_id, context_id)
    assert read_by_sdk(body, a2a_pb2.StreamResponse()) == as_sdk_writes(body)
    assert is_one_line(body)


@given(statuses, ids, ids, messages)
def test_an_opening_is_read_by_the_sdk_as_written(
    status: Status, task_id: str, context_id: str, first: Message
) -> None:
    body = CODEC.opening(CODEC.status(status, task_id, context_id), task_id, context_id, CODEC.message_body(first))
    assert read_by_sdk(body, a2a_pb2.StreamResponse()) == as_sdk_writes(body)
    assert is_one_line(body)


@given(pieces, ids, ids)
def test_an_artifact_update_is_read_by_the_sdk_as_written(piece: ArtifactPiece, task_id: str, context_id: str) -> None:
    body = CODEC.artifact_update(piece, task_id, context_id)
    assert read_by_sdk(body, a2a_pb2.StreamResponse()) == as_sdk_writes(body)
    assert is_one_line(body)


@given(st.lists(messages, max_size=3), st.lists(pieces, max_size=4), statuses, ids, ids)
def test_tasks_and_pages_of_them_are_read_by_the_sdk_as_written(
    history: list[Message], put: list[ArtifactPiece], status: Status, task_id: str, context_id: str
) -> None:
    written = CODEC.status(status, task_id, context_id)
    record = TaskRecord(task_id, "tenant", "key", "s", context_id, status.state, written, status.at_us, 1)
    events = tuple(CODEC.artifact_update(piece, task_id, context_id) for piece in put)
    half = len(events) // 2
    view = TaskView(
        record, tuple(map(CODEC.message_body, history)), fold_artifacts(b"[]", events[:half]), events[half:]
    )
    body = task_json(view)
    assert read_by_sdk(body, a2a_pb2.Task()) == as_sdk_writes(body)
    page = list_json(TaskPage((view, view), more=True, total=9), AWKWARD, 2)
    assert read_by_sdk(page, a2a_pb2.ListTasksResponse()) == as_sdk_writes(page)
    assert is_one_line(body)
    assert is_one_line(page)


@given(messages)
def test_a_stored_message_comes_back_as_it_was(message: Message) -> None:
    at_us = 1_767_312_000_000_000
    assert message_from_body(CODEC.message_body(message), at_us) == message


@given(messages)
def test_an_agent_of_the_sdk_is_given_the_same_parts(message: Message) -> None:
    given_to_it = proto_from_message(message, "t", "c")
    assert tuple(part_from_proto(part) for part in given_to_it.parts) == message.parts


@given(sdk_messages)
def test_what_the_sdk_sent_is_stored_without_loss(sent: a2a_pb2.Message) -> None:
    incoming = incoming_from_request(a2a_pb2.SendMessageRequest(message=sent))
    stored = ParseDict(json.loads(incoming.body), a2a_pb2.Message())
    assert (incoming.task_id or "", incoming.context_id or "") == (sent.task_id, sent.context_id)
    stored.task_id, stored.context_id = sent.task_id, sent.context_id
    assert MessageToDict(stored) == MessageToDict(sent)
    assert is_one_line(incoming.body)


def test_data_nested_as_deep_as_we_take_it_is_read_by_the_sdk_everywhere() -> None:
    for wrap in (lambda inner: [inner], lambda inner: {"a": inner}):
        data: Any = "bottom"
        for _ in range(MAX_DEPTH):
            data = wrap(data)
        message = Message("m", "user", (Part(data=data),), datetime(2026, 1, 2, tzinfo=UTC))
        status = CODEC.status(Status(State.WORKING, 0, message), "t", "c")
        body = CODEC.opening(status, "t", "c", CODEC.message_body(message))
        read = ParseDict(json.loads(body), a2a_pb2.StreamResponse())
        read = a2a_pb2.StreamResponse.FromString(read.SerializeToString())
        assert incoming_from_request(a2a_pb2.SendMessageRequest(message=read.task.history[0])).message_id == "m"
