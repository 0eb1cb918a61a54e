"""Which parts an agent takes, by their media types."""

import pytest
from a2a.types import a2a_pb2 as pb
from google.protobuf import json_format

from innkeeper.contract.agent import Agent
from innkeeper.contract.errors import ContentTypeNotSupported
from innkeeper.edge.input_modes import require_input_modes

pytestmark = pytest.mark.anyio

RAW = {"raw": "dGNr"}
URL = {"url": "https://files.example/x"}

# The modes of an agent, a part, and whether the agent takes it.
PARTS = [
    (("text/plain",), {"text": "hi"}, True),
    (("text/plain",), {"text": "hi", "mediaType": "text/plain"}, True),
    (("text/plain",), {"text": "# hi", "mediaType": "text/markdown"}, True),
    (("text/plain",), {"text": "<a/>", "mediaType": "application/xml"}, False),
    (("text/plain",), {"data": {"a": 1}}, True),
    (("text/plain",), {"data": {"a": 1}, "mediaType": "application/json"}, True),
    (("text/plain",), {"data": {"a": 1}, "mediaType": "application/geo+json"}, True),
    (("text/plain",), {"data": {"a": 1}, "mediaType": "image/png"}, False),
    (("text/plain",), RAW, True),
    (("text/plain",), RAW | {"mediaType": "text/plain"}, True),
    (("text/plain",), RAW | {"mediaType": "Text/Plain; charset=utf-8"}, True),
    (("text/plain",), RAW | {"mediaType": "image/png"}, False),
    (("text/plain",), RAW | {"mediaType": "text"}, False),
    (("text/plain",), URL | {"mediaType": "application/pdf"}, False),
    (("image/png",), RAW | {"mediaType": "image/png"}, True),
    (("image/*",), RAW | {"mediaType": "image/png"}, True),
    (("image/*",), RAW | {"mediaType": "audio/ogg"}, False),
    (("text/plain", "*/*"), URL | {"mediaType": "application/pdf"}, True),
    (("text",), RAW | {"mediaType": "text/csv"}, True),
    (("text",), RAW | {"mediaType": "image/png"}, False),
    (("text/plain; charset=utf-8",), RAW | {"mediaType": "text/plain"}, True),
]  # fmt: skip


async def nothing(turn: object) -> None:
    """Says nothing."""


@pytest.mark.parametrize(("modes", "part", "taken"), PARTS)
def test_a_part_is_taken_if_its_media_type_is_among_the_modes(modes, part, taken):
    agent = Agent("a", nothing, input_modes=modes)
    parts = [pb.Part(text="first"), json_format.ParseDict(part, pb.Part())]
    if taken:
        require_input_modes(agent, parts)
        return
    with pytest.raises(ContentTypeNotSupported) as refused:
        require_input_modes(agent, parts)
    assert str(refused.value).startswith("message.parts[1]: ")
    assert ", ".join(modes) in str(refused.value)


@pytest.mark.parametrize("method", ["SendMessage", "SendStreamingMessage"])
async def test_a_message_with_a_part_that_is_not_taken_is_refused_and_nothing_is_done(rpc, engine, message, method):
    answer = await rpc(method, message(parts=[RAW | {"mediaType": "image/png"}]))
    assert (answer["error"]["code"], answer["error"]["data"][0]["reason"]) == (-32005, "CONTENT_TYPE_NOT_SUPPORTED")
    assert engine.calls == []
