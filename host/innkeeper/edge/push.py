"""Where callers want to be told: push configurations, given with a message or by the operations of their own.

What is asked for is taken apart and screened here; whose task it is about, the store tells.
"""

from dataclasses import dataclass
from typing import Final

from a2a.types import a2a_pb2 as pb

from innkeeper.contract.errors import InvalidParams, TaskNotFound
from innkeeper.edge.page_tokens import DEFAULT_PAGE_SIZE, checked_page_size, position_from_token, token_from_position
from innkeeper.edge.webhooks import WebhookRefused, Webhooks
from innkeeper.edge.wire import push_config_from_proto, push_config_json, push_configs_json
from innkeeper.ports.push import PushConfig
from innkeeper.ports.store import OwnTasks

INLINE: Final = "configuration.taskPushNotificationConfig."


@dataclass(frozen=True, slots=True)
class Push:
    """Push as it is offered. Where it is ``required``, a message that is sent must say url and token."""

    webhooks: Webhooks
    required: bool = False

    async def inline(self, request: pb.SendMessageRequest, tenant_id: str, *, may_lack: bool) -> PushConfig | None:
        """Return the configuration that comes with a message, None without one (§3.2.2).

        Raises:
            InvalidParams: a field is missing or out of range, contradicts the message, or is no place to send to.
        """
        if not request.configuration.HasField("task_push_notification_config") and (may_lack or not self.required):
            return None
        proto = request.configuration.task_push_notification_config
        config = push_config_from_proto(proto, INLINE)
        if self.required and not may_lack and not config.token:
            raise InvalidParams(f"{INLINE}token is required")
        if proto.tenant not in ("", tenant_id):
            raise InvalidParams(f"{INLINE}tenant contradicts the request")
        if proto.task_id not in ("", request.message.task_id):
            raise InvalidParams(f"{INLINE}taskId contradicts the message")
        await self._screen(config.url, INLINE)
        return config

    async def create(self, own: OwnTasks, request: pb.TaskPushNotificationConfig) -> bytes:
        """Keep a configuration; the same id replaces, and without one it is that of the task (§3.1.7)."""
        task_id = _required("taskId", request.task_id)
        config = push_config_from_proto(request)
        if await own.find(task_id, history_length=0, artifacts=False) is None:
            raise TaskNotFound
        await self._screen(config.url)
        return push_config_json(task_id, await own.push_configs.put(task_id, config))

    async def get(self, own: OwnTasks, request: pb.GetTaskPushNotificationConfigRequest) -> bytes:
        """Read a configuration (§3.1.8)."""
        task_id = _required("taskId", request.task_id)
        config = await own.push_configs.find(task_id, _required("id", request.id))
        if config is None:
            raise TaskNotFound("Push notification config not found")
        return push_config_json(task_id, config)

    async def list(self, own: OwnTasks, request: pb.ListTaskPushNotificationConfigsRequest) -> bytes:
        """Read a page of a task's configurations (§3.1.9). The token is tied to the task, which is its owner's."""
        task_id = _required("taskId", request.task_id)
        limit = checked_page_size(request.page_size) if request.page_size else DEFAULT_PAGE_SIZE
        after = position_from_token(request.page_token, task_id, bytes.decode) if request.page_token else ""
        page = await own.push_configs.list(task_id, after=after, limit=limit)
        token = token_from_position(page.configs[-1].id.encode(), task_id) if page.more else ""
        return push_configs_json(task_id, page.configs, token)

    async def delete(self, own: OwnTasks, request: pb.DeleteTaskPushNotificationConfigRequest) -> bytes:
        """Forget a configuration; one that is not there is forgotten already (§3.1.10)."""
        await own.push_configs.delete(_required("taskId", request.task_id), _required("id", request.id))
        return b"{}"

    async def _screen(self, url: str, prefix: str = "") -> None:
        try:
            await self.webhooks.check(url)
        except WebhookRefused as refused:
            raise InvalidParams(f"{prefix}url {refused}") from None


def _required(field: str, value: str) -> str:
    if not value:
        raise InvalidParams(f"{field} is required")
    return value
