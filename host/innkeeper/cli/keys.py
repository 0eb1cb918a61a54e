"""``innkeeper keys``: the host's signing keys."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from innkeeper.cli.config import config_option, exit_on_faults, settings_from


@click.group()
def keys() -> None:
    """Make, show and change signing keys."""


def file_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--file`` to a command."""
    return click.option(
        "--file",
        type=click.Path(dir_okay=False, path_type=Path),
        help="The file of the key; default: auth.signing_key_file of the settings.",
    )(command)


@keys.command()
@file_option
@config_option
def new(file: Path | None, config: Path | None) -> None:
    """Make an Ed25519 key.

    It is written as a JWK that only its owner can read; an existing file is never replaced.
    """
    from datetime import UTC, datetime

    from innkeeper.edge.keys import new_key, write_key

    path = file or settings_from(config).auth.signing_key_file
    key = new_key(datetime.now(UTC))
    with exit_on_faults():
        write_key(path, key)
    click.echo(f"{path}: key {key['kid']}")


@keys.command()
@file_option
@config_option
def show(file: Path | None, config: Path | None) -> None:
    """Print the public key set, as the host publishes it; the first key signs."""
    import json

    from innkeeper.edge.keys import key_from_json, load_key_file

    auth = settings_from(config).auth
    with exit_on_faults():
        if file is None and auth.signing_key is not None:
            shown = key_from_json(auth.signing_key.get_secret_value())
        else:
            shown = load_key_file(file or auth.signing_key_file)
    click.echo(json.dumps({"keys": shown.published}, indent=2))


@keys.command()
@file_option
@config_option
def rotate(file: Path | None, config: Path | None) -> None:
    """Make a new key that signs from now on: a host that runs takes it within two seconds.

    The one that signed before stays published, without its private half. A gateway that has pinned it must pin anew.
    """
    from datetime import UTC, datetime

    from innkeeper.edge.keys import new_key, rotate_key

    auth = settings_from(config).auth
    if file is None and auth.signing_key is not None:
        raise click.UsageError("The key is in the environment (INNKEEPER_AUTH__SIGNING_KEY): change it there.")
    path = file or auth.signing_key_file
    with exit_on_faults():
        rotated = rotate_key(path, new_key(datetime.now(UTC)))
    click.echo(f"{path}: key {rotated.kid}; still published: {rotated.published[1]['kid']}")
