"""The settings of a verb: read once, every fault on a line of its own, exit code 2."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from innkeeper.contract.errors import StartFault
    from innkeeper.settings import Settings, SettingsFault

F = TypeVar("F", bound=Callable[..., Any])


def config_option(command: F) -> F:
    """Add ``--config`` to a command."""
    return click.option(
        "--config",
        type=click.Path(dir_okay=False, path_type=Path),
        help="The settings file; default: INNKEEPER_CONFIG, else innkeeper.toml if there is one.",
    )(command)


def settings_from(config: Path | None, overrides: Mapping[str, str] = MappingProxyType({})) -> "Settings":
    """Read the settings; ``overrides`` are environment variables that win over the real ones.

    Exits with code 2 when there are faults, after printing each.
    """
    with exit_on_faults():
        return read_settings(config, overrides)


def read_settings(config: Path | None, overrides: Mapping[str, str]) -> "Settings":
    """Do the same without an exit.

    Raises:
        SettingsFault: every fault at once.
    """
    from innkeeper.settings import load_settings

    return load_settings(config, {**os.environ, **overrides}, Path.cwd())


def base_url_of(settings: "Settings") -> str:
    """Return where a host with these settings is found."""
    return settings.host.public_url or f"http://{settings.host.bind[0]}"


@contextmanager
def exit_on_faults() -> Iterator[None]:
    """Turn the faults of a start into one line each on stderr and exit code 2."""
    from innkeeper.contract.errors import StartFault
    from innkeeper.settings import SettingsFault

    try:
        yield
    except (SettingsFault, StartFault) as error:
        raise SystemExit(faulty(error)) from None


def faulty(error: "SettingsFault | StartFault") -> int:
    """Print each fault in a line of its own to stderr, and return the exit code for them."""
    for fault in error.faults:
        click.echo(fault, err=True)
    return 2
