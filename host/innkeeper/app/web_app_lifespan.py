"""The ASGI lifespan of a plugin's web app: run with that of the host, by an app that speaks it."""

import asyncio
from collections.abc import Iterable
from typing import Any, Final, final

from innkeeper.edge.http import ASGI, Message
from innkeeper.registry.foreign import Foreign, Strays

ASGI_VERSIONS: Final = {"version": "3.0", "spec_version": "2.0"}


@final
class WebAppLifespan:
    """Starts and stops one app. ``start`` once, then ``stop`` once.

    ``state`` is what the app has put there at its start, for each of its requests. ``deadline`` is seconds each way,
    ``grace`` how long the app may take to stop once that is over.
    """

    def __init__(self, app: ASGI, *, name: str, strays: Strays, deadline: float, grace: float) -> None:
        self.state: dict[str, Any] = {}
        self._app = app
        self._name = name
        self._strays = strays
        self._deadline = deadline
        self._grace = grace
        self._stopping = asyncio.Event()
        self._answers: dict[str, asyncio.Future[str | None]] = {}
        self._told: list[str] = []
        self._running: Foreign[None] | None = None

    async def start(self) -> str | None:
        """Start the app, and say what went wrong; an app that ends without a word does not speak the protocol."""
        scope = {"type": "lifespan", "asgi": ASGI_VERSIONS, "state": self.state}
        self._answers = {step: asyncio.get_running_loop().create_future() for step in ("startup", "shutdown")}
        self._running = Foreign(
            lambda: self._app(scope, self._receive, self._heard), name=self._name, strays=self._strays
        )
        fault = await self._answer(self._running, "startup")
        if fault is not None:
            await self._running.stop(self._grace)
        return fault

    async def stop(self) -> str | None:
        """Stop the app, and say what went wrong."""
        if self._running is None or self._running.task.done():
            return None
        self._stopping.set()
        fault = await self._answer(self._running, "shutdown")
        await self._running.stop(self._grace)
        return fault

    async def _answer(self, running: Foreign[None], step: str) -> str | None:
        """Wait for what the app says to a step, or for its end."""
        answer = self._answers[step]
        waited: Iterable[asyncio.Future[Any]] = (running.task, answer)
        await asyncio.wait(waited, timeout=self._deadline, return_when=asyncio.FIRST_COMPLETED)
        if answer.done():
            return answer.result()
        return None if running.task.done() else f"took longer than {self._deadline:g} s for its lifespan's {step}"

    async def _receive(self) -> Message:
        if not self._told:
            return self._tell("startup")
        await self._stopping.wait()
        if "shutdown" in self._told:
            await asyncio.Event().wait()  # there is no more to come
        return self._tell("shutdown")

    def _tell(self, step: str) -> Message:
        self._told.append(step)
        return {"type": f"lifespan.{step}"}

    async def _heard(self, message: Message) -> None:
        _, step, how = message["type"].split(".")
        fault = f"failed in its lifespan's {step}{_last_line(message)}" if how == "failed" else None
        if not self._answers[step].done():
            self._answers[step].set_result(fault)


def _last_line(message: Message) -> str:
    """Return why, where the app says so: some send a whole traceback."""
    lines = str(message.get("message", "")).strip().splitlines()
    return f": {lines[-1]}" if lines else ""
