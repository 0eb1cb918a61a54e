"""The JSON-RPC binding (A2A v1.0 §9): one request in, one response or one stream of responses out."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from google.protobuf.message import Message

from innkeeper.contract.errors import Answerable, InvalidParams, InvalidRequest, MethodNotFound
from innkeeper.contract.message import JSON
from innkeeper.edge.answers import Answers, error_info
from innkeeper.edge.door import Admission
from innkeeper.edge.event_ids import last_event_id
from innkeeper.edge.extensions import activated_header, extensions_from_header
from innkeeper.edge.faults import NewId
from innkeeper.edge.http import Exchange, Limits, Reply
from innkeeper.edge.methods import METHODS, Method, request_from_params
from innkeeper.edge.service import Call, Service
from innkeeper.edge.strict_json import json_from_bytes
from innkeeper.edge.versions import check_version


@dataclass(frozen=True, slots=True)
class Envelope:
    """A request's id, as JSON, and the responses that carry it; all of them are HTTP 200."""

    id: bytes = b"null"

    def result(self, body: bytes) -> Reply:
        """Return the answer with a result."""
        return Reply(200, self.event(body))

    def event(self, body: bytes) -> bytes:
        """Splice an encoded result into a response."""
        return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (self.id, body)

    def refusal(self, error: Answerable) -> Reply:
        """Return the answer with an error."""
        return Reply(200, self._error(error))

    def failure(self, error: Answerable) -> bytes:
        """Return the event that ends a stream which failed."""
        return b"data: " + self._error(error)

    def _error(self, error: Answerable) -> bytes:
        body = json.dumps({"code": error.code, "message": error.message, "data": [error_info(error)]}).encode()
        return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (self.id, body)


class JsonRpc:
    """Answers JSON-RPC requests.

    ``sole_tenant`` is who is meant where neither the path nor the params name a tenant; None means that one must be
    named. ``unversioned`` is the version meant by a request that names none.
    """

    def __init__(
        self,
        service: Service,
        limits: Limits,
        *,
        new_id: NewId,
        sole_tenant: str | None = None,
        unversioned: str = "1.0",
    ) -> None:
        self._service = service
        self._limits = limits
        self._answers = Answers(limits, new_id)
        self._sole_tenant = sole_tenant
        self._unversioned = unversioned

    async def answer(self, exchange: Exchange, admission: Admission, path_tenant: str | None) -> None:
        """Read the request, do what it says, and send the response.

        Raises:
            Refusal: 415, 413 or 408 for the body, 401 for a tenant that the door keeps this caller from, 503 when the
                host cannot take the request now.
            ClientGone: the client left before its request was whole.
        """
        exchange.require_json()
        body = await exchange.read_body(self._limits)
        envelope = Envelope()
        try:
            request = _object(json_from_bytes(body))
            envelope = Envelope(_id(request))
            name, params = _method_and_params(request)
            if "id" not in request:
                await exchange.reply(Reply(204))  # a notification: nobody could be told what came of it
                return
            method, call, message = self._asked(exchange, admission, path_tenant, name, params)
            result = await method.operation(self._service, call, message)
            await self._answers.give(exchange, envelope, result, activated_header(call.activated))
        except Exception as error:  # noqa: BLE001 - every error has an answer
            await self._answers.refuse(exchange, envelope, error)

    def _asked(
        self, exchange: Exchange, admission: Admission, path_tenant: str | None, name: str, params: JSON
    ) -> tuple[Method, Call, Message]:
        if not isinstance(params, Mapping):
            raise InvalidParams("params must be an object")
        tenant = admission.tenant(self._tenant_id(params, path_tenant), self._service.find_tenant)
        check_version(exchange, self._unversioned)
        method = METHODS.get(name)
        if method is None:
            raise MethodNotFound
        call = Call(
            tenant,
            admission.caller,
            by_path=path_tenant is not None,
            extensions=extensions_from_header(exchange),
            last_event_id=last_event_id(exchange),
        )
        return method, call, request_from_params(method, params)

    def _tenant_id(self, params: Mapping[str, JSON], path_tenant: str | None) -> str:
        named = params.get("tenant")
        if named is not None and not isinstance(named, str):
            raise InvalidParams("params.tenant is required to be a string; GetExtendedAgentCard needs it too")
        if named and path_tenant is not None and named != path_tenant:
            raise InvalidParams("params.tenant contradicts the path")
        tenant_id = named or path_tenant or self._sole_tenant
        if not tenant_id:
            raise InvalidParams("params.tenant is required; GetExtendedAgentCard needs it too")
        return tenant_id


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
