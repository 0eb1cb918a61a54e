"""The file of the signing keys while the host runs: rotated beside it, it is read again."""

import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, TypeAlias

import anyio
from anyio import to_thread

from innkeeper.contract.errors import StartFault
from innkeeper.edge.keys import SigningKeys, load_key_file

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 1.0
"""How often the file is looked at."""

Stamp: TypeAlias = tuple[int, int] | None
"""Which file it is and when it was written; None where there is none."""


async def follow_key_file(
    path: Path,
    served: SigningKeys,
    sign: Callable[[SigningKeys], None],
    pause: Callable[[float], Awaitable[None]] = anyio.sleep,
) -> None:
    """Call ``sign`` in a worker thread with what the file holds, each time that it holds other keys than are served.

    A file that cannot be read, or holds no key, changes nothing: it is logged, once.
    """
    seen: Stamp = None
    while True:
        stamp = _stamp(path)
        if stamp != seen:
            seen = stamp
            try:
                keys = await to_thread.run_sync(load_key_file, path)
            except StartFault as fault:
                log.warning("the keys stay as they are: %s", fault)
            else:
                if keys.jwks() != served.jwks():
                    await to_thread.run_sync(sign, keys)
                    served = keys
                    log.info("cards are signed with key %s from now on", keys.kid)
        await pause(LOOK_SECONDS)


def _stamp(path: Path) -> Stamp:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns
