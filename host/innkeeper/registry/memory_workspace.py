"""The workspace of a session for which no plugin brings one: files in memory, gone with the session's last handle."""

from collections.abc import Iterator
from typing import final

from innkeeper.contract.workspace import WorkspaceEntry, WorkspaceInfo


@final
class MemoryWorkspace:
    """A ``WorkspaceBacking`` that is a dict: a path is a key in it and never touches a disk."""

    def __init__(self) -> None:
        self._files: dict[str, bytes] = {}

    async def read_file(self, path: str) -> str | None:
        """Return the text; None if there is no such file."""
        content = self._files.get(_key(path))
        return None if content is None else content.decode()

    async def write_file(self, path: str, text: str) -> None:
        """Make the file, or replace all of it.

        Raises:
            ValueError: UTF-8 cannot encode the text; no file can be at this path.
        """
        key = _key(path)
        if not key or self._is_directory(key):
            raise ValueError(f"{path!r} is a directory, no file")
        if not {"", ".", ".."}.isdisjoint(key.split("/")):
            raise ValueError(f"{path!r} has an empty, '.' or '..' segment")
        for parent in _parents(key):
            if parent in self._files:
                raise ValueError(f"{path!r} is below {parent!r}, which is a file")
        self._files[key] = text.encode()

    async def exists(self, path: str) -> bool:
        """Tell whether there is a file or directory."""
        key = _key(path)
        return not key or key in self._files or self._is_directory(key)

    async def delete_file(self, path: str) -> bool:
        """Remove the file and tell whether there was one."""
        return self._files.pop(_key(path), None) is not None

    async def read_dir(self, path: str) -> tuple[WorkspaceEntry, ...]:
        """Return the files and directories immediately below; none if that is no directory."""
        start = f"{key}/" if (key := _key(path)) else ""
        entries: dict[str, WorkspaceEntry] = {}
        for file, content in self._files.items():
            if file.startswith(start):
                name, slash, _ = file.removeprefix(start).partition("/")
                child = start + name
                entries[child] = WorkspaceEntry(child, bool(slash), 0 if slash else len(content))
        return tuple(entries.values())

    async def info(self) -> WorkspaceInfo:
        """Count the files."""
        return WorkspaceInfo(len(self._files))

    def _is_directory(self, key: str) -> bool:
        return any(file.startswith(f"{key}/") for file in self._files)


def _key(path: str) -> str:
    return path.strip("/")


def _parents(key: str) -> Iterator[str]:
    return (key[:at] for at, character in enumerate(key) if character == "/")
