"""What a process that is forked from the host must not keep alive: a lock, or a port, once the host is no more."""

import functools
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

_ours: Final[set[int]] = set()


@contextmanager
def not_for_children(descriptors: Iterable[int]) -> Iterator[None]:
    """Take the descriptors, for the block, from every process that is forked by ``os.fork`` or ``multiprocessing``.

    There they lead to nowhere instead of being closed: the child may have objects that will close them once more.
    """
    _arrange()
    these = {*descriptors}
    _ours.update(these)
    try:
        yield
    finally:
        _ours.difference_update(these)


@functools.cache
def _arrange() -> None:
    os.register_at_fork(after_in_child=_let_go)  # once per process: it cannot be undone


def _let_go() -> None:
    if _ours:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for descriptor in _ours:
            os.dup2(nowhere, descriptor, inheritable=False)
        os.close(nowhere)
        _ours.clear()
