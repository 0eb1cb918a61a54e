"""What our JSON says, and what is refused before it gets in or out."""

import json
import math
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

import pytest
from a2a.types import a2a_pb2
from google.protobuf.json_format import ParseDict

from innkeeper.contract.errors import InvalidParams
from innkeeper.contract.message import Message, Part
from innkeeper.edge.wire import (
    MAX_DEPTH,
    MAX_ID_LENGTH,
    WireCodec,
    fold_artifacts,
    incoming_from_request,
    list_json,
    message_from_body,
    part_from_proto,
    state_from_proto,
    task_json,
)
from innkeeper.ports.codec import Codec
from innkeeper.ports.events import ArtifactPiece, State, Status
from innkeeper.ports.store import TaskPage, TaskRecord, TaskView

CODEC: Codec = WireCodec()
AT = datetime(2026, 3, 4, 5, 6, 7, 89_000, tzinfo=UTC)
AT_US = (AT - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def message(*parts: Part, role: Any = "agent", **metadata: Any) -> Message:
    return Message("m1", role, parts or (Part(text="hi"),), AT, metadata)


def update(artifact_id: str, text: str, *, append: bool = False, name: str = "") -> bytes:
    return CODEC.artifact_update(ArtifactPiece(artifact_id, (Part(text=text),), name, append=append), "t", "c")


def request(**changes: Any) -> a2a_pb2.SendMessageRequest:
    """A request that is taken, with members of its message replaced, or left out where None is given."""
    sent: dict[str, Any] = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "hi"}]}
    sent = {key: value for key, value in (sent | changes).items() if value is not None}
    return ParseDict({"message": sent}, a2a_pb2.SendMessageRequest())


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def test_a_status_says_state_message_and_time() -> None:
    written = CODEC.status(Status(State.INPUT_REQUIRED, AT_US, message(Part(text="Which?"))), "t", "c")
    assert json.loads(written) == {
        "state": "TASK_STATE_INPUT_REQUIRED",
        "message": {
            "messageId": "m1",
            "role": "ROLE_AGENT",
            "parts": [{"text": "Which?"}],
            "contextId": "c",
            "taskId": "t",
        },
        "timestamp": "2026-03-04T05:06:07.089Z",
    }


def test_every_state_has_its_name_and_number() -> None:
    for state in State:
        name = json.loads(CODEC.status(Status(state, 0), "t", "c"))["state"]
        assert state_from_proto(a2a_pb2.TaskState.Value(name)) is state
    assert state_from_proto(a2a_pb2.TASK_STATE_UNSPECIFIED) is None
    assert state_from_proto(99) is None


