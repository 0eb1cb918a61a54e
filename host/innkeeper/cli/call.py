"""``innkeeper call``: say one thing to an agent and print what it answers."""

import asyncio
import sys
from pathlib import Path

import click

from innkeeper.cli.config import base_url_of, config_option, settings_from


@click.command()
@click.argument("agent")
@click.argument("text")
@click.option("--url", help="The host to call; default: the one that these settings are of.")
@config_option
@click.option("--token", help="A bearer token for the host.")
@click.option("--context", "context_id", metavar="ID", help="Go on with the conversation of this context id.")
@click.option("--json", "as_json", is_flag=True, help="Print every response as a line of A2A JSON instead.")
def call(
    agent: str,
    text: str,
    *,
    url: str | None,
    config: Path | None,
    token: str | None,
    context_id: str | None,
    as_json: bool,
) -> None:
    """Send TEXT to AGENT and print the reply as it comes.

    Progress goes to stderr. Exits with 1 when the agent cannot be reached, or its task fails.
    """
    url = url or base_url_of(settings_from(config))
    agent_url = f"{url.rstrip('/')}/agents/{agent}"
    sys.exit(asyncio.run(_converse(agent_url, text, token, context_id, as_json=as_json)))


async def _converse(url: str, text: str, token: str | None, context_id: str | None, *, as_json: bool) -> int:
    """Return the exit code."""
    from innkeeper.edge.client import CallFailed, Transcript, find_state, find_task_id, json_line
    from innkeeper.edge.client import call as send
    from innkeeper.ports.events import INTERRUPTED, TERMINAL, State

    replied = INTERRUPTED | {State.COMPLETED}
    transcript = Transcript()
    state: State | None = None
    task_id = ""
    silent = True
    try:
        async for update in send(url, text, token=token, context_id=context_id):
            told = find_state(update)
            state = told or state
            task_id = find_task_id(update) or task_id
            if as_json:
                click.echo(json_line(update))
            else:
                words = transcript.add(update)
                silent = silent and not words.strip()
                click.echo(words, nl=False, err=told is not None and told not in replied)
    except CallFailed as error:
        click.echo(error, err=True)
        return 1
    if state not in replied | TERMINAL:
        click.echo(f"{url}: the answer ended before the task did; the host goes on with task {task_id}", err=True)
    elif silent and not as_json:
        click.echo(f"{url}: task {task_id} is {state}, without a word", err=True)
    return 0 if state in replied else 1
