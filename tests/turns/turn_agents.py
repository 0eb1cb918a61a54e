"""Agents that several tests of turns use."""

import asyncio

from innkeeper import Ask, Turn


class Scripted:
    """An agent that stops in the middle of each turn until it is told to go on."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.canceled: list[str] = []
        self.entered = asyncio.Semaphore(0)
        self.gates: dict[str, asyncio.Event] = {}

    def go(self, text: str) -> None:
        self.gates.setdefault(text, asyncio.Event()).set()

    async def __call__(self, turn: Turn) -> str | Ask:
        self.begun.append(turn.text)
        self.entered.release()
        try:
            await self.gates.setdefault(turn.text, asyncio.Event()).wait()
        except asyncio.CancelledError:
            self.canceled.append(turn.text)
            raise
        return Ask(f"{turn.text}, really?") if turn.text.startswith("ask") else f"done {turn.text}"


async def echo(turn: Turn) -> str:
    return f"{turn.text}!"
