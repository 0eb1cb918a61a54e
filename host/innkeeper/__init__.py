"""Innkeeper: a plugin host for A2A agents. Everything a plugin author needs is here."""

from typing import TYPE_CHECKING

from innkeeper.contract.agent import Agent, Answer, Handler, Provider, Skill
from innkeeper.contract.caller import Caller
from innkeeper.contract.errors import BadArguments, InnkeeperError, PluginFailed, StartFault, TurnOver, Unavailable
from innkeeper.contract.extension import Extension
from innkeeper.contract.markers import hookimpl
from innkeeper.contract.message import ABSENT, JSON, Message, Part
from innkeeper.contract.plugin import PluginContext, UnknownTenant
from innkeeper.contract.preset import Preset
from innkeeper.contract.session import Scope, Session
from innkeeper.contract.tables import (
    ConstraintFailed,
    Database,
    DatabaseError,
    Parameters,
    Row,
    Scalar,
    StatementDenied,
)
from innkeeper.contract.tool import RESERVED_TOOLS, Tool, tool
from innkeeper.contract.turn import Ask, Refuse, Turn
from innkeeper.contract.turn_event import TURN_EVENTS, TurnEvent
from innkeeper.contract.workspace import Workspace, WorkspaceBacking, WorkspaceEntry, WorkspaceInfo, WorkspaceLimit

if TYPE_CHECKING:
    from pydantic import BaseModel as Config

__all__ = [
    "ABSENT",
    "JSON",
    "RESERVED_TOOLS",
    "TURN_EVENTS",
    "Agent",
    "Answer",
    "Ask",
    "BadArguments",
    "Caller",
    "Config",
    "ConstraintFailed",
    "Database",
    "DatabaseError",
    "Extension",
    "Handler",
    "InnkeeperError",
    "Message",
    "Parameters",
    "Part",
    "PluginContext",
    "PluginFailed",
    "Preset",
    "Provider",
    "Refuse",
    "Row",
    "Scalar",
    "Scope",
    "Session",
    "Skill",
    "StartFault",
    "StatementDenied",
    "Tool",
    "Turn",
    "TurnEvent",
    "TurnOver",
    "Unavailable",
    "UnknownTenant",
    "Workspace",
    "WorkspaceBacking",
    "WorkspaceEntry",
    "WorkspaceInfo",
    "WorkspaceLimit",
    "hookimpl",
    "tool",
]


def __getattr__(name: str) -> object:
    """Import pydantic where a plugin asks for ``Config``: commands that load no plugin need not wait for it."""
    if name != "Config":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pydantic import BaseModel  # noqa: PLC0415 - see above

    return BaseModel
