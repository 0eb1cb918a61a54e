"""The HTTP+JSON binding (A2A v1.0 §11): paths and HTTP methods instead of an envelope."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from innkeeper.contract.errors import Answerable, InvalidParams, InvalidRequest
from innkeeper.contract.message import JSON
from innkeeper.edge.answers import Answers, error_info
from innkeeper.edge.door import Admission
from innkeeper.edge.event_ids import last_event_id
from innkeeper.edge.extensions import activated_header, extensions_from_header
from innkeeper.edge.faults import NewId
from innkeeper.edge.http import Exchange, Limits, Reply, status_json
from innkeeper.edge.methods import METHODS, request_from_params
from innkeeper.edge.queries import params_from_query
from innkeeper.edge.service import Call, Service
from innkeeper.edge.strict_json import json_from_bytes
from innkeeper.edge.versions import check_version

ROUTES: Final[Mapping[str, Mapping[str, str]]] = {
    "/message:send": {"POST": "SendMessage"},
    "/message:stream": {"POST": "SendStreamingMessage"},
    "/tasks": {"GET": "ListTasks"},
    "/tasks/{id}:cancel": {"POST": "CancelTask"},
    "/tasks/{id}:subscribe": {"GET": "SubscribeToTask", "POST": "SubscribeToTask"},
    "/tasks/{id}": {"GET": "GetTask"},
    "/tasks/{taskId}/pushNotificationConfigs": {
        "GET": "ListTaskPushNotificationConfigs",
        "POST": "CreateTaskPushNotificationConfig",
    },
    "/tasks/{taskId}/pushNotificationConfigs/{id}": {
        "GET": "GetTaskPushNotificationConfig",
        "DELETE": "DeleteTaskPushNotificationConfig",
    },
    "/extendedAgentCard": {"GET": "GetExtendedAgentCard"},
}
"""Which method is meant by path, below that of the tenant, and HTTP method. The first path that fits counts."""

SAID_BY_PATH: Final = frozenset({"CancelTask", "SubscribeToTask"})
"""Methods for which the path says everything, so that a POST may come without a body."""

MEDIA_TYPE: Final = b"application/a2a+json"
NOT_STORED: Final = ((b"cache-control", b"private, no-store"),)


@dataclass(frozen=True, slots=True)
class Route:
    """A path that is served: its A2A methods by HTTP method, and the params that it holds."""

    methods: Mapping[str, str]
    params: Mapping[str, str]


def find_route(path: str) -> Route | None:
    """Return what is at a path below that of a tenant; ``path`` is as it was sent, percent-encoded.

    A param is opaque: an encoded slash or colon in it separates nothing.
    """
    for pattern, methods in _PATTERNS:
        if match := pattern.fullmatch(path):
            return Route(methods, {name: unquote(value) for name, value in match.groupdict().items()})
    return None


class PlainForm:
    """Results as they are, errors as ``google.rpc.Status`` with their ``google.rpc.ErrorInfo`` (§11.6)."""

    def result(self, body: bytes) -> Reply:
        """Return the answer with a result."""
        return Reply(200, body, NOT_STORED, MEDIA_TYPE)

    def event(self, body: bytes) -> bytes:
        """Return the data of an event."""
        return body

    def refusal(self, error: Answerable) -> Reply:
        """Return the answer with an error."""
        return Reply(error.status, _status(error), NOT_STORED)

    def failure(self, error: Answerable) -> bytes:
        """Return the event that ends a stream which failed: its type tells it from the task's own."""
        return b"event: error\ndata: " + _status(error)


class Rest:
    """Answers the requests of the HTTP+JSON binding. ``unversioned`` is the version meant by one that names none."""

    def __init__(self, service: Service, limits: Limits, *, new_id: NewId, unversioned: str = "1.0") -> None:
        self._service = service
        self._limits = limits
        self._answers = Answers(limits, new_id)
        self._form = PlainForm()
        self._unversioned = unversioned

    async def answer(self, exchange: Exchange, admission: Admission, tenant_id: str, route: Route) -> None:
        """Do what path and method say, and send the answer. ``route`` has the request's HTTP method.

        A body is read only where there is one to read, once tenant and version are known to be served.

        Raises:
            Refusal: 415, 413 or 408 for the body, 503 when the host cannot take the request now.
            ClientGone: the client left before its request was whole.
        """
        name = route.methods[exchange.method]
        method = METHODS[name]
        try:
            tenant = admission.tenant(tenant_id, self._service.find_tenant)
            check_version(exchange, self._unversioned)
            call = Call(
                tenant,
                admission.caller,
                by_path=True,
                extensions=extensions_from_header(exchange),
                last_event_id=last_event_id(exchange),
            )
            if exchange.method == "POST":
                params = await self._body(exchange, may_be_empty=name in SAID_BY_PATH)
            else:
                params = params_from_query(exchange.query, method.request)
            whole = _with_path(params, {"tenant": tenant_id, **route.params})
            result = await method.operation(self._service, call, request_from_params(method, whole))
            await self._answers.give(exchange, self._form, result, activated_header(call.activated))
        except Exception as error:  # noqa: BLE001 - every error has an answer
            await self._answers.refuse(exchange, self._form, error)

    async def _body(self, exchange: Exchange, *, may_be_empty: bool) -> Mapping[str, JSON]:
        if not may_be_empty or exchange.header(b"content-type"):
            exchange.require_json()
        body = await exchange.read_body(self._limits)
        if may_be_empty and not body:
            return {}
        exchange.require_json()
        request = json_from_bytes(body)
        if not isinstance(request, Mapping):
            raise InvalidRequest("The body must be an object")
        return request


def _with_path(params: Mapping[str, JSON], path: Mapping[str, str]) -> Mapping[str, JSON]:
    """Add what the path says; it may be said again, and then in the same words."""
    for name, value in path.items():
        if params.get(name) not in (None, "", value):
            raise InvalidParams(f"{name} contradicts the path")
    return {**params, **path}


def _status(error: Answerable) -> bytes:
    return status_json(error.status, error.grpc_status, error.message, error_info(error))


def _pattern(template: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", template))


def with_head(methods: Mapping[str, str]) -> Mapping[str, str]:
    """Add HEAD where there is a GET (RFC 9110 §9.3.2)."""
    return {**methods, "HEAD": methods["GET"]} if "GET" in methods else methods


_PATTERNS: Final = tuple((_pattern(template), with_head(methods)) for template, methods in ROUTES.items())
