"""``innkeeper new``: what to begin with."""

import importlib.util
import re
from collections.abc import Iterator, Mapping
from importlib import metadata, resources
from pathlib import Path
from string import Template
from typing import Final

import click

KINDS: Final[Mapping[str, str]] = {
    "agent": "An agent that says what was said.",
    "gate": "A gate that lets an agent handle what mentions it.",
    "memory": "A memory of what leaves a conversation, and a tool to search it.",
    "workspace": "Files of conversations, kept in a table.",
}
"""What a new plugin may be, each with the description that it gets."""


@click.group()
def new() -> None:
    """Write what to begin with."""


@new.command()
@click.argument("name")
@click.option("--agent", "kind", flag_value="agent", help="An agent; the default.")
@click.option("--gate", "kind", flag_value="gate", help="A gate with a setting.")
@click.option("--memory", "kind", flag_value="memory", help="Tables, displaced messages and a tool.")
@click.option("--workspace", "kind", flag_value="workspace", help="Where the files of sessions are kept.")
@click.option(
    "--directory",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    default=".",
    help="Where to make the folder; default: here.",
)
def plugin(name: str, kind: str | None, directory: Path) -> None:
    """Write a package for plugin NAME that can be installed and tested as it is.

    It is the folder innkeeper-NAME with a module, its tests, and a pyproject.toml that ruff, mypy and pytest read.
    """
    words = _words(name, kind or "agent")
    folder = directory / words["distribution"]
    for fault in _faults(name, words, folder):
        raise click.BadParameter(fault, param_hint="NAME")
    try:
        for path, text in _files(words, kind or "agent"):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"{folder}: {error.strerror}") from error
    click.echo(f"{folder} is written. Next:\n  cd {folder}\n  pip install --editable . pytest mypy ruff\n  pytest")


def _words(name: str, kind: str) -> dict[str, str]:
    """Return what the templates leave open."""
    stem = re.sub(r"[^a-z0-9]+", "-", name)
    return {
        "name": name,
        "distribution": f"innkeeper-{stem}",
        "module": f"innkeeper_{stem.replace('-', '_')}",
        "test": f"test_{stem.replace('-', '_')}",
        "toml_key": name if re.fullmatch(r"[a-z0-9_-]+", name) else f'"{name}"',
        "description": KINDS[kind],
        "minor": ".".join(metadata.version("innkeeper").split(".")[:2]),
    }


def _faults(name: str, words: Mapping[str, str], folder: Path) -> Iterator[str]:
    """Say why there cannot be such a plugin here."""
    from innkeeper.contract.names import ID_GRAMMAR, ID_PATTERN
    from innkeeper.registry.discovery import RESERVED, discover

    if not ID_PATTERN.fullmatch(name):
        yield f"{name!r}: {ID_GRAMMAR}"
        return
    if name in RESERVED:
        yield f"{name!r} is a command of innkeeper"
    found = discover()
    for record in (*found.plugins, *(refused.record for refused in found.refused)):
        if record.name == name:
            yield f"{record} is installed already"
    if importlib.util.find_spec(words["module"]) is not None:
        yield f"a module {words['module']} is installed already"
    if folder.exists():
        yield f"{folder} exists already"


def _files(words: Mapping[str, str], kind: str) -> Iterator[tuple[str, str]]:
    """Fill in the templates; each comes with its path in the folder."""
    templates = resources.files(__package__ or "") / "templates"
    for path, template in {
        "pyproject.toml": "pyproject.toml.in",
        "README.md": "README.md.in",
        f"src/{words['module']}/__init__.py": f"{kind}.py.in",
        f"tests/{words['test']}.py": f"test_{kind}.py.in",
    }.items():
        yield path, Template((templates / template).read_text(encoding="utf-8")).substitute(words)
    yield f"src/{words['module']}/py.typed", ""
