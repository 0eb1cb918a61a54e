"""The files of a session in a table; directories are what the paths of files imply."""

from dataclasses import dataclass
from typing import Final

from innkeeper import Database, WorkspaceEntry, WorkspaceInfo

TABLE: Final = """
CREATE TABLE files (
  session TEXT NOT NULL,
  path TEXT NOT NULL,           -- without slashes around it
  text TEXT NOT NULL,
  size_bytes INTEGER NOT NULL,  -- of the text in UTF-8
  PRIMARY KEY (session, path)
) STRICT"""

_WRITE: Final = """
INSERT INTO files (session, path, text, size_bytes) VALUES (?, ?, ?, ?)
ON CONFLICT (session, path) DO UPDATE SET text = excluded.text, size_bytes = excluded.size_bytes"""


@dataclass(frozen=True, slots=True)
class TableWorkspace:
    """Keeps the files of one session: few enough, by the limits of the host, to look through all their paths."""

    db: Database
    session: str

    async def read_file(self, path: str) -> str | None:
        """Return the text of a file, None if there is none."""
        row = await self.db.fetch_one("SELECT text FROM files WHERE session = ? AND path = ?", self._row(path))
        return None if row is None else str(row[0])

    async def write_file(self, path: str, text: str) -> None:
        """Write a file, over what it was.

        Raises:
            ValueError: UTF-8 cannot encode the text, or no file can be at this path.
        """
        key = _key(path)
        size_bytes = len(text.encode())
        if not {"", ".", ".."}.isdisjoint(key.split("/")):
            raise ValueError(f"{path!r} has an empty, '.' or '..' segment")
        async with self.db.transaction():
            if any(file.startswith(f"{key}/") or key.startswith(f"{file}/") for file in await self._sizes()):
                raise ValueError(f"{path!r} is a directory, or below a file")
            await self.db.execute(_WRITE, (self.session, key, text, size_bytes))

    async def exists(self, path: str) -> bool:
        """Tell whether there is a file or directory."""
        key = _key(path)
        return not key or any(f"{file}/".startswith(f"{key}/") for file in await self._sizes())

    async def delete_file(self, path: str) -> bool:
        """Remove a file, and tell whether there was one."""
        return await self.db.execute("DELETE FROM files WHERE session = ? AND path = ?", self._row(path)) > 0

    async def read_dir(self, path: str) -> tuple[WorkspaceEntry, ...]:
        """Return the files and directories immediately below a directory, in the order of their paths."""
        start = f"{key}/" if (key := _key(path)) else ""
        entries: dict[str, WorkspaceEntry] = {}
        for file, size_bytes in (await self._sizes()).items():
            if file.startswith(start):
                name, slash, _ = file.removeprefix(start).partition("/")
                entries[name] = WorkspaceEntry(start + name, bool(slash), 0 if slash else size_bytes)
        return tuple(entries[name] for name in sorted(entries))

    async def info(self) -> WorkspaceInfo:
        """Count the files."""
        return WorkspaceInfo(len(await self._sizes()))

    async def _sizes(self) -> dict[str, int]:
        """Return the size of each file by its path."""
        rows = await self.db.fetch_all("SELECT path, size_bytes FROM files WHERE session = ?", (self.session,))
        return {str(path): int(size_bytes or 0) for path, size_bytes in rows}

    def _row(self, path: str) -> tuple[str, str]:
        return self.session, _key(path)


def _key(path: str) -> str:
    return path.strip("/")
