"""The page of the command line, made of its commands."""

import inspect
from collections.abc import Iterator
from typing import Final

import click
from docstrings import MADE

from innkeeper.cli import VERBS, main

HEAD: Final = f"""\
# The command line

{MADE}

`innkeeper` and `python -m innkeeper` are the same program. A plugin that brings commands adds its own name:
`innkeeper NAME …`; no other plugin is imported then. Exit codes: 0 it worked, 1 what was asked for failed, 2 the
command line, the settings or a plugin is at fault; what is wrong is on stderr, one line each.
"""


def cli_page() -> str:
    """Return the page of the command line."""
    return HEAD + "".join(_sections(main, "innkeeper"))


def _sections(command: click.Command, name: str, parent: click.Context | None = None) -> Iterator[str]:
    context = click.Context(command, info_name=name.rsplit(maxsplit=1)[-1], parent=parent)
    if parent is not None:
        yield _section(command, name, context)
    if isinstance(command, click.Group):
        for each in VERBS if command is main else command.list_commands(context):
            child = command.get_command(context, each)
            if child is not None and not child.hidden:
                yield from _sections(child, f"{name} {each}", context)


def _section(command: click.Command, name: str, context: click.Context) -> str:
    usage = " ".join((name, *command.collect_usage_pieces(context)))
    text = f"\n## `{name}`\n\n```sh\n{usage}\n```\n\n{inspect.cleandoc(command.help or '')}\n"
    options = [record for each in command.params if (record := each.get_help_record(context)) and record[1]]
    if options:
        rows = (f"| `{declared}` | {_cell(meaning)} |" for declared, meaning in options)
        text += "\n" + "\n".join(("| option | meaning |", "|---|---|", *rows, ""))
    return text


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
