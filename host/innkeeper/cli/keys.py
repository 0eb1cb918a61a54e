"""``innkeeper keys``: the host's signing keys."""

from pathlib import Path

import click

from innkeeper.cli.config import config_option, exit_on_faults, settings_from


@click.group()
def keys() -> None:
    """Make signing keys."""


@keys.command()
@click.option(
    "--file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where to write it; default: auth.signing_key_file of the settings.",
)
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
