"""A journal of what happens to the tasks of each tenant: written as it happens, read on a page or in a terminal."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import click
from quart import Quart

from innkeeper import Config as Base
from innkeeper import Database, InnkeeperError, PluginContext, TurnEvent, hookimpl
from innkeeper_journal.ages import Age
from innkeeper_journal.commands import commands
from innkeeper_journal.entries import Journal
from innkeeper_journal.pages import pages

schema_version = 1


class Config(Base):
    """``keep``: how old entries may grow; ``prune_every``: how often those that are older are removed."""

    keep: Age = timedelta(days=30)
    prune_every: Age = timedelta(hours=1)


@hookimpl
async def ensure_tables(db: Database, version: int) -> None:
    """Make the journal."""
    if version < 1:
        await Journal(db).make()


@hookimpl
async def on_turn_event(event: TurnEvent, plugin: PluginContext) -> None:
    """Write the event down."""
    await Journal(plugin.db).write(event)


@hookimpl
@asynccontextmanager
async def lifespan(plugin: PluginContext) -> AsyncIterator[None]:
    """Remove old entries for as long as the tenant is served."""
    async with asyncio.TaskGroup() as tasks:
        pruning = tasks.create_task(_keep_pruning(plugin))
        yield
        pruning.cancel()


@hookimpl
def web_app(plugin: PluginContext) -> Quart:
    """Show the journals."""
    return pages(plugin)


@hookimpl
def cli(plugin: PluginContext) -> click.Group:
    """Bring ``innkeeper journal``."""
    return commands(plugin)


async def _keep_pruning(plugin: PluginContext) -> None:
    while True:
        try:
            pruned = await Journal(plugin.db).prune(datetime.now(UTC) - plugin.config.keep)
        except InnkeeperError as error:  # the next time may be better
            plugin.log.warning("old entries stay for now: %s", error)
        else:
            plugin.log.debug("%d old entries removed", pruned)
        await asyncio.sleep(plugin.config.prune_every.total_seconds())
