"""Gates that misbehave, each a plugin of its own, and one that only says no."""

import asyncio
import contextlib

from innkeeper import Turn, hookimpl


class RaisesNow:
    @hookimpl
    def should_handle_turn(self) -> bool:
        raise RuntimeError("raised at once")


class RaisesLater:
    @hookimpl
    async def should_handle_turn(self) -> bool:
        await asyncio.sleep(0)
        raise RuntimeError("raised later")


class Hangs:
    @hookimpl
    async def should_handle_turn(self) -> None:
        await asyncio.Event().wait()


class IgnoresCancel:
    @hookimpl
    async def should_handle_turn(self) -> None:
        while True:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()


class SaysNo:
    @hookimpl
    async def should_handle_turn(self, turn: Turn) -> bool:
        return "no-entry" not in turn.text


raises_now, raises_later, hangs, ignores_cancel, says_no = (
    RaisesNow(),
    RaisesLater(),
    Hangs(),
    IgnoresCancel(),
    SaysNo(),
)
