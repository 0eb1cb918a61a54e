"""Push configurations: ``TaskPushNotificationConfig`` in, and its JSON out without the secrets (A2A v1.0 §4.3.1)."""

import re
from collections.abc import Sequence
from typing import Final

from a2a.types import a2a_pb2

from innkeeper.contract.errors import InvalidParams
from innkeeper.edge.wire.bodies import JsonObject, json_bytes
from innkeeper.edge.wire.requests import MAX_ID_LENGTH
from innkeeper.ports.push import PushConfig

MAX_URL_LENGTH: Final = 2048
MAX_SECRET_LENGTH: Final = 4096
"""How long tokens and credentials may be: they are sent in headers, which servers keep short."""

_HEADER_VALUE: Final = re.compile(r"[!-~](?:[ -~]*[!-~])?")
_SCHEME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")

_LENGTHS: Final = {"id": MAX_ID_LENGTH, "url": MAX_URL_LENGTH, "token": MAX_SECRET_LENGTH}
_AUTHENTICATION_LENGTHS: Final = {"scheme": MAX_ID_LENGTH, "credentials": MAX_SECRET_LENGTH}


def push_config_from_proto(config: a2a_pb2.TaskPushNotificationConfig, prefix: str = "") -> PushConfig:
    """Check and convert a configuration; ``prefix`` stands before the names of its fields in refusals.

    Raises:
        InvalidParams: a field is missing, too long, or no header could carry it; the text names it.
    """
    if not config.url:
        raise InvalidParams(f"{prefix}url is required")
    authentication = config.authentication
    _check_lengths(config, _LENGTHS, prefix)
    _check_lengths(authentication, _AUTHENTICATION_LENGTHS, f"{prefix}authentication.")
    if config.HasField("authentication") and not _SCHEME.fullmatch(authentication.scheme):
        raise InvalidParams(f"{prefix}authentication.scheme must be the name of an HTTP authentication scheme")
    for field, secret in (("token", config.token), ("authentication.credentials", authentication.credentials)):
        if secret and not _HEADER_VALUE.fullmatch(secret):
            raise InvalidParams(f"{prefix}{field} must be printable ASCII, as it is sent in a header")
    return PushConfig(config.url, config.id, config.token, authentication.scheme, authentication.credentials)


def _check_lengths(
    message: a2a_pb2.TaskPushNotificationConfig | a2a_pb2.AuthenticationInfo, lengths: dict[str, int], prefix: str
) -> None:
    for field, most in lengths.items():
        if len(getattr(message, field)) > most:
            raise InvalidParams(f"{prefix}{field} is longer than {most} characters")


def push_config_json(task_id: str, config: PushConfig) -> bytes:
    """Encode a ``TaskPushNotificationConfig``. Token and credentials are for the webhook: nobody reads them again."""
    return json_bytes(_laid(task_id, config))


def push_configs_json(task_id: str, configs: Sequence[PushConfig], next_page_token: str) -> bytes:
    """Encode a ``ListTaskPushNotificationConfigsResponse``; an empty token ends the listing."""
    return json_bytes({"configs": [_laid(task_id, config) for config in configs], "nextPageToken": next_page_token})


def _laid(task_id: str, config: PushConfig) -> JsonObject:
    laid: JsonObject = {"id": config.id, "taskId": task_id, "url": config.url}
    if config.scheme:
        laid["authentication"] = {"scheme": config.scheme}
    return laid
