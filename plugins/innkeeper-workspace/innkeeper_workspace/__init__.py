"""Durable files for each session, and the tools to work with them."""

from innkeeper import Database, PluginContext, Scope, Tool, hookimpl
from innkeeper_workspace.backing import TABLE, TableWorkspace
from innkeeper_workspace.tools import TOOLS

schema_version = 1


@hookimpl
async def ensure_tables(db: Database, version: int) -> None:
    """Make the table of files."""
    if version < 1:
        await db.execute(TABLE)


@hookimpl
def workspace_backing(scope: Scope, plugin: PluginContext) -> TableWorkspace:
    """Keep the files of a session in the plugin's tables."""
    return TableWorkspace(plugin.db, scope.session_id)


@hookimpl
def agent_tools() -> tuple[Tool, ...]:
    """Bring the tools."""
    return TOOLS


@hookimpl
def capability() -> str:
    """Tell the agent that files last."""
    return "Files that you write with `ws_write` last as long as this conversation; `ws_list` and `ws_read` find them."
