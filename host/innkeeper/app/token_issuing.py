"""The tokens that the host issues, as commands make, list, rotate and revoke them beside a running host."""

from collections.abc import Sequence
from datetime import timedelta

from innkeeper.contract.errors import StartFault
from innkeeper.edge.identity.api_tokens import new_secret, new_token_id
from innkeeper.ports.clock import World
from innkeeper.ports.tokens import ApiToken
from innkeeper.settings import Settings
from innkeeper.store import open_token_book

_MICROSECOND = timedelta(microseconds=1)


def create_token(
    settings: Settings,
    world: World,
    *,
    caller: str,
    name: str,
    tenants: Sequence[str],
    operator: bool,
    life: timedelta | None,
) -> str:
    """Make a token, and return it: nobody can read it again.

    Raises:
        StartFault: the database cannot be used.
    """
    now = world.now_us()
    token_id = new_token_id()
    secret = new_secret(token_id)
    token = ApiToken(
        id=token_id,
        name=name,
        caller=caller,
        tenants=tuple(dict.fromkeys(tenants)),
        operator=operator,
        created_at_us=now,
        expires_at_us=None if life is None else now + life // _MICROSECOND,
        digest=secret.digest,
    )
    with open_token_book(settings.host.data_dir) as book:
        book.add(token)
    return secret.text


def list_tokens(settings: Settings) -> tuple[ApiToken, ...]:
    """Return every token, the oldest first.

    Raises:
        StartFault: the database cannot be used.
    """
    with open_token_book(settings.host.data_dir) as book:
        return book.all()


def rotate_token(settings: Settings, world: World, token_id: str) -> str:
    """Give a token a new secret and return it; the old one works on for ``auth.token_overlap``.

    Raises:
        StartFault: there is no such token, or the database cannot be used.
    """
    secret = new_secret(token_id)
    until_us = world.now_us() + settings.auth.token_overlap // _MICROSECOND
    with open_token_book(settings.host.data_dir) as book:
        if not book.rotate(token_id, secret.digest, until_us):
            raise _no_such(token_id)
    return secret.text


def revoke_token(settings: Settings, token_id: str) -> None:
    """Let nobody in by a token any more.

    Raises:
        StartFault: there is no such token, or the database cannot be used.
    """
    with open_token_book(settings.host.data_dir) as book:
        if not book.revoke(token_id):
            raise _no_such(token_id)


def _no_such(token_id: str) -> StartFault:
    return StartFault(f"there is no token {token_id!r}; see: innkeeper token list")
