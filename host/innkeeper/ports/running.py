"""The seam between the engine and whatever runs a turn."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from innkeeper.contract.message import Part
from innkeeper.contract.turn import Outlet, Turn
from innkeeper.ports.events import ArtifactPiece, State
from innkeeper.ports.store import TaskView


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended: a settled state, and the parts of the closing message, if there is one."""

    state: State
    parts: tuple[Part, ...] = ()


class RunOutlet(Outlet, Protocol):
    """The outlet of a run, with what adapters of foreign agent kinds need beside the contract's own."""

    async def put_artifact(self, piece: ArtifactPiece) -> None:
        """Put out a piece of an artifact under an id of the agent's own."""
        ...

    async def put_progress(self, parts: tuple[Part, ...], message_id: str | None) -> None:
        """Publish a ``working`` status with a message of these parts, under an id of the agent's own."""
        ...

    async def earlier(self) -> TaskView | None:
        """Read the task as it stands when a later turn of it begins; None for the turn that opened the task."""
        ...

    def settle(self, outcome: Outcome) -> None:
        """End the turn with this outcome although the run goes on; the first counts, also before what the run returns.

        The run is given the turn's grace to return, and is canceled then.
        """
        ...


Runner = Callable[[Turn, RunOutlet], Awaitable[Outcome]]
"""A handler of any kind, ready to be called by the engine."""
