"""Memory: what leaves the context of a session is kept, and the agent gets a tool to search it."""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field, PositiveInt

from innkeeper import Config as Base
from innkeeper import Database, Message, PluginContext, Session, Tool, hookimpl
from innkeeper_recall.archive import Archive
from innkeeper_recall.searching import MOST, recall_tool

schema_version = 1


class Config(Base):
    """How much is kept and found, and how far a search reaches.

    ``scope``: "session" finds what was said in the same session, "caller" in every session of the same caller.
    """

    top: Annotated[int, Field(ge=1, le=MOST)] = 5
    stored_characters: PositiveInt = 2000
    scope: Literal["session", "caller"] = "session"


@hookimpl
async def ensure_tables(db: Database, version: int) -> None:
    """Make the archive."""
    if version < 1:
        await Archive(db).make()


@hookimpl
async def on_messages_displaced(session: Session, messages: Sequence[Message], plugin: PluginContext) -> None:
    """Keep what was said."""
    await Archive(plugin.db).keep(session, messages, characters=plugin.config.stored_characters)


@hookimpl
async def agent_tools(session: Session, plugin: PluginContext) -> list[Tool]:
    """Bring ``recall`` where there is something to find."""
    reach = Archive(plugin.db).reach(session, plugin.config.scope)
    return [recall_tool(reach, top=plugin.config.top)] if await reach.holds_anything() else []


@hookimpl
def capability() -> str:
    """Tell the agent what the tool is for."""
    return "Use the tool `recall`, where you have it, to search what was said before the messages that you still see."
