"""``innkeeper call``: say one thing to an agent and print what it answers."""

import asyncio
import sys

import click

from innkeeper.cli.serve import DEFAULT_URL


@click.command()
@click.argument("agent")
@click.argument("text")
@click.option("--url", default=DEFAULT_URL, show_default=True, help="The host to call.")
@click.option("--token", help="A bearer token for the host.")
@click.option("--context", "context_id", metavar="ID", help="Go on with the conversation of this context id.")
@click.option("--json", "as_json", is_flag=True, help="Print every response as a line of A2A JSON instead.")
def call(agent: str, text: str, url: str, token: str | None, context_id: str | None, *, as_json: bool) -> None:
    """Send TEXT to AGENT and print the reply as it comes.

    Progress goes to stderr. Exits with 1 when the agent cannot be reached, or its task fails.
    """
    agent_url = f"{url.rstrip('/')}/agents/{agent}"
    sys.exit(asyncio.run(_converse(agent_url, text, token, context_id, as_json=as_json)))


async def _converse(url: str, text: str, token: str | None, context_id: str | None, *, as_json: bool) -> int:
    """Return the exit code."""
    from innkeeper.edge.client import CallFailed, Transcript, find_state, json_line
    from innkeeper.edge.client import call as send
    from innkeeper.ports.events import INTERRUPTED, TERMINAL, State

    replied = INTERRUPTED | {State.COMPLETED}
    transcript = Transcript()
    state: State | None = None
    try:
        async for update in send(url, text, token=token, context_id=context_id):
            told = find_state(update)
            state = told or state
            if as_json:
                click.echo(json_line(update))
            else:
                click.echo(transcript.add(update), nl=False, err=told is not None and told not in replied)
    except CallFailed as error:
        click.echo(error, err=True)
        return 1
    if state not in replied | TERMINAL:
        click.echo(f"{url}: the answer ended before the task did", err=True)
    return 0 if state in replied else 1
