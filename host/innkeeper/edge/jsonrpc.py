"""The JSON-RPC binding (A2A v1.0 §9): one request in, one response or one stream of responses out."""

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from a2a.types import a2a_pb2 as pb
from google.protobuf import json_format, message

from innkeeper.contract.caller import Caller
from innkeeper.contract.errors import Answerable, InvalidParams, InvalidRequest, MethodNotFound, Unavailable
from innkeeper.contract.message import JSON
from innkeeper.edge import sse
from innkeeper.edge.faults import NewId, answerable
from innkeeper.edge.http import Exchange, Limits, Reply, unavailable
from innkeeper.edge.service import Call, Service, Stream
from innkeeper.edge.strict_json import json_from_bytes
from innkeeper.edge.versions import check_version
from innkeeper.registry.tenants import Tenant

Operation: TypeAlias = Callable[[Service, Call, Any], Awaitable[bytes | Stream]]


@dataclass(frozen=True, slots=True)
class Method:
    """What a method takes and which operation it is. ``states`` names params that hold a task state's name."""

    request: Callable[[], message.Message]
    operation: Operation
    states: tuple[str, ...] = ()


METHODS: Final[Mapping[str, Method]] = {
    "SendMessage": Method(pb.SendMessageRequest, Service.send),
    "SendStreamingMessage": Method(pb.SendMessageRequest, Service.stream),
    "GetTask": Method(pb.GetTaskRequest, Service.get),
    "ListTasks": Method(pb.ListTasksRequest, Service.list, states=("status",)),
    "CancelTask": Method(pb.CancelTaskRequest, Service.cancel),
    "SubscribeToTask": Method(pb.SubscribeToTaskRequest, Service.subscribe),
    "GetExtendedAgentCard": Method(pb.GetExtendedAgentCardRequest, Service.card),
    "CreateTaskPushNotificationConfig": Method(pb.TaskPushNotificationConfig, Service.push_config),
    "GetTaskPushNotificationConfig": Method(pb.GetTaskPushNotificationConfigRequest, Service.push_config),
    "ListTaskPushNotificationConfigs": Method(pb.ListTaskPushNotificationConfigsRequest, Service.push_config),
    "DeleteTaskPushNotificationConfig": Method(pb.DeleteTaskPushNotificationConfigRequest, Service.push_config),
}

_STATE_NAMES: Final = frozenset(pb.TaskState.keys())
_FAILED_FIELD: Final = re.compile(r"Failed to parse (\w+) field: ")
_FAILED_PATH: Final = re.compile(r" at \"?\w+\.([\w.\[\]]+?)\"?\.*$")


@dataclass(frozen=True, slots=True)
class Envelope:
    """A request's id, as JSON, and the responses that carry it."""

    id: bytes = b"null"

    def result(self, body: bytes) -> bytes:
        """Splice an encoded result into a response."""
        return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (self.id, body)

    def error(self, error: Answerable) -> bytes:
        """Encode an error response with its ``google.rpc.ErrorInfo`` (§9.5)."""
        info = {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": error.reason,
            "domain": "a2a-protocol.org",
            "metadata": {},
        }
        body = json.dumps({"code": error.code, "message": error.message, "data": [info]}).encode()
        return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (self.id, body)


