"""The capped handle: its exact edges, its one opening, and what it believes of a backing."""

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from innkeeper import InnkeeperError, Workspace, WorkspaceEntry, WorkspaceInfo, WorkspaceLimit
from innkeeper.registry.memory_workspace import MemoryWorkspace

pytestmark = pytest.mark.anyio


def handle(backing: Any) -> Workspace:
    async def open_it() -> Any:
        return backing

    return Workspace(open_it, anyio.Lock())


async def holding(count: int) -> MemoryWorkspace:
    """Return a backing with ``count`` files, all below the directory ``full``."""
    backing = MemoryWorkspace()
    for number in range(count):
        await backing.write_file(f"full/{number}", "")
    return backing


@pytest.mark.parametrize(
    "text", ["x" * 524_288, "ž" * 262_144, "🐎" * 131_072, "€" * 174_762 + "xx"], ids=["1", "2", "4", "3+1"]
)
async def test_a_file_of_524288_bytes_is_taken_and_one_byte_more_is_not(text: str) -> None:
    files = handle(MemoryWorkspace())
    await files.write_file("a", text)
    assert (await files.read_dir(""))[0].size_bytes == 524_288
    with pytest.raises(WorkspaceLimit, match=r"'b' would have 524289 bytes"):
        await files.write_file("b", text + "x")
    with pytest.raises(WorkspaceLimit, match=r"'a'"):
        await files.write_file("a", "x" + text)
    assert await files.read_file("b") is None
    assert await files.read_file("a") == text


@pytest.mark.parametrize(("count", "taken"), [(198, True), (199, True), (200, False), (201, False)])
async def test_the_200th_file_is_taken_and_the_next_is_not(count: int, taken: bool) -> None:
    backing = await holding(count)
    if taken:
        await handle(backing).write_file("new", "x")
    else:
        with pytest.raises(WorkspaceLimit, match=f"'new' .* {count} files"):
            await handle(backing).write_file("new", "x")
    assert (await backing.info()).file_count == count + taken


@pytest.mark.parametrize("count", [200, 201])
async def test_at_the_cap_an_existing_file_is_replaced_even_an_empty_one(count: int) -> None:
    files = handle(await holding(count))
    await files.write_file("/full/0/", "new")
    assert await files.read_file("full/0") == "new"


async def test_a_directory_is_refused_as_one_too_many_at_the_cap_and_as_no_file_below_it() -> None:
    with pytest.raises(WorkspaceLimit, match="'full'"):
        await handle(await holding(200)).write_file("full", "x")
    with pytest.raises(ValueError, match="'full' is a directory"):
        await handle(await holding(199)).write_file("full", "x")


async def test_at_the_cap_a_deleted_file_makes_room() -> None:
    files = handle(await holding(200))
    assert await files.delete_file("full/0") is True
    await files.write_file("new", "x")
    assert (await files.info()).file_count == 200


async def test_a_limit_is_an_error_of_ours() -> None:
    assert issubclass(WorkspaceLimit, InnkeeperError)


class Slow(MemoryWorkspace):
    """Lets everybody else run before each answer."""

    async def info(self) -> WorkspaceInfo:
        answer = await super().info()
        await checkpoint()
        return answer

    async def write_file(self, path: str, text: str) -> None:
        await checkpoint()
        await super().write_file(path, text)


async def test_of_writes_at_the_same_time_none_slips_past_the_cap() -> None:
    backing = Slow()
    for number in range(198):
        await backing.write_file(str(number), "")
    files = handle(backing)
    refused = []

    async def write(path: str) -> None:
        try:
            await files.write_file(path, "x")
        except WorkspaceLimit:
            refused.append(path)

    async with anyio.create_task_group() as writing:
        for path in ("a", "b", "c", "d"):
            writing.start_soon(write, path)
    assert (await backing.info()).file_count == 200
    assert len(refused) == 2


