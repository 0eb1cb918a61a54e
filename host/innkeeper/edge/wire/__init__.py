"""A2A v1.0 JSON and protobuf on one side, contract types on the other; nothing past this package meets either."""

from innkeeper.edge.wire.bodies import MAX_DEPTH, message_from_body
from innkeeper.edge.wire.events import WireCodec
from innkeeper.edge.wire.protobuf import part_from_proto, proto_from_message, state_from_proto
from innkeeper.edge.wire.push import push_config_from_proto, push_config_json, push_configs_json
from innkeeper.edge.wire.requests import MAX_ID_LENGTH, Incoming, incoming_from_request
from innkeeper.edge.wire.tasks import fold_artifacts, list_json, task_json

__all__ = [
    "MAX_DEPTH",
    "MAX_ID_LENGTH",
    "Incoming",
    "WireCodec",
    "fold_artifacts",
    "incoming_from_request",
    "list_json",
    "message_from_body",
    "part_from_proto",
    "proto_from_message",
    "push_config_from_proto",
    "push_config_json",
    "push_configs_json",
    "state_from_proto",
    "task_json",
]
