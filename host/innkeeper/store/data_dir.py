"""The data directory: private, and used by one host at a time."""

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from innkeeper.contract.errors import StartFault
from innkeeper.store.forks import not_for_children

DATABASE: Final = "innkeeper.db"
LOCK: Final = "innkeeper.lock"

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


def make_private_directory(path: Path) -> None:
    """Make the directory with mode 0700, or take every right of group and others from the one that is there.

    Raises:
        StartFault: it cannot be made, or is not ours to tighten.
    """
    try:
        path.mkdir(mode=stat.S_IRWXU, parents=True, exist_ok=True)
        _tighten(path)
    except OSError as error:
        raise StartFault(f"data directory {path}: {error.strerror}") from error


def make_private_file(path: Path) -> None:
    """Make the file with mode 0600, or tighten the one that is there and what SQLite has put beside it.

    SQLite gives its -wal and -shm files the mode of the database.

    Raises:
        StartFault: it cannot be made, or is not ours to tighten.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, stat.S_IRUSR | stat.S_IWUSR))
        for file in (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
            if file.exists():
                _tighten(file)
    except OSError as error:
        raise StartFault(f"file {path}: {error.strerror}") from error


def _tighten(path: Path) -> None:
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & _OTHERS:
        path.chmod(mode & ~_OTHERS)


@contextmanager
def sole_use(data_dir: Path) -> Iterator[None]:
    """Keep other hosts out of the directory, those of this process too.

    The lock is the kernel's and ends with the process, however that ends; the file stays, since removing it would let
    two hosts lock two files of one name.

    Raises:
        StartFault: another host has the directory, or its file system has no locks.
    """
    path = data_dir / LOCK
    make_private_file(path)
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StartFault(f"data directory {data_dir}: another host is using it") from error
        except OSError as error:
            raise StartFault(f"data directory {data_dir}: it cannot be locked: {error.strerror}") from error
        with not_for_children((descriptor,)):
            yield
    finally:
        os.close(descriptor)
