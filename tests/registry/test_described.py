"""An error of foreign code is told with the place in that code, wherever it went through afterwards."""

import asyncio
import inspect
from pathlib import Path

import anyio
import pytest

from innkeeper.registry import described as module
from innkeeper.registry.described import LONGEST, described

THEIRS = "/srv/plugins/guest.py"
OURS = str(Path(inspect.getfile(module)).with_name("facade.py"))
STANDARD = str(Path(inspect.getfile(asyncio)).parent / "tasks.py")
INSTALLED = str(Path(STANDARD).parents[1] / "site-packages" / "guest.py")
ANYIO = str(Path(inspect.getfile(anyio)).parent / "to_thread.py")


def raised_through(*files: str) -> ValueError:
    """Raise in the last of these files, called by the one before it, each at line 3."""
    call: object = None
    for file in reversed(files):
        names = {"call": call}
        exec(compile("def step():\n\n    raise ValueError('no') if call is None else call()\n", file, "exec"), names)  # noqa: S102 - code of a file of our choice
        call = names["step"]
    with pytest.raises(ValueError, match="no") as caught:
        call()  # type: ignore[operator] # it is a function
    return ValueError("no").with_traceback(caught.value.__traceback__.tb_next)  # type: ignore[union-attr] # it has one


@pytest.mark.parametrize(
    ("files", "place"),
    [
        ((THEIRS,), f" ({THEIRS}:3)"),
        ((OURS, THEIRS, STANDARD), f" ({THEIRS}:3)"),
        ((THEIRS, ANYIO), f" ({THEIRS}:3)"),
        ((THEIRS, INSTALLED), f" ({INSTALLED}:3)"),
        ((THEIRS, "<string>"), f" ({THEIRS}:3)"),
        ((OURS, STANDARD), ""),
    ],
)
def test_the_place_is_the_last_one_in_foreign_code(files: tuple[str, ...], place: str) -> None:
    assert described(raised_through(*files)) == f"ValueError: no{place}"


def test_words_are_on_one_line_and_cut() -> None:
    assert described(ValueError("a\n  b")) == "ValueError: a b"
    assert described(ValueError("x" * 1000)) == f"ValueError: {'x' * LONGEST}…"


def test_words_do_not_steer_a_terminal() -> None:
    assert described(ValueError("a\x1b[31mb\0 é\u202e")) == r"ValueError: a\x1b[31mb\x00 é\u202e"
