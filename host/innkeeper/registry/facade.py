"""The one typed door to plugins: a method per hook, and the only place that knows how answers combine."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

from innkeeper.contract.agent import Agent
from innkeeper.contract.hooks import HOOKS, HookRule, register_agents, should_handle_turn
from innkeeper.contract.message import Message
from innkeeper.contract.turn import Turn
from innkeeper.registry.fanout import Asked, Finish, Implementation, as_it_is, ask_all, in_order
from innkeeper.registry.foreign import Finished, Outcome, Raised, Strays, TimedOut
from innkeeper.registry.loading import described

GRACE_SECONDS: Final = 1.0
"""How long a hook may take to stop once its time is up, before it is left behind."""


@dataclass(frozen=True, slots=True)
class Registered:
    """The agents of each plugin, in order, and what was wrong with the answers of others."""

    agents: tuple[tuple[str, Agent], ...]
    faults: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GateVerdict:
    """What the gates said: whether the turn is handled, who declined it, and whose answer did not count and why."""

    handled: bool = True
    declined_by: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


_PASSED: Final = GateVerdict()


@final
class Hooks:
    """The hooks of one tenant, or of the host itself."""

    def __init__(
        self,
        implementations: Iterable[Implementation],
        strays: Strays,
        *,
        rules: Mapping[str, HookRule] = HOOKS,
        grace_seconds: float = GRACE_SECONDS,
    ) -> None:
        ordered = in_order(implementations)
        self._by_hook = {hook: tuple(each for each in ordered if each.hook == hook) for hook in rules}
        self._strays = strays
        self._rules = rules
        self._grace_seconds = grace_seconds

    @property
    def has_gates(self) -> bool:
        """Whether there is anybody to ask; without gates nobody needs to read the history."""
        return bool(self._by_hook[should_handle_turn.__name__])

    async def register_agents(self) -> Registered:
        """Ask every plugin for its agents; whatever else comes back is a fault."""
        agents: list[tuple[str, Agent]] = []
        faults: list[str] = []
        for asked in await self._ask(register_agents.__name__, {}, _agents_in):
            plugin = asked.implementation.plugin
            match asked.outcome:
                case Finished(tuple() as answer) if all(isinstance(each, Agent) for each in answer):
                    agents.extend((plugin, agent) for agent in answer)
                case outcome:
                    fault = _described(outcome, "an Agent, an iterable of them or None")
                    faults.append(f"plugin {plugin!r}: hook {register_agents.__name__!r} {fault}")
        return Registered(tuple(agents), tuple(faults))

    async def should_handle_turn(self, turn: Turn, history: Sequence[Message]) -> GateVerdict:
        """Ask all gates at once and wait for all: the turn is handled unless one answers False.

        Fails open: a raise, a hang and an answer that is neither bool nor None count as True, with a warning.
        """
        if not self.has_gates:
            return _PASSED
        declined: list[str] = []
        faults: list[str] = []
        for asked in await self._ask(should_handle_turn.__name__, {"turn": turn, "history": tuple(history)}):
            plugin = asked.implementation.plugin
            match asked.outcome:
                case Finished(None | True):
                    pass
                case Finished(False):
                    declined.append(plugin)
                case outcome:
                    fault = _described(outcome, "True, False or None")
                    faults.append(f"plugin {plugin!r} {fault}")
                    asked.implementation.context.log.warning(
                        "%s %s; that counts as True",
                        asked.implementation.name,
                        fault,
                        exc_info=outcome.error if isinstance(outcome, Raised) else None,
                    )
        return GateVerdict(not declined, tuple(declined), tuple(faults)) if declined or faults else _PASSED

    async def _ask(self, hook: str, arguments: Mapping[str, object], finish: Finish = as_it_is) -> tuple[Asked, ...]:
        return await ask_all(
            self._by_hook[hook],
            arguments,
            rule=self._rules[hook],
            grace=self._grace_seconds,
            strays=self._strays,
            finish=finish,
        )


def _agents_in(answer: object) -> object:
    """Make a tuple of what ``register_agents`` may answer; anything else stays as it is."""
    if answer is None:
        return ()
    if isinstance(answer, Agent):
        return (answer,)
    return tuple(answer) if isinstance(answer, Iterable) else answer


def _described(outcome: Outcome[object], expected: str) -> str:
    match outcome:
        case Finished(value):
            kinds = {type(each).__name__ for each in value} if isinstance(value, tuple) else {type(value).__name__}
            return f"answered {', '.join(sorted(kinds))}; expected is {expected}"
        case Raised(error):
            return f"raised {described(error)}"
        case TimedOut(deadline, left_behind):
            return f"took longer than {deadline:g} s" + (" and ignores its cancellation" if left_behind else "")
