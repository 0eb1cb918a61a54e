"""Files in memory: a model of the right answers, and the promises of every backing."""

from collections.abc import Awaitable
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from innkeeper import WorkspaceEntry, WorkspaceInfo
from innkeeper.registry.memory_workspace import MemoryWorkspace
from innkeeper.testing import check_backing

PATHS = st.lists(st.sampled_from(["a", "b", "ab", "", ".", ".."]), max_size=3).map("/".join)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)


def now(answering: Awaitable[Any]) -> Any:
    """Run a coroutine that waits for nothing."""
    try:
        answering.send(None)  # type: ignore[attr-defined]
    except StopIteration as ended:
        return ended.value
    raise AssertionError("it waits for something")


class Model(RuleBasedStateMachine):
    """The files as a dict from their segments; a directory is a shorter beginning of a file's."""

    def __init__(self) -> None:
        super().__init__()
        self.real = MemoryWorkspace()
        self.files: dict[tuple[str, ...], str] = {}

    def is_directory(self, at: tuple[str, ...]) -> bool:
        return any(file[: len(at)] == at and file != at for file in self.files)

    @rule(path=PATHS, text=TEXTS)
    def write(self, path: str, text: str) -> None:
        at = segments(path)
        below_a_file = any(at[:length] in self.files for length in range(len(at)))
        if not at or self.is_directory(at) or below_a_file or set(at) & {"", ".", ".."}:
            with pytest.raises(ValueError, match=r"directory|segment|below"):
                now(self.real.write_file(path, text))
        else:
            now(self.real.write_file(path, text))
            self.files[at] = text

    @rule(path=PATHS)
    def delete(self, path: str) -> None:
        assert now(self.real.delete_file(path)) is (self.files.pop(segments(path), None) is not None)

    @rule(path=PATHS)
    def look(self, path: str) -> None:
        at = segments(path)
        assert now(self.real.read_file(path)) == self.files.get(at)
        assert now(self.real.exists(path)) is (not at or at in self.files or self.is_directory(at))
        below = {file[: len(at) + 1]: file for file in self.files if file[: len(at)] == at and file != at}
        sizes = {child: len(self.files[file].encode()) if child == file else 0 for child, file in below.items()}
        expected = {WorkspaceEntry("/".join(child), child != below[child], size) for child, size in sizes.items()}
        listed = now(self.real.read_dir(path))
        assert set(listed) == expected
        assert len(listed) == len(expected)

    @invariant()
    def counted(self) -> None:
        assert now(self.real.info()) == WorkspaceInfo(len(self.files))


def segments(path: str) -> tuple[str, ...]:
    trimmed = path.strip("/")
    return tuple(trimmed.split("/")) if trimmed else ()


TestAgainstTheModel = Model.TestCase


@pytest.mark.anyio
async def test_it_keeps_every_promise_of_a_backing() -> None:
    async def make() -> MemoryWorkspace:
        return MemoryWorkspace()

    await check_backing(make)


@pytest.mark.anyio
async def test_a_text_that_utf_8_cannot_encode_replaces_nothing() -> None:
    files = MemoryWorkspace()
    await files.write_file("a", "before")
    with pytest.raises(ValueError, match="surrogates not allowed"):
        await files.write_file("a", "\ud800")
    assert await files.read_file("a") == "before"


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "'' is a directory"),
        ("dir/", "'dir/' is a directory"),
        ("dir/file/x/y", "'dir/file/x/y' is below 'dir/file', which is a file"),
        ("x//y", "an empty"),
        ("../x", r"'\.\.' segment"),
    ],
)
async def test_a_refusal_names_the_path_and_why(path: str, reason: str) -> None:
    files = MemoryWorkspace()
    await files.write_file("dir/file", "")
    with pytest.raises(ValueError, match=reason):
        await files.write_file(path, "x")