@pytest.mark.parametrize(
    ("part", "laid"),
    [
        (Part(text=""), {"text": ""}),
        (Part(data=None), {"data": None}),
        (Part(data=MappingProxyType({"a": (1, 2.5, True)})), {"data": {"a": [1, 2.5, True]}}),
        (Part(url="https://x.test/a", media_type="image/png"), {"url": "https://x.test/a", "mediaType": "image/png"}),
        (Part(raw=b"\xfb\xff", filename="a.bin"), {"raw": "+/8=", "filename": "a.bin"}),
        (Part(text="x", metadata={"k": None}), {"text": "x", "metadata": {"k": None}}),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_each_kind_of_part_is_laid_out_as_the_specification_says(part: Part, laid: dict[str, Any]) -> None:
    assert json.loads(CODEC.message_body(message(part)))["parts"] == [laid]


def test_an_artifact_piece_says_append_and_last_chunk_only_where_true() -> None:
    whole = ArtifactPiece("a", (Part(text="x"),), "report", "The report.")
    chunk = ArtifactPiece("a", (Part(text="x"),), append=True, last=False)
    artifact = {"artifactId": "a", "parts": [{"text": "x"}]}
    ids = {"taskId": "t", "contextId": "c"}
    assert json.loads(CODEC.artifact_update(whole, "t", "c")) == {
        "artifactUpdate": ids
        | {"artifact": artifact | {"name": "report", "description": "The report."}, "lastChunk": True}
    }
    assert json.loads(CODEC.artifact_update(chunk, "t", "c")) == {
        "artifactUpdate": ids | {"artifact": artifact, "append": True}
    }


@pytest.mark.parametrize(
    ("pieces", "folded"),
    [
        ([], {}),
        ([update("a", "1"), update("b", "2")], {"a": ["1"], "b": ["2"]}),
        ([update("a", "1"), update("b", "2"), update("a", "3")], {"a": ["3"], "b": ["2"]}),
        ([update("a", "1"), update("a", "2", append=True)], {"a": ["1", "2"]}),
        ([update("a", "1", append=True), update("a", "2", append=True)], {"a": ["1", "2"]}),
        ([update("a", "1"), update("a", "2", append=True), update("a", "3")], {"a": ["3"]}),
    ],
)
def test_artifact_pieces_fold_whole_and_in_two_halves(pieces: list[bytes], folded: dict[str, list[str]]) -> None:
    for cut in range(len(pieces) + 1):
        artifacts = json.loads(fold_artifacts(CODEC.fold_artifacts(b"[]", pieces[:cut]), pieces[cut:]))
        assert {
            artifact["artifactId"]: [part["text"] for part in artifact["parts"]] for artifact in artifacts
        } == folded


def test_a_task_has_its_ids_in_every_message_and_leaves_out_what_is_empty() -> None:
    status = CODEC.status(Status(State.WORKING, AT_US), "t", "c")
    record = TaskRecord("t", "tenant", "key", "s", "c", State.WORKING, status, AT_US, 1)
    bare = {
        "id": "t",
        "contextId": "c",
        "status": {"state": "TASK_STATE_WORKING", "timestamp": "2026-03-04T05:06:07.089Z"},
    }
    assert json.loads(task_json(TaskView(record))) == bare

    full = TaskView(record, (CODEC.message_body(message(role="user")),), pieces=(update("a", "1", name="n"),))
    assert json.loads(task_json(full)) == bare | {
        "artifacts": [{"artifactId": "a", "name": "n", "parts": [{"text": "1"}]}],
        "history": [
            {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "hi"}], "contextId": "c", "taskId": "t"}
        ],
    }


def test_an_empty_page_still_has_every_required_field() -> None:
    assert json.loads(list_json(TaskPage((), more=False, total=0), "", 50)) == {
        "tasks": [],
        "nextPageToken": "",
        "pageSize": 50,
        "totalSize": 0,
    }


@pytest.mark.parametrize("end", ["\n", "\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"])
def test_no_line_end_survives_unescaped(end: str) -> None:
    body = CODEC.message_body(message(Part(text=f"a{end}b"), **{f"k{end}": end}))
    assert len(body.decode().splitlines()) == 1
    assert message_from_body(body, 0).text == f"a{end}b"


def test_text_that_is_not_ascii_travels_as_it_is() -> None:
    assert "é😀e\u0301".encode() in CODEC.message_body(message(Part(text="é😀e\u0301")))


def test_a_lone_surrogate_from_an_agent_becomes_the_replacement_character() -> None:
    body = CODEC.message_body(message(Part(text="a\ud800é\udc00\u2028z")))
    assert message_from_body(body, 0).text == "a\ufffdé\ufffd\u2028z"


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        [math.inf],
        {"a": -math.inf},
        10**400,
        {1: "x"},
        b"bytes",
        object(),
        {"a": {1, 2}},
        nested(MAX_DEPTH + 1),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_an_agent_cannot_put_out_what_json_cannot_carry(value: Any) -> None:
    with pytest.raises(ValueError, match=r"number|keys|carry|deeper"):
        CODEC.message_body(message(Part(data=value)))
    with pytest.raises(ValueError, match=r"number|keys|carry|deeper"):
        CODEC.artifact_update(ArtifactPiece("a", (Part(text="", metadata={"k": value}),)), "t", "c")


def test_a_request_is_taken_apart() -> None:
    sent = request(
        taskId="t", contextId="c", metadata={"a": 1, "b": 1.5}, extensions=["https://x.test"], referenceTaskIds=["r"]
    )
    sent.metadata.update({"a": 0, "z": None})
    sent.configuration.history_length = 0
    sent.configuration.return_immediately = True
    incoming = incoming_from_request(sent)
    assert json.loads(incoming.body) == {
        "messageId": "m1",
        "role": "ROLE_USER",
        "parts": [{"text": "hi"}],
        "metadata": {"a": 1, "b": 1.5},
        "extensions": ["https://x.test"],
        "referenceTaskIds": ["r"],
    }
    assert incoming.metadata == {"a": 1, "b": 1.5, "z": None}
    assert (incoming.message_id, incoming.task_id, incoming.context_id) == ("m1", "t", "c")
    assert (incoming.history_length, incoming.return_immediately) == (0, True)


