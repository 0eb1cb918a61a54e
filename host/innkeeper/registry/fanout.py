"""Asking every implementation of a hook by itself: none can keep another from being asked or heard."""

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from innkeeper.contract.hooks import HookRule
from innkeeper.contract.markers import HookOptions
from innkeeper.contract.plugin import PluginContext
from innkeeper.registry.foreign import Foreign, Outcome, Strays, run_in_thread, settle

Finish: TypeAlias = Callable[[object], object]


def as_it_is(answer: object) -> object:
    """Leave an answer alone."""
    return answer


@dataclass(frozen=True, slots=True)
class Implementation:
    """A plugin's implementation of a hook, with the plugin's context at the tenant (or host) that asks it.

    ``argnames`` are the arguments that it wants.
    """

    hook: str
    plugin: str
    function: Callable[..., object]
    argnames: tuple[str, ...]
    options: HookOptions
    context: PluginContext

    @property
    def name(self) -> str:
        """Who this is, as strays are listed."""
        at = f" at tenant {self.context.tenant!r}" if self.context.tenant else ""
        return f"{self.hook} of plugin {self.plugin!r}{at}"

    def start(self, arguments: Mapping[str, object], finish: Finish, strays: Strays) -> Foreign[object]:
        """Call it in a task of its own, with those of ``arguments`` (and ``plugin``) that it names.

        ``finish`` is applied to the answer, in the same task or thread: consuming an answer runs foreign code as well.
        """
        given = {**arguments, "plugin": self.context}
        call = functools.partial(self.function, **{name: given[name] for name in self.argnames})

        async def on_the_loop() -> object:
            answer = call()
            return finish(await answer if inspect.isawaitable(answer) else answer)

        async def in_a_thread() -> object:
            return await run_in_thread(lambda: finish(call()), name=self.name, strays=strays)

        return Foreign(in_a_thread if self.options.blocking else on_the_loop, name=self.name, strays=strays)


@dataclass(frozen=True, slots=True)
class Asked:
    """How one implementation answered."""

    implementation: Implementation
    outcome: Outcome[object]


def in_order(implementations: Iterable[Implementation]) -> tuple[Implementation, ...]:
    """Put ``tryfirst`` first and ``trylast`` last; otherwise the order stays."""
    return tuple(sorted(implementations, key=lambda each: each.options.trylast - each.options.tryfirst))


async def ask_all(
    implementations: Sequence[Implementation],
    arguments: Mapping[str, object],
    *,
    rule: HookRule,
    grace: float,
    strays: Strays,
    finish: Finish = as_it_is,
) -> tuple[Asked, ...]:
    """Ask all of them at the same time and wait for all; the answers come in the order of ``implementations``."""
    running = [implementation.start(arguments, finish, strays) for implementation in implementations]
    outcomes = await settle(running, deadline=rule.deadline.total_seconds(), grace=grace)
    return tuple(map(Asked, implementations, outcomes))
