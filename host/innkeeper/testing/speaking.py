"""How tests speak to a host."""

from collections.abc import Mapping
from typing import Protocol

from innkeeper.contract.caller import Caller
from innkeeper.contract.message import JSON
from innkeeper.testing.pending import Pending
from innkeeper.testing.reply import Reply
from innkeeper.testing.samples import Said


class Send(Protocol):
    """Says something to an agent; the fixture ``send``."""

    def __call__(
        self,
        said: Said,
        *,
        tenant: str = "",
        context: str = "",
        task: str = "",
        caller: Caller | None = None,
        metadata: Mapping[str, JSON] | None = None,
    ) -> Pending[Reply]:
        """Send a message; the reply is there once the task has settled.

        ``tenant`` may be left out where there is only one. A ``context`` goes on with a conversation, a ``task``
        answers the question of one; a new conversation by default. ``caller`` is the fixture's by default.
        """
        ...
