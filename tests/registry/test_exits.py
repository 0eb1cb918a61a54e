"""What exits in a task ends that task: on any loop, whoever made it and however."""

import asyncio
import contextvars
import logging
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from innkeeper.registry.foreign import Foreign, ForeignExit, Strays, contain_exits

Make = Callable[[], Awaitable[BaseException | None]]


async def leaves(error: BaseException) -> None:
    await asyncio.sleep(0)
    raise error


async def caught(work: Awaitable[Any]) -> BaseException | None:
    (result,) = await asyncio.gather(work, return_exceptions=True)
    return result if isinstance(result, BaseException) else None


async def child(error: BaseException) -> BaseException | None:
    return await caught(asyncio.create_task(leaves(error), name="child"))


async def child_of_an_empty_context(error: BaseException) -> BaseException | None:
    return await caught(asyncio.create_task(leaves(error), name="child", context=contextvars.Context()))


async def grandchild_of_an_empty_context(error: BaseException) -> BaseException | None:
    made = asyncio.create_task(child(error), context=contextvars.Context())
    return await made


async def from_a_thread(error: BaseException) -> BaseException | None:
    loop = asyncio.get_running_loop()
    made: list[Any] = []
    thread = threading.Thread(target=lambda: made.append(asyncio.run_coroutine_threadsafe(leaves(error), loop)))
    thread.start()
    await asyncio.to_thread(thread.join)
    return await caught(asyncio.wrap_future(made[0]))


async def in_a_group(error: BaseException) -> BaseException | None:
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(leaves, error)
    except BaseExceptionGroup as raised:
        return raised.exceptions[0]
    return None


def on_a_loop(work: Callable[[], Awaitable[Any]]) -> Any:
    async def main() -> Any:
        contain_exits(asyncio.get_running_loop())
        return await work()

    with asyncio.Runner() as runner:
        return runner.run(main())


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()], ids=["SystemExit", "KeyboardInterrupt"])
@pytest.mark.parametrize(
    "make", [child, child_of_an_empty_context, grandchild_of_an_empty_context, from_a_thread, in_a_group]
)
def test_an_exit_in_a_task_ends_that_task_alone(make: Callable[..., Any], error: BaseException) -> None:
    async def guest() -> Any:
        foreign: Foreign[Any] = Foreign(lambda: make(error), name="guest", strays=Strays())
        assert await foreign.wait(10)
        return foreign.result()

    assert isinstance(on_a_loop(guest), ForeignExit)
    assert isinstance(on_a_loop(lambda: make(error)), ForeignExit), "a task that is nobody's is contained as well"


@pytest.mark.parametrize("make", [child, child_of_an_empty_context, grandchild_of_an_empty_context])
def test_the_log_names_the_task_and_its_owner(make: Any, caplog: pytest.LogCaptureFixture) -> None:
    async def guest() -> None:
        await Foreign(lambda: make(SystemExit(3)), name="guest", strays=Strays()).wait(10)

    on_a_loop(guest)
    (record,) = caplog.records
    assert record.getMessage().startswith("task child of guest raised SystemExit: 3 (")
    assert record.getMessage().endswith("), which ends this task alone")
    assert record.levelno == logging.WARNING


def test_the_main_task_may_end_its_loop() -> None:
    with pytest.raises(SystemExit):
        on_a_loop(lambda: leaves(SystemExit(3)))


def test_what_a_task_returns_and_raises_is_its_own_otherwise() -> None:
    async def answers() -> int:
        return 7

    async def main() -> tuple[Any, Any, bool]:
        task = asyncio.create_task(asyncio.Event().wait())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait((task,))
        return await asyncio.create_task(answers()), await caught(leaves(ValueError("x"))), task.cancelled()

    value, error, canceled = on_a_loop(main)
    assert (value, str(error), canceled) == (7, "x", True)


def test_cancelling_an_anyio_group_that_foreign_code_made_ends_its_tasks() -> None:
    async def handler() -> str:
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(anyio.sleep_forever)
            await asyncio.sleep(0)
            group.cancel_scope.cancel()
        return "left"

    async def guest() -> Any:
        foreign = Foreign(handler, name="guest", strays=Strays())
        assert await foreign.wait(10)
        return foreign.result()

    assert on_a_loop(guest) == "left"


def test_a_task_keeps_its_coroutines_name_in_reports() -> None:
    async def name() -> str:
        return repr(asyncio.create_task(asyncio.sleep(0, "slept")))

    assert "coro=<sleep()" in on_a_loop(name)
