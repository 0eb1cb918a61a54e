"""``innkeeper token``: the tokens by which callers come in."""

import json
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from innkeeper.cli.config import config_option, exit_on_faults, settings_from

if TYPE_CHECKING:
    from innkeeper.ports.tokens import ApiToken

KEY_CHARACTERS = 512


@click.group()
def token() -> None:
    """Issue tokens to callers; a running host sees every change at once."""


def _life(_: click.Context, __: click.Parameter, text: str | None) -> timedelta | None:
    from innkeeper.settings.values import duration_from_text

    try:
        return None if text is None else duration_from_text(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def _tenants(_: click.Context, __: click.Parameter, tenants: tuple[str, ...]) -> tuple[str, ...]:
    from innkeeper.contract.names import ID_PATTERN

    for tenant in tenants:
        if not ID_PATTERN.fullmatch(tenant):
            raise click.BadParameter(f"{tenant!r} cannot be the id of a tenant")
    return tenants


def _caller(_: click.Context, __: click.Parameter, caller: str) -> str:
    if not caller.isprintable() or not 0 < len(caller) <= KEY_CHARACTERS:
        raise click.BadParameter(f"a caller is 1 to {KEY_CHARACTERS} printable characters")
    return caller


@token.command()
@click.option(
    "--caller", required=True, metavar="KEY", callback=_caller, help="Who comes in by it: the owner of tasks."
)
@click.option("--name", default="", help="What people call the caller.")
@click.option("--tenant", "tenants", multiple=True, callback=_tenants, help="A tenant that it is for; repeatable.")
@click.option("--operator", is_flag=True, help="It is for every tenant, and for what is of the host as a whole.")
@click.option(
    "--expires", metavar="DURATION", callback=_life, help='How long it works, such as "90d"; default: until revoked.'
)
@config_option
def create(
    caller: str, name: str, tenants: tuple[str, ...], expires: timedelta | None, config: Path | None, *, operator: bool
) -> None:
    """Make a token and print it, this once."""
    if bool(tenants) == operator:
        raise click.UsageError("A token is for tenants (--tenant) or for an operator (--operator).")
    from innkeeper.app.token_issuing import create_token
    from innkeeper.ports.clock import World

    settings = settings_from(config)
    with exit_on_faults():
        click.echo(
            create_token(settings, World(), caller=caller, name=name, tenants=tenants, operator=operator, life=expires)
        )


@token.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array instead of lines.")
@config_option
def list_(config: Path | None, *, as_json: bool) -> None:
    """List the tokens, without their secrets."""
    from innkeeper.app.token_issuing import list_tokens

    settings = settings_from(config)
    with exit_on_faults():
        rows = [_row(each) for each in list_tokens(settings)]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
    elif not rows:
        click.echo("There are no tokens.")
    for row in () if as_json else rows:
        reach = "operator" if row["operator"] else ", ".join(row["tenants"])
        end = f"expires {row['expires']}" if row["expires"] else "does not expire"
        click.echo(f"{row['id']}  {row['caller']}  {reach}  {end}")


def _row(each: "ApiToken") -> dict[str, Any]:
    from innkeeper.ports.clock import World

    def shown(at_us: int | None) -> str | None:
        return None if at_us is None else World.datetime_from_us(at_us).isoformat(timespec="seconds")

    return {
        "id": each.id,
        "caller": each.caller,
        "name": each.name,
        "tenants": each.tenants,
        "operator": each.operator,
        "created": shown(each.created_at_us),
        "expires": shown(each.expires_at_us),
    }


@token.command()
@click.argument("token_id", metavar="ID")
@config_option
def rotate(token_id: str, config: Path | None) -> None:
    """Make a new secret for a token and print the token, this once; the old one works on for auth.token_overlap."""
    from innkeeper.app.token_issuing import rotate_token
    from innkeeper.ports.clock import World

    settings = settings_from(config)
    with exit_on_faults():
        click.echo(rotate_token(settings, World(), token_id))


@token.command()
@click.argument("token_id", metavar="ID")
@config_option
def revoke(token_id: str, config: Path | None) -> None:
    """Let nobody in by a token any more."""
    from innkeeper.app.token_issuing import revoke_token

    settings = settings_from(config)
    with exit_on_faults():
        revoke_token(settings, token_id)
    click.echo(f"revoked: {token_id}")
