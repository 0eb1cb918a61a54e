"""The methods of A2A (v1.0 §5.3): what each takes and which operation it is, for every binding."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from a2a.types import a2a_pb2 as pb
from google.protobuf import json_format, message

from innkeeper.contract.errors import InvalidParams
from innkeeper.contract.message import JSON
from innkeeper.edge.service import Call, Service, Stream

Operation: TypeAlias = Callable[[Service, Call, Any], Awaitable[bytes | Stream]]


@dataclass(frozen=True, slots=True)
class Method:
    """What a method takes and which operation it is. ``states`` names params that hold a task state's name."""

    request: type[message.Message]
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
    "CreateTaskPushNotificationConfig": Method(pb.TaskPushNotificationConfig, Service.create_push_config),
    "GetTaskPushNotificationConfig": Method(pb.GetTaskPushNotificationConfigRequest, Service.get_push_config),
    "ListTaskPushNotificationConfigs": Method(pb.ListTaskPushNotificationConfigsRequest, Service.list_push_configs),
    "DeleteTaskPushNotificationConfig": Method(pb.DeleteTaskPushNotificationConfigRequest, Service.delete_push_config),
}

_STATE_NAMES: Final = frozenset(pb.TaskState.keys())
_FAILED_FIELD: Final = re.compile(r"Failed to parse (\w+) field: ")
_FAILED_PATH: Final = re.compile(r" at \"?\w+\.([\w.\[\]]+?)\"?\.*$")


def request_from_params(method: Method, params: Mapping[str, JSON]) -> message.Message:
    """Fill the request type. Unknown fields are passed over, as a later minor version may add some (§3.6).

    Raises:
        InvalidParams: a field has a wrong type or value; the text names it.
    """
    request = method.request()
    try:
        json_format.ParseDict(params, request, ignore_unknown_fields=True)
    except json_format.ParseError as error:
        raise misfit(_field(str(error))) from None
    for name in method.states:  # the parser takes an unknown name for an unknown field
        state = params.get(name)
        if isinstance(state, str) and state not in _STATE_NAMES:
            raise InvalidParams(f"{name} is not a state of tasks")
    return request


def misfit(field: str) -> InvalidParams:
    """Make the refusal of a field that does not hold what it should."""
    return InvalidParams(f"{field} has a wrong type or value")


def _field(complaint: str) -> str:
    """Find the field that the parser complains about; its own words are not for callers."""
    if path := _FAILED_PATH.search(complaint):
        return path[1]
    return ".".join(_FAILED_FIELD.findall(complaint)) or "params"
