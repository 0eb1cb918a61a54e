"""Holding a plugin's ``lifespan``: one task enters it, holds it and leaves it."""

import asyncio
import inspect
from contextlib import AbstractAsyncContextManager
from typing import Final, final

from innkeeper.contract.hooks import HOOKS
from innkeeper.registry.charges import Charges
from innkeeper.registry.fanout import GRACE_SECONDS, Fault, Implementation, WrongAnswer, charged
from innkeeper.registry.foreign import Foreign, Outcome, Raised, Strays, TimedOut

_LEAVING: Final = HOOKS["lifespan"]


@final
class Holding:
    """One plugin's context manager at one tenant. ``enter`` once, then ``leave`` once.

    ``deadline`` is seconds each way. It is on the signal that the manager has been entered or left, not around the
    task: the manager may keep cancel scopes and task groups open.
    """

    def __init__(
        self,
        implementation: Implementation,
        strays: Strays,
        charges: Charges,
        *,
        deadline: float,
        grace: float = GRACE_SECONDS,
    ) -> None:
        self._implementation = implementation
        self._strays = strays
        self._charges = charges
        self._deadline = deadline
        self._grace = grace
        self._entered = asyncio.Event()
        self._leaving = asyncio.Event()
        self._foreign: Foreign[None] | None = None

    @property
    def plugin(self) -> str:
        """The name of the plugin."""
        return self._implementation.plugin

    async def enter(self) -> Fault | None:
        """Enter the manager; on a fault it is not held."""
        self._foreign = Foreign(self._hold, name=self._implementation.name, strays=self._strays)
        entered = asyncio.ensure_future(self._entered.wait())
        try:
            await asyncio.wait(
                (self._foreign.task, entered), timeout=self._deadline, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            entered.cancel()
            if not self._entered.is_set():
                await self._foreign.stop(self._grace)
        if self._entered.is_set():
            self._foreign.task.add_done_callback(self._ended)
            return None
        return self._charged(self._outcome(self._foreign))

    async def leave(self, hurry: asyncio.Event) -> None:
        """Leave the manager; a fault is logged and counted. ``hurry`` may be set to wait no longer than the grace."""
        if self._foreign is None or self._foreign.task.done():
            return
        self._leaving.set()
        hurried = asyncio.ensure_future(hurry.wait())
        await asyncio.wait((self._foreign.task, hurried), timeout=self._deadline, return_when=asyncio.FIRST_COMPLETED)
        hurried.cancel()
        if not await self._foreign.wait(self._grace if hurry.is_set() else 0):
            await self._foreign.stop(self._grace)
            self._log(self._outcome(self._foreign))
        elif not self._foreign.finished:
            self._log(self._outcome(self._foreign))

    async def _hold(self) -> None:
        answer = self._implementation.call({})
        manager = await answer if inspect.isawaitable(answer) else answer
        if not isinstance(manager, AbstractAsyncContextManager):
            raise WrongAnswer(type(manager).__name__)
        async with manager:
            self._entered.set()
            await self._leaving.wait()

    def _outcome(self, foreign: Foreign[None]) -> Outcome[None]:
        if foreign.outcome is None or foreign.left_behind:
            return TimedOut(self._deadline, left_behind=foreign.left_behind)
        if isinstance(foreign.outcome, Raised) and isinstance(foreign.outcome.error, asyncio.CancelledError):
            return TimedOut(self._deadline, left_behind=False)
        return foreign.outcome

    def _ended(self, _: object) -> None:
        if not self._leaving.is_set() and self._foreign is not None:
            self._log(self._foreign.outcome or Raised(asyncio.CancelledError()))

    def _charged(self, outcome: Outcome[None]) -> Fault:
        return charged(self._implementation, outcome, _LEAVING, self._charges)

    def _log(self, outcome: Outcome[None]) -> None:
        fault = self._charged(outcome)
        context = self._implementation.context
        error = fault.error and self._charges.secrets.kept_from(fault.error)
        context.log.error("%s, being held or left: %s", self._implementation.name, fault.reason, exc_info=error)
