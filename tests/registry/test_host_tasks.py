"""Who may cancel what: foreign code its own and its like, the host everything."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from innkeeper.registry.foreign import Foreign, Strays, contain_exits
from innkeeper.registry.process import EnduringLoop


def on_our_loop(work: Callable[[], Awaitable[Any]]) -> Any:
    async def main() -> Any:
        contain_exits(asyncio.get_running_loop())
        return await work()

    with asyncio.Runner(loop_factory=EnduringLoop) as runner:
        return runner.run(main())


async def sweep() -> None:
    for task in asyncio.all_tasks():
        task.cancel()
    await asyncio.sleep(0)


async def swept_later() -> None:
    swept = asyncio.Event()

    def callback() -> None:
        for task in asyncio.all_tasks():
            task.cancel()
        swept.set()

    asyncio.get_running_loop().call_soon(callback)
    await swept.wait()
    await asyncio.sleep(0)


async def sweeps_in_a_child() -> None:
    await asyncio.create_task(sweep())


@pytest.mark.parametrize("attack", [sweep, swept_later, sweeps_in_a_child])
def test_foreign_code_that_cancels_every_task_cancels_none_of_the_hosts(
    attack: Callable[[], Awaitable[None]], caplog: pytest.LogCaptureFixture
) -> None:
    async def host() -> tuple[bool, bool]:
        waiting = [asyncio.create_task(asyncio.Event().wait(), name=f"host {number}") for number in range(3)]
        guest = Foreign(attack, name="guest", strays=Strays())
        assert await guest.wait(10)
        await asyncio.sleep(0)
        going_on = not any(task.done() or task.cancelling() for task in waiting)
        for task in waiting:
            task.cancel()
        await asyncio.wait(waiting)
        return going_on, guest.finished

    assert on_our_loop(host) == (True, False)
    (record,) = caplog.records
    assert record.getMessage().startswith("guest cancels tasks of the host, which go on")


def test_foreign_code_cancels_what_foreign_code_has_made() -> None:
    async def handler() -> bool:
        child = asyncio.create_task(asyncio.Event().wait())
        child.cancel()
        await asyncio.wait((child,))
        try:
            async with asyncio.timeout(0.001):
                await asyncio.Event().wait()
        except TimeoutError:
            return child.cancelled()
        return False

    async def host() -> bool:
        guest = Foreign(handler, name="guest", strays=Strays())
        assert await guest.wait(10)
        return guest.result()

    assert on_our_loop(host) is True


def test_what_foreign_code_waits_for_of_another_ends_with_it() -> None:
    async def host() -> tuple[bool, bool]:
        inner: list[Foreign[Any]] = []

        async def handler() -> None:
            inner.append(Foreign(asyncio.Event().wait, name="inner", strays=Strays()))
            try:
                await inner[0].wait(None)
            finally:
                await inner[0].stop(1)

        outer = Foreign(handler, name="outer", strays=Strays())
        await asyncio.sleep(0)
        await outer.stop(1)
        return outer.left_behind, inner[0].task.done()

    assert on_our_loop(host) == (False, True)