class JsonRpc:
    """Answers JSON-RPC requests.

    ``sole_tenant`` is who is meant where neither the path nor
    the params name a tenant; None means that one must be named.
    """

    def __init__(
        self,
        service: Service,
        limits: Limits,
        *,
        new_id: NewId,
        sole_tenant: str | None = None,
    ) -> None:
        self._service = service
        self._new_id = new_id
        self._limits = limits
        self._sole_tenant = sole_tenant

    async def answer(self, exchange: Exchange, caller: Caller, path_tenant: str | None) -> None:
        """Read the request, do what it says, and send the response.

        Raises:
            Refusal: 415, 413 or 408 for the body, 503 when the host cannot take the request now.
            ClientGone: the client left before its request was whole.
        """
        exchange.require_json()
        body = await exchange.read_body(self._limits)
        envelope = Envelope()
        try:
            request = _object(json_from_bytes(body))
            envelope = Envelope(_id(request))
            method, params = _method_and_params(request)
            if "id" not in request:
                await exchange.reply(Reply(204))  # a notification: nobody could be told what came of it
                return
            result = await self._result(exchange, caller, path_tenant, method, params)
            if isinstance(result, Stream):
                await self._stream(exchange, result, envelope)
            else:
                await exchange.reply(Reply(200, envelope.result(result)))
        except Unavailable as error:
            raise unavailable(error.message, error.retry_after) from error
        except Exception as error:
            if exchange.started:
                raise
            await exchange.reply(Reply(200, envelope.error(answerable(error, self._new_id))))

    async def _result(
        self, exchange: Exchange, caller: Caller, path_tenant: str | None, name: str, params: JSON
    ) -> bytes | Stream:
        check_version(exchange)
        method = METHODS.get(name)
        if method is None:
            raise MethodNotFound
        if not isinstance(params, Mapping):
            raise InvalidParams("params must be an object")
        tenant = self._tenant(params, path_tenant)
        call = Call(tenant, caller, by_path=path_tenant is not None)
        return await method.operation(self._service, call, _request_from_params(method, params))

    def _tenant(self, params: Mapping[str, JSON], path_tenant: str | None) -> Tenant:
        named = params.get("tenant")
        if named is not None and not isinstance(named, str):
            raise InvalidParams("params.tenant must be a string")
        if named and path_tenant is not None and named != path_tenant:
            raise InvalidParams("params.tenant contradicts the path")
        tenant_id = named or path_tenant or self._sole_tenant
        if not tenant_id:
            raise InvalidParams("params.tenant is required; GetExtendedAgentCard needs it too")
        tenant = self._service.find_tenant(tenant_id)
        if tenant is None:
            raise InvalidParams("unknown tenant")
        return tenant

    async def _stream(self, exchange: Exchange, stream: Stream, envelope: Envelope) -> None:
        def failed(error: Exception) -> bytes:
            return envelope.error(answerable(error, self._new_id))

        await sse.answer(exchange, stream, self._limits, frame=envelope.result, failed=failed)


def _object(request: JSON) -> Mapping[str, JSON]:
    if not isinstance(request, Mapping):
        raise InvalidRequest("The request must be one object; batches are not part of A2A")
    return request


def _id(request: Mapping[str, JSON]) -> bytes:
    request_id = request.get("id")
    if request_id is not None and (isinstance(request_id, bool) or not isinstance(request_id, str | int)):
        raise InvalidRequest("id must be a string, an integer or null")
    return json.dumps(request_id).encode()


def _method_and_params(request: Mapping[str, JSON]) -> tuple[str, JSON]:
    method, params = request.get("method"), request.get("params")
    if request.get("jsonrpc") != "2.0":
        raise InvalidRequest('jsonrpc must be "2.0"')
    if not isinstance(method, str):
        raise InvalidRequest("method must be a string")
    return method, {} if params is None else params


def _request_from_params(method: Method, params: Mapping[str, JSON]) -> message.Message:
    """Fill the request type. Unknown fields are passed over, as a later minor version may add some (§3.6)."""
    request = method.request()
    try:
        json_format.ParseDict(params, request, ignore_unknown_fields=True)
    except json_format.ParseError as error:
        raise InvalidParams(f"{_field(str(error))} has a wrong type or value") from None
    for name in method.states:  # the parser takes an unknown name for an unknown field
        state = params.get(name)
        if isinstance(state, str) and state not in _STATE_NAMES:
            raise InvalidParams(f"{name} is not a state of tasks")
    return request


def _field(complaint: str) -> str:
    """Find the field that the parser complains about; its own words are not for callers."""
    if path := _FAILED_PATH.search(complaint):
        return path[1]
    return ".".join(_FAILED_FIELD.findall(complaint)) or "params"
