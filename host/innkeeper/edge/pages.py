"""Listing tasks in pages: what is asked, and the token that says where the next page begins (A2A v1.0 §3.1.4)."""

from dataclasses import dataclass, replace
from typing import Final

from a2a.types import a2a_pb2 as pb

from innkeeper.contract.errors import InvalidParams
from innkeeper.edge.page_tokens import DEFAULT_PAGE_SIZE, checked_page_size, position_from_token, token_from_position
from innkeeper.edge.wire import state_from_proto
from innkeeper.ports.store import TaskPage, TaskQuery

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
        limit=checked_page_size(request.page_size) if request.HasField("page_size") else DEFAULT_PAGE_SIZE,
        history_length=history_length,
        artifacts=request.include_artifacts,
    )
    if request.status and query.state is None:
        raise InvalidParams("status is not a state of tasks")
    if not request.page_token:
        return query
    return replace(query, after=position_from_token(request.page_token, _listing(query, scope), _position))


def next_token(page: TaskPage, query: TaskQuery, scope: Scope) -> str:
    """Return the token of the next page, empty on the last one."""
    if not page.more or not page.tasks:
        return ""
    last = page.tasks[-1].task
    position = last.status_at_us.to_bytes(_TIME_BYTES, "big", signed=True) + last.id.encode()
    return token_from_position(position, _listing(query, scope))


def _since_us(request: pb.ListTasksRequest) -> int | None:
    """Return the first microsecond that is not before the given moment."""
    if not request.HasField("status_timestamp_after"):
        return None
    moment = request.status_timestamp_after
    since_us: int = moment.seconds * 1_000_000 - (-moment.nanos // 1000)
    return since_us


def _position(position: bytes) -> tuple[int, str]:
    return int.from_bytes(position[:_TIME_BYTES], "big", signed=True), position[_TIME_BYTES:].decode()


def _listing(query: TaskQuery, scope: Scope) -> object:
    return scope.tenant_id, scope.caller_key, query.context_id, query.state, query.status_since_us
