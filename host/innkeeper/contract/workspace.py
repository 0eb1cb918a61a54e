"""The files of a session: what a plugin stores them in, and the capped handle through which everybody uses it."""

import inspect
import json
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from types import NoneType
from typing import Any, Final, NoReturn, Protocol, TypeVar, final

from innkeeper.contract.errors import InnkeeperError
from innkeeper.contract.json_values import plain
from innkeeper.contract.message import JSON

T = TypeVar("T")

MAX_FILE_BYTES: Final = 524_288
"""The size of the largest file, in bytes of UTF-8."""

MAX_FILES: Final = 200
"""The number of files at which only existing ones can be written."""


class WorkspaceLimit(InnkeeperError):
    """A file would be too large, or there would be too many; the text names the path or the count."""


@dataclass(frozen=True, slots=True)
class WorkspaceEntry:
    """A file or directory in a listing.

    ``path`` is whole, without slashes around it: what ``read_file`` takes. ``size_bytes`` is that of the text in UTF-8,
    0 for a directory.

    Raises:
        TypeError: a field has the wrong type.
        ValueError: the size is negative, or a directory's and not 0.
    """

    path: str
    is_directory: bool
    size_bytes: int

    def __post_init__(self) -> None:
        _require("the path of a workspace entry", self.path, str)
        _require("is_directory of a workspace entry", self.is_directory, bool)
        _require_count("the size of a workspace entry", self.size_bytes)
        if self.is_directory and self.size_bytes:
            raise ValueError(f"the size of a directory is 0, not {self.size_bytes}")


@dataclass(frozen=True, slots=True)
class WorkspaceInfo:
    """A workspace as a whole; directories are not counted.

    Raises:
        TypeError: the count is no int.
        ValueError: the count is negative.
    """

    file_count: int

    def __post_init__(self) -> None:
        _require_count("the file count of a workspace", self.file_count)


class WorkspaceBacking(Protocol):
    """Where the files of one session are kept.

    A path is segments joined by ``/``; slashes around it do not count, and ``""`` is the root, which always exists.
    Directories are implied by the files below them: they come with the first and go with the last. No file has a
    path with an empty, ``.`` or ``..`` segment; every other character stands for itself.
    """

    async def read_file(self, path: str) -> str | None:
        """Return the text exactly as it was written; None if there is no such file, or a directory."""
        ...

    async def write_file(self, path: str, text: str) -> None:
        """Make the file, or replace all of it.

        Raises:
            ValueError: no file can be there: the path is the root, that of a directory, below a file, or has an empty,
                ``.`` or ``..`` segment. Nothing has changed.
        """
        ...

    async def exists(self, path: str) -> bool:
        """Tell whether there is a file or directory."""
        ...

    async def delete_file(self, path: str) -> bool:
        """Remove the file and tell whether there was one; a directory is none."""
        ...

    async def read_dir(self, path: str) -> tuple[WorkspaceEntry, ...]:
        """Return the files and directories immediately below, in any order; none if that is no directory."""
        ...

    async def info(self) -> WorkspaceInfo:
        """Count the files."""
        ...


