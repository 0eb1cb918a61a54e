"""Push configurations: where a caller wants the events of a task to be sent (A2A v1.0 §4.3)."""

from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Final, Protocol

CONFIGS_PER_TASK: Final = 16
"""How many configurations a task may have: each is one more request out for every event that is pushed."""


@dataclass(frozen=True, slots=True)
class PushConfig:
    """Where to push to, and what to show there; empty is unsaid.

    ``token`` and ``credentials`` are secrets: they go to ``url`` and nowhere else. ``scheme`` says what kind the
    credentials are of. Without ``id`` it is stored under that of its task.
    """

    url: str
    id: str = ""
    token: str = field(default="", repr=False)
    scheme: str = ""
    credentials: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class PushPage:
    """A page of a task's configurations, in the order of their ids."""

    configs: tuple[PushConfig, ...]
    more: bool


class OwnPushConfigs(Protocol):
    """The configurations of one caller's tasks at one tenant. Of a task that is not theirs there is nothing to learn.

    Every method raises ``TaskNotFound`` where the owner has no such task.
    """

    def put(self, task_id: str, config: PushConfig) -> Awaitable[PushConfig]:
        """Keep a configuration, in place of that of the same id; answers it with its id.

        Raises:
            InvalidParams: the task has ``CONFIGS_PER_TASK`` others.
        """
        ...

    async def find(self, task_id: str, config_id: str) -> PushConfig | None:
        """Read a configuration."""
        ...

    async def list(self, task_id: str, *, after: str, limit: int) -> PushPage:
        """Read a page: the first ``limit`` configurations whose ids come after ``after``."""
        ...

    def delete(self, task_id: str, config_id: str) -> Awaitable[None]:
        """Forget a configuration; one that is not there is none to forget."""
        ...
