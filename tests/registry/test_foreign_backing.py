"""A plugin's backing: whatever a method does is contained, and charged to the plugin that provides it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import anyio
import pytest

from innkeeper import Caller, PluginContext, PluginFailed, Scope, Workspace, WorkspaceEntry, WorkspaceInfo
from innkeeper.contract.hooks import HOOKS
from innkeeper.contract.markers import HookOptions
from innkeeper.registry.charges import Charge, Charges
from innkeeper.registry.facade import Hooks
from innkeeper.registry.fanout import Implementation
from innkeeper.registry.foreign import Strays
from innkeeper.registry.memory_workspace import MemoryWorkspace
from innkeeper.registry.workspaces import Workspaces

pytestmark = pytest.mark.anyio

SCOPE = Scope("t", Caller("alice"), "s")
ARGUMENTS: dict[str, tuple[str, ...]] = {"write_file": ("a", "x"), "info": ()}

Handle = Callable[[object], Workspace]


class Odd(MemoryWorkspace):
    """A right backing but for one method."""

    def __init__(self, method: str, instead: Callable[..., object]) -> None:
        super().__init__()
        setattr(self, method, instead)


class OddText(str):
    """A text that cannot be compared, hashed or shown."""

    __slots__ = ()

    def _fails(self, *_: object) -> Any:
        raise RuntimeError("do not touch")

    __eq__ = __hash__ = __repr__ = __str__ = encode = _fails  # type: ignore[assignment]


class OddNumber(int):
    """A number that is no count: it cannot be compared with the limit."""

    def __ge__(self, _: object) -> bool:
        raise RuntimeError("do not touch")


def raises(*_: str) -> Any:
    raise OSError("the disk is gone")


async def raises_later(*_: str) -> Any:
    await asyncio.sleep(0)
    raise OSError("the disk is gone")


async def exits(*_: str) -> Any:
    raise SystemExit(3)


async def hangs(*_: str) -> Any:
    await asyncio.Event().wait()


def answers(value: object) -> Callable[..., Awaitable[object]]:
    async def answer(*_: str) -> object:
        return value

    return answer


@pytest.fixture
def charges() -> Charges:
    return Charges()


@pytest.fixture
def handle(strays: Strays, charges: Charges) -> Handle:
    rule = replace(HOOKS["workspace_backing"], deadline=timedelta(milliseconds=30))
    context = PluginContext("files", "t", logging.LoggerAdapter(logging.getLogger("files"), {}), http=None)

    def making(backing: object) -> Workspace:
        provider = Implementation("workspace_backing", "files", lambda: backing, (), HookOptions(), context)
        hooks = Hooks([provider], strays, charges, rules={**HOOKS, "workspace_backing": rule}, grace_seconds=0.01)
        workspaces = Workspaces(hooks)
        return Workspace(lambda: workspaces.backing(SCOPE), anyio.Lock())

    return making


FAULTS: dict[str, tuple[str, Callable[..., object], str]] = {
    "raises": ("read_file", raises, "raised OSError: the disk is gone"),
    "raises later": ("exists", raises_later, "raised OSError: the disk is gone"),
    "raises while it writes": ("write_file", raises_later, "raised OSError: the disk is gone"),
    "refuses what is no writing": ("delete_file", answers(None), "answered NoneType; expected is True or False"),
    "exits": ("info", exits, "raised SystemExit: 3"),
    "hangs": ("read_dir", hangs, "took longer than 0.03 s"),
    "is plain": ("read_file", lambda path: "x", "answered str without being async; expected is a str or None"),
    "a number for an info": ("info", answers(3), "answered int; expected is a WorkspaceInfo"),
    "lists text": ("read_dir", answers(("a",)), "answered a tuple that holds a str; expected is a tuple of"),
    "a list": ("read_dir", answers([]), "answered list; expected is a tuple of WorkspaceEntry"),
    "a number for a yes": ("exists", answers(1), "answered int; expected is True or False"),
    "what it has written": ("write_file", answers("x"), "answered str; expected is None"),
    "bytes": ("read_file", answers(b"x"), "answered bytes; expected is a str or None"),
}


@pytest.mark.parametrize("case", FAULTS)
async def test_a_fault_of_a_method_is_charged_to_the_provider_by_the_methods_name(
    handle: Handle, charges: Charges, caplog: pytest.LogCaptureFixture, case: str
) -> None:
    method, instead, reason = FAULTS[case]
    files = handle(Odd(method, instead))
    with pytest.raises(PluginFailed) as failed:
        await getattr(files, method)(*ARGUMENTS.get(method, ("a",)))
    assert str(failed.value).startswith(f"plugin 'files': hook 'workspace_backing.{method}' {reason}")
    assert charges.counts == {Charge("files", f"workspace_backing.{method}", "t"): 1}
    assert f"workspace_backing.{method} of plugin 'files' at tenant 't' {reason}" in caplog.text


async def test_a_method_that_ignores_its_cancellation_is_left_behind_by_name(
    handle: Handle, strays: Strays, all_gone: Callable[[], Awaitable[None]]
) -> None:
    released = asyncio.Event()

    async def stays(path: str) -> None:
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue

    with pytest.raises(PluginFailed, match="ignores its cancellation"):
        await handle(Odd("read_file", stays)).read_file("a")
    assert strays.names() == ("workspace_backing.read_file of plugin 'files' at tenant 't'",)
    released.set()
    await all_gone()


async def test_a_path_where_no_file_can_be_is_the_writers_mistake(handle: Handle, charges: Charges) -> None:
    with pytest.raises(ValueError, match=r"'a/\.\./b' has an empty, '\.' or '\.\.' segment"):
        await handle(MemoryWorkspace()).write_file("a/../b", "x")
    assert not charges.counts


async def test_what_a_backing_answers_is_copied_into_plain_values(handle: Handle) -> None:
    entry = WorkspaceEntry(OddText("a"), False, 1)
    info = WorkspaceInfo(OddNumber(0))
    for method, answer, expected in (
        ("read_file", OddText("x"), "x"),
        ("read_dir", (entry,), (WorkspaceEntry("a", False, 1),)),
        ("info", info, WorkspaceInfo(0)),
    ):
        told = await getattr(handle(Odd(method, answers(answer))), method)(*ARGUMENTS.get(method, ("a",)))
        assert told == expected
