"""Who speaks: the verified party behind a message."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Caller:
    """The verified sender of a message.

    ``key`` is the identity that owns sessions and tasks; ``name`` and ``kind`` are for people and prompts and may be
    empty; ``workspace_id`` is the gateway's number of the caller's workspace.
    """

    key: str
    name: str = ""
    kind: str = ""
    workspace_id: int | None = None


ANONYMOUS: Final = Caller(key="anonymous", name="anonymous", kind="anonymous")
"""Everybody who speaks to a host in open mode."""