def test_what_a_request_leaves_unsaid_is_none() -> None:
    incoming = incoming_from_request(request())
    assert (incoming.task_id, incoming.context_id, incoming.history_length) == (None, None, None)
    assert (incoming.metadata, incoming.return_immediately) == ({}, False)


def test_a_digest_tells_messages_apart_and_nothing_else() -> None:
    first = incoming_from_request(request(metadata={"a": 1, "b": 2}))
    again = request(metadata={"b": 2, "a": 1})
    again.configuration.return_immediately = True
    assert incoming_from_request(again).digest == first.digest
    for changes in ({"parts": [{"text": "ho"}]}, {"contextId": "c"}, {"extensions": ["x"]}, {"metadata": {"a": 1}}):
        assert incoming_from_request(request(**({"metadata": {"a": 1, "b": 2}} | changes))).digest != first.digest


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"messageId": None}, "message.messageId"),
        ({"messageId": ""}, "message.messageId"),
        ({"messageId": "x" * (MAX_ID_LENGTH + 1)}, "message.messageId"),
        ({"taskId": "x" * (MAX_ID_LENGTH + 1)}, "message.taskId"),
        ({"contextId": "x" * (MAX_ID_LENGTH + 1)}, "message.contextId"),
        ({"referenceTaskIds": ["r", "x" * (MAX_ID_LENGTH + 1)]}, "message.referenceTaskIds"),
        ({"role": None}, "message.role"),
        ({"role": "ROLE_AGENT"}, "message.role"),
        ({"role": 7}, "message.role"),
        ({"parts": None}, "message.parts"),
        ({"parts": []}, "message.parts"),
        ({"parts": [{"text": "x"}, {}]}, "message.parts[1]"),
        ({"parts": [{"filename": "x"}]}, "message.parts[0]"),
        ({"parts": [{"data": nested(MAX_DEPTH + 1)}]}, "message.parts[0]"),
        ({"metadata": {"a": nested(MAX_DEPTH)}}, "message.metadata"),
    ],
)
def test_a_message_that_is_wrong_is_refused_by_the_name_of_its_field(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidParams) as refused:
        incoming_from_request(request(**changes))
    assert refused.value.message.startswith((f"{field} ", f"{field}: "))


def test_a_request_without_a_message_or_with_a_negative_history_length_is_refused() -> None:
    with pytest.raises(InvalidParams, match=r"^message is required"):
        incoming_from_request(a2a_pb2.SendMessageRequest())
    negative = request()
    negative.configuration.history_length = -1
    with pytest.raises(InvalidParams, match=r"^configuration\.historyLength"):
        incoming_from_request(negative)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_cannot_carry_is_refused_wherever_it_hides(number: float) -> None:
    in_data, in_part, in_message, in_request = request(), request(), request(), request()
    in_data.message.parts.append(a2a_pb2.Part(data={"list_value": {"values": [{"number_value": number}]}}))
    in_part.message.parts[0].metadata.update({"n": number})
    in_message.message.metadata.update({"n": number})
    in_request.metadata.update({"n": number})
    for sent, field in (
        (in_data, "message.parts[1]"),
        (in_part, "message.parts[0]"),
        (in_message, "message.metadata"),
        (in_request, "metadata"),
    ):
        with pytest.raises(InvalidParams) as refused:
            incoming_from_request(sent)
        assert refused.value.message.startswith(f"{field}: a number")


def test_ids_of_the_greatest_length_and_a_nul_in_a_text_are_taken_unchanged() -> None:
    incoming = incoming_from_request(request(messageId="x" * MAX_ID_LENGTH, parts=[{"text": "a\0b"}]))
    assert message_from_body(incoming.body, AT_US) == Message("x" * MAX_ID_LENGTH, "user", (Part(text="a\0b"),), AT)


def test_whole_numbers_reach_an_agent_as_integers_unless_a_double_blurs_them() -> None:
    read = part_from_proto(ParseDict({"data": [1.0, -3, 2**53, 1e300, 0.5]}, a2a_pb2.Part())).data
    assert isinstance(read, list)
    assert [(type(number), number) for number in read] == [
        (int, 1),
        (int, -3),
        (int, 2**53),
        (float, 1e300),
        (float, 0.5),
    ]