@final
class Workspace:
    """The files of a session, capped: a file holds up to ``MAX_FILE_BYTES``, and there are up to ``MAX_FILES``.

    ``backing`` is asked for at the first use, by one of those who use it then, and again only if that failed.
    ``lock`` (an ``anyio.Lock()``) lets one write at a time count files and add one, so a session has one handle.

    Each method raises, besides what it names itself, ``ValueError`` for a path that UTF-8 cannot encode, and
    ``TypeError`` for an argument of the wrong type. ``PluginFailed`` is raised where the plugin that keeps the files
    does not do what ``WorkspaceBacking`` says, or not within 5 seconds; without a host, ``TypeError`` for such answers.
    """

    __slots__ = ("_backing", "_lock", "_open")

    def __init__(
        self, backing: Callable[[], Awaitable[WorkspaceBacking]], lock: AbstractAsyncContextManager[object]
    ) -> None:
        self._open = backing
        self._lock = lock
        self._backing: WorkspaceBacking | None = None

    async def read_file(self, path: str) -> str | None:
        """Return the text of the file, None if there is none."""
        _utf8_bytes("a path", path)
        backing = await self._opened()
        return await _answer("read_file", backing.read_file(path), str, NoneType)

    async def write_file(self, path: str, text: str) -> None:
        """Make the file, or replace all of it.

        Raises:
            WorkspaceLimit: the text is too large, or the file would be one too many; nothing is written.
            ValueError: UTF-8 cannot encode the text, or no file can be at this path; nothing is written.
        """
        _utf8_bytes("a path", path)
        size = _utf8_bytes("the text of a file", text)
        if size > MAX_FILE_BYTES:
            raise WorkspaceLimit(f"{path!r} would have {size} bytes; a file has at most {MAX_FILE_BYTES}")
        backing = await self._opened()
        async with self._lock:
            count = (await _answer("info", backing.info(), WorkspaceInfo)).file_count
            if count >= MAX_FILES and await _answer("read_file", backing.read_file(path), str, NoneType) is None:
                raise WorkspaceLimit(f"{path!r} would be one too many: there are {count} files of at most {MAX_FILES}")
            await _answer("write_file", backing.write_file(path, text), NoneType)

    async def exists(self, path: str) -> bool:
        """Tell whether there is a file or directory."""
        _utf8_bytes("a path", path)
        backing = await self._opened()
        return await _answer("exists", backing.exists(path), bool)

    async def delete_file(self, path: str) -> bool:
        """Remove the file and tell whether there was one."""
        _utf8_bytes("a path", path)
        backing = await self._opened()
        return await _answer("delete_file", backing.delete_file(path), bool)

    async def read_dir(self, path: str = "") -> tuple[WorkspaceEntry, ...]:
        """Return the files and directories immediately below, sorted by path; none if that is no directory."""
        _utf8_bytes("a path", path)
        backing = await self._opened()
        entries = await _answer("read_dir", backing.read_dir(path), tuple)
        for entry in entries:
            if not isinstance(entry, WorkspaceEntry):
                _refuse_answer("read_dir", f"a tuple that holds a {type(entry).__name__}")
        return tuple(sorted(entries, key=lambda entry: entry.path))

    async def info(self) -> WorkspaceInfo:
        """Count the files."""
        backing = await self._opened()
        return await _answer("info", backing.info(), WorkspaceInfo)

    async def read_json(self, path: str) -> JSON:
        """Return the value that the file holds, None if there is no file.

        Raises:
            ValueError: the file is no JSON; NaN and Infinity are none.
        """
        text = await self.read_file(path)
        if text is None:
            return None
        try:
            value: JSON = json.loads(text, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path!r} is not JSON: {error}") from error
        return value

    async def write_json(self, path: str, value: JSON) -> None:
        """Write the value as JSON, indented by two spaces, every character as it is; else as ``write_file``.

        Raises:
            TypeError: something in it is no JSON value.
            ValueError: a number in it is NaN or infinite, or it is nested too deeply.
        """
        await self.write_file(path, json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False))

    async def _opened(self) -> WorkspaceBacking:
        if self._backing is None:
            async with self._lock:
                if self._backing is None:  # of several first users, the others find it here
                    self._backing = await self._open()
        return self._backing


async def _answer(method: str, answering: object, *kinds: type[T]) -> T:
    """Wait for what a backing's method has to say and believe nothing of it: the backing is a plugin's code."""
    if not inspect.isawaitable(answering):
        raise TypeError(f"{method} of a workspace backing is no async method")
    answer = await answering
    if not isinstance(answer, kinds):
        _refuse_answer(method, f"a {type(answer).__name__}")
    return answer


def _refuse_answer(method: str, given: str) -> NoReturn:
    raise TypeError(f"{method} of a workspace backing cannot answer {given}")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


def _utf8_bytes(what: str, text: str) -> int:
    _require(what, text, str)
    try:
        return len(text.encode())
    except UnicodeEncodeError as error:
        raise ValueError(f"{what} has a lone surrogate at {error.start}, which UTF-8 cannot encode") from error


def _require(what: str, value: object, kind: Any) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{what} cannot be a {type(value).__name__}")


def _require_count(what: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{what} cannot be a {type(value).__name__}")
    if value < 0:
        raise ValueError(f"{what} cannot be {value}")
