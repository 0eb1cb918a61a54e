"""Whether something is a workspace backing: what ``WorkspaceBacking`` promises, one check per promise."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import anyio

from innkeeper.contract.workspace import MAX_FILE_BYTES, Workspace, WorkspaceBacking, WorkspaceEntry

Make = Callable[[], Awaitable[WorkspaceBacking]]


async def check_backing(make: Make) -> None:
    """Check a backing; ``make`` opens an empty one at each call, as for a session of its own.

    Raises:
        AssertionError: a promise is broken; the text says which, and how.
    """
    for promise, check in PROMISES.items():
        try:
            await check(make)
        except AssertionError as error:
            raise AssertionError(f"{promise} {error}") from error
        except Exception as error:  # whatever a backing raises breaks the promise, and says how
            raise AssertionError(f"{promise} It raised {error!r}.") from error


def _equal(what: str, found: object, expected: object) -> None:
    if found != expected:
        raise AssertionError(f"{what} gave {found!r:.200}, not {expected!r:.200}.")


def _opened(make: Make) -> Workspace:
    return Workspace(make, anyio.Lock())  # the handle, so that answers of the wrong type are found as well


async def _sessions_are_apart(make: Make) -> None:
    one, other = _opened(make), _opened(make)
    await one.write_file("a", "one")
    _equal("read_file('a') of another", await other.read_file("a"), None)


async def _it_begins_empty(make: Make) -> None:
    files = _opened(make)
    _equal("read_file('a')", await files.read_file("a"), None)
    _equal("exists('a')", await files.exists("a"), False)
    _equal("delete_file('a')", await files.delete_file("a"), False)
    _equal("read_dir('a')", await files.read_dir("a"), ())
    for root in ("", "/"):
        _equal(f"exists({root!r})", await files.exists(root), True)
        _equal(f"read_file({root!r})", await files.read_file(root), None)
        _equal(f"read_dir({root!r})", await files.read_dir(root), ())
    _equal("the file_count of info()", (await files.info()).file_count, 0)


async def _text_comes_back(make: Make) -> None:
    files = _opened(make)
    for text in (
        "first",
        "",
        "a\r\nb\rc\n",
        " \t ",
        "žluťoučký 🐎",
        "x" * MAX_FILE_BYTES,
        "🐎" * (MAX_FILE_BYTES // 4),
    ):
        await files.write_file("a", text)
        _equal("read_file('a')", await files.read_file("a"), text)
        _equal("exists('a')", await files.exists("a"), True)
    _equal("the file_count of info()", (await files.info()).file_count, 1)


async def _files_go(make: Make) -> None:
    files = _opened(make)
    await files.write_file("a", "")
    await files.write_file("b", "b")
    _equal("delete_file('a') of an empty file", await files.delete_file("a"), True)
    _equal("delete_file('a') again", await files.delete_file("a"), False)
    _equal("read_file('a')", await files.read_file("a"), None)
    _equal("read_file('b')", await files.read_file("b"), "b")
    _equal("the file_count of info()", (await files.info()).file_count, 1)


async def _slashes_do_not_count(make: Make) -> None:
    files = _opened(make)
    await files.write_file("//a/b/", "b")
    for path in ("a/b", "/a/b", "a/b/", "//a/b//"):
        _equal(f"read_file({path!r})", await files.read_file(path), "b")
    for path in ("a", "/a/"):
        _equal(f"read_dir({path!r})", await files.read_dir(path), (WorkspaceEntry("a/b", False, 1),))
    _equal("delete_file('/a/b/')", await files.delete_file("/a/b/"), True)


async def _directories_are_implied(make: Make) -> None:
    files = _opened(make)
    await files.write_file("a/b/c", "c")
    for path in ("a", "a/b"):
        _equal(f"exists({path!r})", await files.exists(path), True)
        _equal(f"read_file({path!r})", await files.read_file(path), None)
        _equal(f"delete_file({path!r})", await files.delete_file(path), False)
    _equal("the file_count of info()", (await files.info()).file_count, 1)
    await files.delete_file("a/b/c")
    _equal("exists('a') once the last file is deleted", await files.exists("a"), False)
    _equal("read_dir('') once the last file is deleted", await files.read_dir(""), ())


async def _a_listing_is_one_level(make: Make) -> None:
    files = _opened(make)
    for path, text in {"a/b": "ž", "a/c/d": "", "a/c/e": "", "a/f": "", "ab/g": "", "a.h": ""}.items():
        await files.write_file(path, text)
    below = (WorkspaceEntry("a/b", False, 2), WorkspaceEntry("a/c", True, 0), WorkspaceEntry("a/f", False, 0))
    _equal("read_dir('a')", await files.read_dir("a"), below)
    _equal("read_dir('a/b') of a file", await files.read_dir("a/b"), ())
    names = [entry.path for entry in await files.read_dir("")]
    _equal("the paths of read_dir('')", names, ["a", "a.h", "ab"])


async def _characters_stand_for_themselves(make: Make) -> None:
    files = _opened(make)
    paths = ["A", "a", "a_", "ab", "a%", "a*", "a?", "[a]", "a\\b", "a b", "a'b", 'a"b', "é", "e\u0301", "..a", "a.."]
    for path in paths:
        await files.write_file(f"{path}/x", path)
    for path in paths:
        _equal(f"read_file({path + '/x'!r})", await files.read_file(f"{path}/x"), path)
        listed = [entry.path for entry in await files.read_dir(path)]
        _equal(f"the paths of read_dir({path!r})", listed, [f"{path}/x"])


async def _nothing_is_where_no_file_can_be(make: Make) -> None:
    files = _opened(make)
    await files.write_file("a/b", "b")
    for path in ("", "/", "a", "/a/", "a/b/c", ".", "..", "../x", "a/../x", "a/./x", "a//x", "x/.."):
        try:
            await files.write_file(path, "x")
        except ValueError:
            pass
        else:
            raise AssertionError(f"write_file({path!r}, …) was taken.")
        _equal(f"read_file({path!r})", await files.read_file(path), None)
    for path in ("a/../a/b", "./a/b", "a//b"):
        _equal(f"read_file({path!r})", await files.read_file(path), None)
        _equal(f"exists({path!r})", await files.exists(path), False)
        _equal(f"delete_file({path!r})", await files.delete_file(path), False)
        _equal(f"read_dir({path!r})", await files.read_dir(path), ())
    _equal("read_file('a/b')", await files.read_file("a/b"), "b")
    _equal("the file_count of info()", (await files.info()).file_count, 1)


PROMISES: Final[Mapping[str, Callable[[Make], Awaitable[None]]]] = {
    "Each session has files of its own.": _sessions_are_apart,
    "A new backing has nothing in it but the root, and asking makes nothing.": _it_begins_empty,
    "A file is read exactly as it was written last.": _text_comes_back,
    "A deleted file is gone, and others stay.": _files_go,
    "Slashes around a path do not count.": _slashes_do_not_count,
    "A directory comes with the first file below it, is no file, and goes with the last.": _directories_are_implied,
    "A listing has what is immediately below, once each, by its whole path.": _a_listing_is_one_level,
    "No character of a path is a pattern, an escape or the same as another.": _characters_stand_for_themselves,
    "Writing raises ValueError where no file can be, and changes nothing.": _nothing_is_where_no_file_can_be,
}
