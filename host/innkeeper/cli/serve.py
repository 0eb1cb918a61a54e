"""``innkeeper serve``: run the host."""

import contextlib
import json
import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from innkeeper.cli.config import config_option, faulty, read_settings

if TYPE_CHECKING:
    from innkeeper.app.serve import Listening
    from innkeeper.settings import SettingsFault

FRESH_ID: Final = "$(od -An -N8 -tx8 /dev/urandom | tr -d ' ')"
"""A shell expression (POSIX) that gives another id each time, so that a repeated line is a new message."""


def _checked(_: click.Context, __: click.Parameter, binds: tuple[str, ...]) -> tuple[str, ...]:
    if binds:
        from innkeeper.settings.values import split_bind

        for bind in binds:
            try:
                split_bind(bind)
            except ValueError as error:
                raise click.BadParameter(f"{bind!r}: {error}") from error
    return binds


@click.command()
@config_option
@click.option(
    "--bind",
    multiple=True,
    metavar="HOST:PORT",
    callback=_checked,
    help="Listen here instead; repeatable, port 0 is a free one.",
)
@click.option("--safe-mode", is_flag=True, help="Load no plugin: see what is wrong without any of them in the way.")
def serve(config: Path | None, bind: tuple[str, ...], *, safe_mode: bool) -> None:
    """Serve the installed agents until SIGTERM or Ctrl-C."""
    from innkeeper.app.serve import serve as run
    from innkeeper.registry.process import run_process
    from innkeeper.settings import SettingsFault

    overrides = {"INNKEEPER_HOST__BIND": json.dumps(bind)} if bind else {}
    try:
        settings = read_settings(config, overrides)
    except SettingsFault as fault:
        sys.exit(faulty(fault) if safe_mode else run_process(_refused(fault, config)))
    sys.exit(run(settings, announce=announce, safe_mode=safe_mode))


async def _refused(fault: "SettingsFault", config: Path | None) -> int:
    """Print what is wrong with the settings, and with plugins whatever these may be."""
    from innkeeper.app.inspection import faults_without_settings
    from innkeeper.settings import settings_file

    code = faulty(fault)
    try:
        written = settings_file(config, os.environ, Path.cwd()).read_text(errors="replace")
    except OSError:
        written = ""
    with contextlib.redirect_stdout(sys.stderr):  # what plugins print is not ours
        for each in await faults_without_settings(written, os.environ):
            click.echo(each, err=True)
    return code


def announce(listening: "Listening") -> None:
    """Say where the host listens, what is not served, and how to speak to what is.

    That is for each tenant its card, and two lines to paste; where a token is wanted, they take it from TOKEN.
    """
    base_url, tenants = listening.base_url, listening.tenants
    known_as = "" if base_url == listening.address else f" as {base_url}"
    click.echo(f"Innkeeper listens on {listening.address}{known_as} (stop: Ctrl-C)")
    for lack in listening.lacks:
        click.echo(lack)
    if not tenants and not listening.lacks:
        click.echo("No agent is served: pip install one, then start again.")
    for tenant in tenants:
        click.echo(f"\n{tenant}: {base_url}/agents/{tenant}/.well-known/agent-card.json")
        for line in (curl_line, call_line):
            click.echo(f"  {line(base_url, tenant, wants_token=listening.wants_token)}")


def curl_line(base_url: str, tenant: str, *, wants_token: bool = False) -> str:
    """Return a shell line that sends one message, a new one each time it is run."""
    head = '{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"'
    tail = '","role":"ROLE_USER","parts":[{"text":"hi"}]}}}'
    headers = "-H 'A2A-Version: 1.0' -H 'Content-Type: application/json'"
    if wants_token:
        headers += ' -H "Authorization: Bearer $TOKEN"'
    return f"curl -sS {shlex.quote(f'{base_url}/agents/{tenant}')} {headers} -d '{head}'{FRESH_ID}'{tail}'"


def call_line(base_url: str, tenant: str, *, wants_token: bool = False) -> str:
    """Return a shell line that calls the tenant with this very program."""
    line = shlex.join((*program(), "call", "--url", base_url))
    option = ' --token "$TOKEN"' if wants_token else ""
    return f"{line}{option} {shlex.quote(tenant)} hi"


def program() -> tuple[str, ...]:
    """Return how to run this program again from this directory: short where the shell's PATH finds it."""
    started = Path(sys.argv[0])
    if started.name == "__main__.py":
        return (sys.executable, "-m", "innkeeper")
    if shutil.which(started.name) == str(started.absolute()):
        return (started.name,)
    return (str(started),)
