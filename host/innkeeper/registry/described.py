"""Errors of foreign code, told on one line."""

import asyncio
import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Final

import anyio

from innkeeper.registry.printable import printable

LONGEST: Final = 500
"""How many characters of an error's words are told."""

_OURS: Final = f"{Path(__file__).parents[1]}{os.sep}"
_STANDARD: Final = str(Path(asyncio.__path__[0]).parent)
_INSTALLED: Final = ("site-packages", "dist-packages")


def words(
    error: BaseException, redacted: Callable[[str], str] = lambda text: text, *, longest: int | None = LONGEST
) -> str:
    """Return what an error of foreign code says, cut to what anybody reads once it is ``redacted``."""
    try:
        text = redacted(str(error))
    except BaseException:  # noqa: BLE001 - its __str__ is foreign code as well
        return "?"
    return text if longest is None or len(text) <= longest else f"{text[:longest]}…"


def described(
    error: BaseException, redacted: Callable[[str], str] = lambda text: text, *, longest: int | None = LONGEST
) -> str:
    """Put an error of foreign code on one line, with the place that raised it."""
    text = printable(" ".join(words(error, redacted, longest=longest).split()))
    return (f"{type(error).__name__}: {text}" if text else type(error).__name__) + _place(error)


def _place(error: BaseException) -> str:
    """Say where foreign code raised it; an error of syntax says that itself, and one of ours has no such place."""
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if _is_foreign(frame.filename)]
    return f" ({theirs[-1].filename}:{theirs[-1].lineno})" if theirs and not isinstance(error, SyntaxError) else ""


def _is_foreign(file: str) -> bool:
    """Tell whether a file may be a plugin's: it is not the host's, the interpreter's, or anyio's."""
    if file.startswith(("<", _OURS, anyio.__path__[0])):
        return False
    return not file.startswith(_STANDARD) or any(name in file for name in _INSTALLED)
