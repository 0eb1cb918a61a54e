"""``innkeeper journal``: the journal in a terminal."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import TypeVar

import click

from innkeeper import InnkeeperError, PluginContext
from innkeeper_journal.ages import age_from_text
from innkeeper_journal.entries import Entry, Journal

T = TypeVar("T")


def _age(_ctx: click.Context, _parameter: click.Parameter, text: str) -> timedelta:
    try:
        return age_from_text(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def commands(plugin: PluginContext) -> click.Group:
    """Make the commands."""
    of_tenant = click.option("--tenant", required=True, help="Whose journal.")

    def ask(tenant: str, question: Callable[[Journal], Coroutine[object, object, T]]) -> T:
        try:
            return asyncio.run(question(Journal(plugin.for_tenant(tenant).db)))
        except InnkeeperError as error:
            raise click.ClickException(str(error)) from error

    @click.group
    def journal() -> None:
        """Read and prune the journals of tenants."""

    @journal.command()
    @of_tenant
    @click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="How many events.")
    @click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
    def show(tenant: str, limit: int, as_json: bool) -> None:
        """Show the last events of a tenant, the newest last."""
        for entry in reversed(ask(tenant, lambda journal: journal.last(limit))):
            click.echo(json.dumps(entry.as_json()) if as_json else _line(entry))

    @journal.command()
    @of_tenant
    @click.option("--older-than", callback=_age, required=True, help='Such as "12h" or "7d".')
    def prune(tenant: str, older_than: timedelta) -> None:
        """Remove the events of a tenant that are older."""
        before = datetime.now(UTC) - older_than
        click.echo(f"{ask(tenant, lambda journal: journal.prune(before))} removed")

    return journal


def _line(entry: Entry) -> str:
    """Put an entry on one line. Agents choose what is in the data: JSON escapes what a terminal would obey."""
    return f"{entry.at:%Y-%m-%d %H:%M:%S}  {entry.task}  {entry.seq}  {entry.kind}  {json.dumps(entry.data)}"
