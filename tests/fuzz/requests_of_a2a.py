"""Requests that are nearly right: made from the protocol's own descriptors, then bent."""

import json
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from hypothesis import strategies as st

from innkeeper.edge.methods import METHODS

TEXT = st.one_of(
    st.sampled_from(
        ["", "a", "m1", "\x00", "é", "\ud800", "../..", "%2f", "a" * 5000, "TASK_STATE_WORKING", "1.0", "null"]
    ),
    st.text(max_size=12),
)
NUMBERS = st.one_of(st.sampled_from([0, 1, -1, 2**31, 2**63, 2**64, 10**400, 1e308, -0.0]), st.integers(), st.floats())
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
DEEPEST = 4
"""How far messages are filled in; the protocol's are recursive."""


def values_of(field: FieldDescriptor, depth: int) -> st.SearchStrategy[Any]:
    """Values of a field, mostly of its type."""
    match field.cpp_type:
        case FieldDescriptor.CPPTYPE_MESSAGE:
            fitting = messages_of(field.message_type, depth + 1)
        case FieldDescriptor.CPPTYPE_ENUM:
            fitting = st.sampled_from([value.name for value in field.enum_type.values]) | st.integers(-2, 20)
        case FieldDescriptor.CPPTYPE_BOOL:
            fitting = st.booleans()
        case FieldDescriptor.CPPTYPE_STRING:
            fitting = TEXT
        case _:
            fitting = NUMBERS
    if field.is_repeated:
        fitting = st.lists(fitting, max_size=3)
    return st.one_of(fitting, fitting, fitting, JSON)


def messages_of(descriptor: Descriptor, depth: int = 0) -> st.SearchStrategy[Any]:
    """JSON objects with some of the fields of a message, and perhaps some that it does not have."""
    if depth > DEEPEST or descriptor.file.package.startswith("google.protobuf"):
        return JSON
    names = st.sampled_from([field.json_name for field in descriptor.fields] or [""])
    by_name = {field.json_name: field for field in descriptor.fields}
    known = st.lists(names, max_size=5, unique=True).flatmap(
        lambda chosen: st.fixed_dictionaries(
            {name: st.deferred(lambda name=name: values_of(by_name[name], depth)) for name in chosen if name}
        )
    )
    return (
        st.one_of(known, known, known, JSON)
        if depth
        else st.tuples(known, st.dictionaries(TEXT, JSON, max_size=1)).map(lambda both: {**both[1], **both[0]})
    )


PARAMS = {name: messages_of(method.request.DESCRIPTOR) for name, method in METHODS.items()}

SENDABLE = st.fixed_dictionaries({"messageId": TEXT, "role": st.just("ROLE_USER"), "parts": st.just([{"text": "3"}])})


def dumps(value: Any) -> bytes:
    """Encode whatever it is, lone surrogates and all."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


@st.composite
def bent(draw: st.DrawFn, bodies: st.SearchStrategy[bytes]) -> bytes:
    """Bytes, as they were or with a piece cut out, doubled or replaced."""
    body = draw(bodies)
    if not body or draw(st.integers(0, 3)):
        return body
    start = draw(st.integers(0, len(body) - 1))
    stop = draw(st.integers(start, len(body)))
    return body[:start] + draw(st.sampled_from([b"", body[start:stop] * 2]) | st.binary(max_size=4)) + body[stop:]


@st.composite
def params(draw: st.DrawFn) -> tuple[str, Any]:
    """A method's name and params for it; messages are good enough to be sent every now and then."""
    name = draw(st.sampled_from(sorted(METHODS)))
    laid = draw(PARAMS[name])
    if "Send" in name and isinstance(laid, dict) and draw(st.booleans()):
        laid = {**laid, "message": draw(SENDABLE)}
    return name, laid


@st.composite
def rpc_bodies(draw: st.DrawFn) -> bytes:
    """Bodies for JSON-RPC."""
    name, laid = draw(params())
    envelope = {"jsonrpc": "2.0", "id": draw(st.just(1) | TEXT | JSON), "method": name, "params": laid}
    return dumps(draw(st.just(envelope) | st.just(envelope) | st.just([envelope]) | JSON | messages_like(envelope)))


@st.composite
def messages_like(draw: st.DrawFn, envelope: dict[str, Any]) -> dict[str, Any]:
    """The envelope, with one of its members left out or replaced."""
    member = draw(st.sampled_from(sorted(envelope)))
    kept = {name: value for name, value in envelope.items() if name != member}
    return kept if draw(st.booleans()) else {**kept, member: draw(JSON)}
