"""A backing that breaks a promise is told which."""

from typing import Any

import pytest

from innkeeper import WorkspaceEntry, WorkspaceInfo
from innkeeper.registry.memory_workspace import MemoryWorkspace
from innkeeper.testing import check_backing


class EmptyIsMissing(MemoryWorkspace):
    async def read_file(self, path: str) -> str | None:
        return await super().read_file(path) or None


class TranslatesNewlines(MemoryWorkspace):
    async def write_file(self, path: str, text: str) -> None:
        await super().write_file(path, text.replace("\r\n", "\n"))


class KeepsSlashes(MemoryWorkspace):
    async def read_file(self, path: str) -> str | None:
        return None if path.startswith("/") else await super().read_file(path)


class FoldsCase(MemoryWorkspace):
    async def write_file(self, path: str, text: str) -> None:
        await super().write_file(path.lower(), text)

    async def read_file(self, path: str) -> str | None:
        return await super().read_file(path.lower())


class ListsByPrefix(MemoryWorkspace):
    async def read_dir(self, path: str) -> tuple[WorkspaceEntry, ...]:
        below = [file for file in self._files if file.startswith(path.strip("/"))]
        return tuple(WorkspaceEntry(file, is_directory=False, size_bytes=len(self._files[file])) for file in below)


class KnowsNoDirectories(MemoryWorkspace):
    async def exists(self, path: str) -> bool:
        return not path.strip("/") or await self.read_file(path) is not None


class CountsOne(MemoryWorkspace):
    async def info(self) -> WorkspaceInfo:
        return WorkspaceInfo(1)


class TakesAnyPath(MemoryWorkspace):
    async def write_file(self, path: str, text: str) -> None:
        self._files[path.strip("/")] = text.encode()


class RaisesForMissing(MemoryWorkspace):
    async def read_file(self, path: str) -> Any:
        return self._files[path].decode()


class AnswersBytes(MemoryWorkspace):
    async def read_file(self, path: str) -> Any:
        return self._files.get(path)


class DeletesDirectories(MemoryWorkspace):
    async def delete_file(self, path: str) -> bool:
        return await super().delete_file(path) or await self.exists(path)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("backing", "told"),
    [
        (EmptyIsMissing, r"read exactly as it was written last\. read_file\('a'\) gave None, not ''"),
        (TranslatesNewlines, "read exactly as it was written last"),
        (KeepsSlashes, "Slashes around a path"),
        (FoldsCase, "No character of a path"),
        (ListsByPrefix, "A listing has|A directory comes"),
        (KnowsNoDirectories, r"A directory comes .* exists\('a'\) gave False"),
        (CountsOne, r"has nothing in it .* info\(\) gave 1, not 0"),
        (TakesAnyPath, r"Writing raises ValueError .* write_file\('', …\) was taken"),
        (RaisesForMissing, "KeyError"),
        (AnswersBytes, "read_file of a workspace backing cannot answer a bytes"),
        (DeletesDirectories, "A directory comes|has nothing"),
    ],
)
async def test_a_broken_promise_is_named(backing: type[MemoryWorkspace], told: str) -> None:
    async def make() -> MemoryWorkspace:
        return backing()

    with pytest.raises(AssertionError, match=told):
        await check_backing(make)


@pytest.mark.anyio
async def test_one_tree_for_every_session_is_found() -> None:
    shared = MemoryWorkspace()

    async def make() -> MemoryWorkspace:
        return shared

    with pytest.raises(AssertionError, match="files of its own"):
        await check_backing(make)
