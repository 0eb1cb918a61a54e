"""The params of requests that have no body: what the query says, typed as JSON would type it (A2A v1.0 §11.5)."""

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl

from google.protobuf import message
from google.protobuf.descriptor import FieldDescriptor

from innkeeper.contract.errors import InvalidParams
from innkeeper.contract.message import JSON
from innkeeper.edge.methods import misfit

_TRUTH: Final[Mapping[str, bool]] = {"true": True, "false": False}
_INTEGER: Final = re.compile(r"-?\d{1,18}", re.ASCII)


def params_from_query(query: bytes, request: type[message.Message]) -> dict[str, JSON]:
    """Read the fields of a request type; their names are written as in JSON, and others are passed over.

    Raises:
        InvalidParams: a field is given twice or has a wrong type; the text names it.
    """
    try:
        pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, errors="strict")
    except ValueError:
        raise InvalidParams("The query is not percent-encoded UTF-8") from None
    fields = {field.json_name: field for field in request.DESCRIPTOR.fields}
    params: dict[str, JSON] = {}
    for name, text in pairs:
        if name in params:
            raise InvalidParams(f"{name} is given twice")
        if name in fields:
            params[name] = _typed(fields[name], text)
    return params


def _typed(field: FieldDescriptor, text: str) -> JSON:
    if field.type == FieldDescriptor.TYPE_BOOL:
        if text not in _TRUTH:
            raise misfit(field.json_name)
        return _TRUTH[text]
    if field.type == FieldDescriptor.TYPE_INT32:
        if not _INTEGER.fullmatch(text):
            raise misfit(field.json_name)
        return int(text)
    return text
