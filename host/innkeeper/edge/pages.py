"""Listing tasks in pages: what is asked, and the token that says where the next page begins (A2A v1.0 §3.1.4)."""

import hashlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, replace
from typing import Final

from a2a.types import a2a_pb2 as pb

from innkeeper.contract.errors import InvalidParams
from innkeeper.edge.wire import state_from_proto
from innkeeper.ports.store import TaskPage, TaskQuery

DEFAULT_PAGE_SIZE: Final = 50
MAX_PAGE_SIZE: Final = 100

_SEAL_BYTES: Final = 16
_TIME_BYTES: Final = 8


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose listing it is."""

    tenant_id: str
    caller_key: str


def query_from_request(request: pb.ListTasksRequest, scope: Scope, history_length: int | None) -> TaskQuery:
    """Check and convert a request.

    Raises:
        InvalidParams: a field is out of range, or the page token is not one of this listing.
    """
    query = TaskQuery(
        context_id=request.context_id or None,
        state=state_from_proto(request.status),
        status_since_us=_since_us(request),
        limit=_page_size(request),
        history_length=history_length,
        artifacts=request.include_artifacts,
    )
    if request.status and query.state is None:
        raise InvalidParams("status is not a state of tasks")
    if not request.page_token:
        return query
    return replace(query, after=_position(request.page_token, query, scope))


def next_token(page: TaskPage, query: TaskQuery, scope: Scope) -> str:
    """Return the token of the next page, empty on the last one."""
    if not page.more or not page.tasks:
        return ""
    last = page.tasks[-1].task
    position = last.status_at_us.to_bytes(_TIME_BYTES, "big", signed=True) + last.id.encode()
    return urlsafe_b64encode(_seal(position, query, scope) + position).rstrip(b"=").decode()


def _page_size(request: pb.ListTasksRequest) -> int:
    if not request.HasField("page_size"):
        return DEFAULT_PAGE_SIZE
    if not 1 <= request.page_size <= MAX_PAGE_SIZE:
        raise InvalidParams(f"pageSize must be 1 to {MAX_PAGE_SIZE}")
    return request.page_size


def _since_us(request: pb.ListTasksRequest) -> int | None:
    """Return the first microsecond that is not before the given moment."""
    if not request.HasField("status_timestamp_after"):
        return None
    moment = request.status_timestamp_after
    since_us: int = moment.seconds * 1_000_000 - (-moment.nanos // 1000)
    return since_us


def _position(token: str, query: TaskQuery, scope: Scope) -> tuple[int, str]:
    try:
        sealed = urlsafe_b64decode(token.encode("ascii") + b"=" * (-len(token) % 4))
        seal, position = sealed[:_SEAL_BYTES], sealed[_SEAL_BYTES:]
        if seal == _seal(position, query, scope):
            return int.from_bytes(position[:_TIME_BYTES], "big", signed=True), position[_TIME_BYTES:].decode()
    except ValueError:
        pass
    raise InvalidParams("pageToken is not one of this listing")


def _seal(position: bytes, query: TaskQuery, scope: Scope) -> bytes:
    """Tie a position to the listing it was made for.

    No secret is needed: a listing holds its owner's tasks only, so a token made up by hand reaches nothing else.
    """
    listing = (scope.tenant_id, scope.caller_key, query.context_id, query.state, query.status_since_us)
    return hashlib.sha256(repr(listing).encode() + b"\n" + position).digest()[:_SEAL_BYTES]
