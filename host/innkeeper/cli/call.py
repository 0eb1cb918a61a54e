"""``innkeeper call``: say one thing to an agent and print what it answers."""

import asyncio
import sys
from dataclasses import dataclass
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
@click.option("--task", "task_id", metavar="ID", help="Answer the question of this task, or add to what it works on.")
@click.option("--json", "as_json", is_flag=True, help="Print every response as a line of A2A JSON instead.")
def call(
    agent: str,
    text: str,
    *,
    url: str | None,
    config: Path | None,
    token: str | None,
    context_id: str | None,
    task_id: str | None,
    as_json: bool,
) -> None:
    """Send TEXT to AGENT and print the reply as it comes.

    AGENT is the id of one of the host's, or the URL of any A2A agent: below it is the agent's card. Progress goes to
    stderr. Exits with 1 when the agent cannot be reached, or its task fails.
    """
    if "://" in agent:
        agent_url = agent.rstrip("/")
    else:
        agent_url = f"{(url or base_url_of(settings_from(config))).rstrip('/')}/agents/{agent}"
    said = Said(text, context_id=context_id or "", task_id=task_id or "")
    sys.exit(asyncio.run(_converse(agent_url, said, token, as_json=as_json)))


@dataclass(frozen=True, slots=True)
class Said:
    """What is said, and to what it belongs; empty where to nothing."""

    text: str
    context_id: str
    task_id: str


async def _converse(url: str, said: Said, token: str | None, *, as_json: bool) -> int:
    """Return the exit code."""
    from innkeeper.edge.client import CallFailed, Transcript, find_state, find_task_id, json_line, without_snapshot
    from innkeeper.edge.client import call as send
    from innkeeper.ports.events import INTERRUPTED, TERMINAL, State

    replied = INTERRUPTED | {State.COMPLETED}
    transcript = Transcript()
    state: State | None = None
    task_id = said.task_id
    silent = True
    try:
        updates = send(url, said.text, token=token, context_id=said.context_id or None, task_id=said.task_id or None)
        async for update in without_snapshot(updates) if said.task_id and not as_json else updates:
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
    elif state in INTERRUPTED and not as_json:
        click.echo(f"task {task_id} waits for an answer: say it with --task {task_id}", err=True)
    elif silent and not as_json:
        click.echo(f"{url}: task {task_id} is {state}, without a word", err=True)
    return 0 if state in replied else 1