class Opening:
    """Opens a backing, and counts; the first ``failures`` openings fail."""

    def __init__(self, failures: int = 0) -> None:
        self.count = 0
        self.failures = failures

    async def __call__(self) -> MemoryWorkspace:
        self.count += 1
        await checkpoint()
        if self.count <= self.failures:
            raise OSError("no room")
        return MemoryWorkspace()


async def test_the_backing_is_opened_at_the_first_use_by_one_of_many() -> None:
    opening = Opening()
    files = Workspace(opening, anyio.Lock())
    assert opening.count == 0
    async with anyio.create_task_group() as using:
        for number in range(5):
            using.start_soon(files.write_file, str(number), "x")
            using.start_soon(files.read_file, str(number))
    assert opening.count == 1
    assert (await files.info()).file_count == 5


async def test_a_failed_opening_is_told_and_tried_again_at_the_next_use() -> None:
    opening = Opening(failures=1)
    files = Workspace(opening, anyio.Lock())
    with pytest.raises(OSError, match="no room"):
        await files.exists("a")
    assert await files.exists("a") is False
    assert opening.count == 2


async def test_what_is_refused_for_its_arguments_opens_nothing() -> None:
    opening = Opening()
    files = Workspace(opening, anyio.Lock())
    with pytest.raises(WorkspaceLimit):
        await files.write_file("a", "x" * 524_289)
    with pytest.raises(TypeError):
        await files.read_file(None)  # type: ignore[arg-type]
    assert opening.count == 0


@pytest.mark.parametrize(
    ("method", "arguments", "error", "told"),
    [
        ("read_file", (b"a",), TypeError, "a path cannot be a bytes"),
        ("write_file", (None, "x"), TypeError, "a path cannot be a NoneType"),
        ("write_file", ("a", b"x"), TypeError, "the text of a file cannot be a bytes"),
        ("write_file", ("a", "x\ud800"), ValueError, "the text of a file has a lone surrogate at 1"),
        ("write_file", ("\udfff", "x"), ValueError, "a path has a lone surrogate at 0"),
        ("exists", (1,), TypeError, "a path cannot be a int"),
        ("delete_file", (["a"],), TypeError, "a path cannot be a list"),
        ("read_dir", (None,), TypeError, "a path cannot be a NoneType"),
        ("read_json", (b"a",), TypeError, "a path cannot be a bytes"),
        ("write_json", ("a", {1: 2}), TypeError, "a key of a JSON object cannot be a int"),
        ("write_json", ("a", [b"x"]), TypeError, "a JSON value cannot be a bytes"),
        ("write_json", ("a", {"x": {1}}), TypeError, "a JSON value cannot be a set"),
        ("write_json", ("a", [float("nan")]), ValueError, "not JSON compliant"),
        ("write_json", ("a", float("-inf")), ValueError, "not JSON compliant"),
        ("write_json", ("a", "\ud800"), ValueError, "lone surrogate"),
        ("write_json", ("a", "x" * 524_287), WorkspaceLimit, "524289 bytes"),
    ],
)
async def test_a_wrong_argument_is_named_and_nothing_is_written(
    method: str, arguments: tuple[Any, ...], error: type[Exception], told: str
) -> None:
    backing = MemoryWorkspace()
    with pytest.raises(error, match=told):
        await getattr(handle(backing), method)(*arguments)
    assert (await backing.info()).file_count == 0


class Lying:
    """A right backing but for one method, which answers what it is told to."""

    def __init__(self, method: str, answer: object) -> None:
        self._right = MemoryWorkspace()

        async def lie(*arguments: object) -> object:
            return answer

        setattr(self, method, lie)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._right, name)


@pytest.mark.parametrize(
    ("method", "answer", "told"),
    [
        ("read_file", b"x", "read_file .* a bytes"),
        ("write_file", 1, "write_file .* a int"),
        ("exists", None, "exists .* a NoneType"),
        ("exists", 1, "exists .* a int"),
        ("delete_file", "yes", "delete_file .* a str"),
        ("read_dir", ["a"], "read_dir .* a list"),
        ("read_dir", ("a",), "read_dir .* a tuple that holds a str"),
        ("read_dir", None, "read_dir .* a NoneType"),
        ("info", None, "info .* a NoneType"),
        ("info", 3, "info .* a int"),
    ],
)
async def test_an_answer_of_the_wrong_type_is_charged_to_the_method(method: str, answer: object, told: str) -> None:
    arguments = {"write_file": ("a", "x"), "info": ()}.get(method, ("a",))
    with pytest.raises(TypeError, match=told):
        await getattr(handle(Lying(method, answer)), method)(*arguments)


