"""Tokens that say where the next page of a listing begins: opaque, and of use in the listing they were made for only.

No secret is needed: a listing holds its owner's things only, so a token made up by hand reaches nothing else.
"""

import hashlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from typing import Final, TypeVar

from innkeeper.contract.errors import InvalidParams

T = TypeVar("T")

DEFAULT_PAGE_SIZE: Final = 50
MAX_PAGE_SIZE: Final = 100

_SEAL_BYTES: Final = 16


def checked_page_size(asked: int) -> int:
    """Return the size.

    Raises:
        InvalidParams: it is out of range.
    """
    if not 1 <= asked <= MAX_PAGE_SIZE:
        raise InvalidParams(f"pageSize must be 1 to {MAX_PAGE_SIZE}")
    return asked


def token_from_position(position: bytes, listing: object) -> str:
    """Write the token of a position. ``listing`` is all that tells this listing from others, with a stable ``repr``."""
    return urlsafe_b64encode(_seal(position, listing) + position).rstrip(b"=").decode()


def position_from_token(token: str, listing: object, read: Callable[[bytes], T]) -> T:
    """Read the position back; ``read`` raises ValueError where it is none.

    Raises:
        InvalidParams: it is no token of this listing.
    """
    try:
        sealed = urlsafe_b64decode(token.encode("ascii") + b"=" * (-len(token) % 4))
        seal, position = sealed[:_SEAL_BYTES], sealed[_SEAL_BYTES:]
        if seal == _seal(position, listing):
            return read(position)
    except ValueError:
        pass
    raise InvalidParams("pageToken is not one of this listing")


def _seal(position: bytes, listing: object) -> bytes:
    return hashlib.sha256(repr(listing).encode() + b"\n" + position).digest()[:_SEAL_BYTES]