async def test_a_write_believes_no_wrong_count() -> None:
    with pytest.raises(TypeError, match="info of a workspace backing"):
        await handle(Lying("info", 3)).write_file("a", "x")


async def test_a_plain_method_is_refused_and_named() -> None:
    class Plain(MemoryWorkspace):
        def read_file(self, path: str) -> Any:
            return "x"

    with pytest.raises(TypeError, match="read_file of a workspace backing is no async method"):
        await handle(Plain()).read_file("a")


async def test_a_listing_is_sorted_whatever_the_order_of_the_backing() -> None:
    files = handle(MemoryWorkspace())
    for path in ("b", "a/x", "c"):
        await files.write_file(path, "x")
    assert await files.read_dir() == (
        WorkspaceEntry("a", is_directory=True, size_bytes=0),
        WorkspaceEntry("b", is_directory=False, size_bytes=1),
        WorkspaceEntry("c", is_directory=False, size_bytes=1),
    )


async def test_json_is_written_with_two_spaces_and_every_character_as_it_is() -> None:
    files = handle(MemoryWorkspace())
    await files.write_json("a", {"kůň": ["🐎", 1.5, None]})
    assert await files.read_file("a") == '{\n  "kůň": [\n    "🐎",\n    1.5,\n    null\n  ]\n}'


@pytest.mark.parametrize("value", [None, True, 0, 1.5, "", "a", [], {}, {"a": [{"b": None}]}])
async def test_json_comes_back(value: Any) -> None:
    files = handle(MemoryWorkspace())
    await files.write_json("a", value)
    assert await files.read_json("a") == value
    assert await files.exists("a")


async def test_mappings_and_sequences_of_other_types_are_objects_and_arrays() -> None:
    value: Mapping[str, Sequence[int]] = MappingProxyType({"a": range(2), "b": (3,)})
    files = handle(MemoryWorkspace())
    await files.write_json("a", value)
    assert await files.read_json("a") == {"a": [0, 1], "b": [3]}


async def test_no_file_is_no_json() -> None:
    assert await handle(MemoryWorkspace()).read_json("a") is None


@pytest.mark.parametrize("text", ["", "{", "nul", "NaN", "[-Infinity]", "\ufeff1", "1 2", "[" * 100_000])
async def test_malformed_json_raises_and_names_the_path(text: str) -> None:
    files = handle(MemoryWorkspace())
    await files.write_file("notes", text)
    with pytest.raises(ValueError, match="'notes' is not JSON"):
        await files.read_json("notes")


async def test_json_within_itself_is_refused() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(ValueError, match="within itself"):
        await handle(MemoryWorkspace()).write_json("a", value)


async def test_json_at_the_edge_of_the_cap_is_taken() -> None:
    files = handle(MemoryWorkspace())
    await files.write_json("a", "x" * 524_286)
    assert json.loads(await files.read_file("a") or "") == "x" * 524_286


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ((1, False, 0), TypeError),
        (("a", 0, 0), TypeError),
        (("a", False, None), TypeError),
        (("a", False, True), TypeError),
        (("a", False, -1), ValueError),
        (("a", True, 1), ValueError),
    ],
)
async def test_an_entry_with_a_wrong_field_is_refused(fields: tuple[Any, ...], error: type[Exception]) -> None:
    with pytest.raises(error, match=r"workspace entry|directory"):
        WorkspaceEntry(*fields)


@pytest.mark.parametrize(("count", "error"), [("1", TypeError), (True, TypeError), (-1, ValueError)])
async def test_a_wrong_count_is_refused(count: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="file count"):
        WorkspaceInfo(count)
