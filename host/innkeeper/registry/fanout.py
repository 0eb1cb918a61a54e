"""Asking the implementations of a hook, each by itself: none can keep another from being asked or heard.

One way to ask per kind of hook; what a fault means is said in the hook's rule, here it is contained and charged.
"""

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar, final

from innkeeper.contract.errors import InnkeeperError, PluginFailed
from innkeeper.contract.hooks import HOOKS, HookRule, OnFault
from innkeeper.contract.markers import HookOptions
from innkeeper.contract.plugin import PluginContext
from innkeeper.registry.charges import Charge, Charges
from innkeeper.registry.copies import own
from innkeeper.registry.foreign import Finished, Foreign, Outcome, Raised, Strays, TimedOut, run_in_thread, settle
from innkeeper.registry.secrets import Secrets

T = TypeVar("T")

Take: TypeAlias = Callable[[object], T]
"""Makes of an answer what the host wants, in the task of whoever gave it. Raises ``WrongAnswer``."""

GRACE_SECONDS: Final = 1.0
"""How long a hook may take to stop once its time is up, before it is left behind."""


FIRST_ONES: Final = 10
"""How many faults of one hook of a plugin at a tenant are logged each, the first with its traceback.

Of the others one in a hundred is: a plugin that is at fault with every event must not fill the disk.
"""


class WrongAnswer(InnkeeperError):
    """An answer of a kind that the hook does not know; the message names the kind."""


class HookFailed(PluginFailed):
    """A hook has failed that cannot be done without; the faults name the plugins."""

    def __init__(self, *faults: "Fault") -> None:
        super().__init__("; ".join(map(str, faults)))
        self.faults = faults


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

    def call(self, arguments: Mapping[str, object]) -> object:
        """Call it with those of ``arguments`` (and ``plugin``) that it names, as its own."""
        given = {**arguments, "plugin": self.context}
        return self.function(**{name: own(given[name]) for name in self.argnames})

    def start(self, arguments: Mapping[str, object], take: Take[T], strays: Strays) -> Foreign[T]:
        """Call it in a task of its own; ``take`` runs there as well, since consuming an answer runs foreign code."""
        call = functools.partial(self.call, arguments)

        async def on_the_loop() -> T:
            answer = call()
            return take(await answer if inspect.isawaitable(answer) else answer)

        async def in_a_thread() -> T:
            return await run_in_thread(lambda: take(call()), name=self.name, strays=strays, owner=self.plugin)

        return Foreign(in_a_thread if self.options.blocking else on_the_loop, name=self.name, strays=strays)


class _Marked(Protocol):
    @property
    def options(self) -> HookOptions: ...


Placed = TypeVar("Placed", bound=_Marked)
"""An implementation, with a context or without."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What an implementation did instead of answering: it raised, hung, or answered with the wrong kind of thing.

    ``reason`` tells no secret; ``error`` is as it was raised.
    """

    plugin: str
    hook: str
    tenant: str | None
    reason: str
    error: BaseException | None = None

    def __str__(self) -> str:
        return f"plugin {self.plugin!r}: hook {self.hook!r} {self.reason}"


@dataclass(frozen=True, slots=True)
class Asked(Generic[T]):
    """What was answered, by plugin and in order, and what went wrong."""

    answers: tuple[tuple[str, T], ...] = ()
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether nobody said no, who did, and whose answer did not count."""

    agreed: bool = True
    declined_by: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()


def in_order(implementations: Iterable[Placed]) -> tuple[Placed, ...]:
    """Put ``tryfirst`` first and ``trylast`` last; otherwise the order stays."""
    return tuple(sorted(implementations, key=lambda each: each.options.trylast - each.options.tryfirst))


def none_or_bool(answer: object) -> bool | None:
    """Take what a gate answers."""
    if answer is None or answer is True or answer is False:
        return answer
    raise WrongAnswer(type(answer).__name__)


@final
class Fanout:
    """Asks ``implementations``, which are in call order.

    ``rules`` give each hook its deadline, ``grace_seconds`` is how long one may take to stop when that is over.
    """

    def __init__(
        self,
        implementations: Iterable[Implementation],
        strays: Strays,
        charges: Charges,
        *,
        rules: Mapping[str, HookRule] = HOOKS,
        grace_seconds: float = GRACE_SECONDS,
    ) -> None:
        self._by_hook: dict[str, tuple[Implementation, ...]] = dict.fromkeys(rules, ())
        for each in implementations:
            self._by_hook[each.hook] += (each,)
        self._strays = strays
        self._charges = charges
        self._rules = rules
        self._grace_seconds = grace_seconds

    def of(self, hook: str) -> tuple[Implementation, ...]:
        """Return the implementations of a hook in call order."""
        return self._by_hook[hook]

    async def collect(self, hook: str, arguments: Mapping[str, object], take: Take[T]) -> Asked[T]:
        """Ask all of them at the same time, wait for all, and keep every answer."""
        return await self._ask(self._by_hook[hook], hook, arguments, take)

    async def all_agree(self, hook: str, arguments: Mapping[str, object]) -> Verdict:
        """Ask as ``collect`` does: it is a yes unless one answers False. A fault counts as no answer."""
        asked = await self._ask(self._by_hook[hook], hook, arguments, none_or_bool)
        declined = tuple(plugin for plugin, answer in asked.answers if answer is False)
        return Verdict(not declined, declined, asked.faults)

    async def first(self, hook: str, arguments: Mapping[str, object], take: Take[T | None]) -> T | None:
        """Ask one after another until one answers something."""
        for implementation in self._by_hook[hook]:
            for _, answer in (await self._ask((implementation,), hook, arguments, take)).answers:
                if answer is not None:
                    return answer
        return None

    async def notify(self, hook: str, arguments: Mapping[str, object]) -> tuple[Fault, ...]:
        """Tell all of them at the same time and wait for all; what they answer does not matter."""
        return (await self._ask(self._by_hook[hook], hook, arguments, _ignored)).faults

    async def ask_plugin(self, plugin: str, hook: str, arguments: Mapping[str, object], take: Take[T]) -> T:
        """Ask the implementation of one plugin, which must have one.

        Raises:
            HookFailed: it is at fault.
        """
        (implementation,) = (each for each in self._by_hook[hook] if each.plugin == plugin)
        asked = await self.ask_one(implementation, arguments, take)
        if asked.faults:
            raise HookFailed(*asked.faults)
        return asked.answers[0][1]

    async def ask_one(self, implementation: Implementation, arguments: Mapping[str, object], take: Take[T]) -> Asked[T]:
        """Ask one of the implementations."""
        return await self._ask((implementation,), implementation.hook, arguments, take)

    def call_plain(self, hook: str, take: Take[T]) -> T:
        """Call the one implementation where no event loop runs, without a deadline.

        Raises:
            HookFailed: there is none, or it is at fault.
        """
        for implementation in self._by_hook[hook]:
            try:
                return take(implementation.call({}))
            except (Exception, SystemExit) as error:  # noqa: BLE001 - it is raised as a fault
                fault = charged(implementation, Raised(error), self._rules[hook], self._charges)
                raise HookFailed(fault) from self._charges.secrets.kept_from(error)
        raise HookFailed

    def charge(self, plugin: str, hook: str, reason: str) -> Fault:
        """Charge an implementation with a fault that shows only beside the answers of others."""
        (implementation,) = (each for each in self._by_hook[hook] if each.plugin == plugin)
        return _charge(implementation, self._charges.secrets.redacted(reason), None, self._rules[hook], self._charges)

    async def provide(self, hook: str, arguments: Mapping[str, object], take: Take[T | None]) -> T | None:
        """Ask the one provider there may be; None without one.

        Raises:
            HookFailed: it is at fault.
        """
        asked = await self._ask(self._by_hook[hook], hook, arguments, take)
        if asked.faults:
            raise HookFailed(*asked.faults)
        return asked.answers[0][1] if asked.answers else None

    async def _ask(
        self, implementations: Sequence[Implementation], hook: str, arguments: Mapping[str, object], take: Take[T]
    ) -> Asked[T]:
        rule = self._rules[hook]
        running = [each.start(arguments, take, self._strays) for each in implementations]
        answers: list[tuple[str, T]] = []
        faults: list[Fault] = []
        outcomes = await settle(running, deadline=rule.seconds, grace=self._grace_seconds)
        for each, outcome in zip(implementations, outcomes, strict=True):
            if isinstance(outcome, Finished):
                answers.append((each.plugin, outcome.value))
            else:
                faults.append(charged(each, outcome, rule, self._charges))
        return Asked(tuple(answers), tuple(faults))


def charged(implementation: Implementation, outcome: Outcome[Any], rule: HookRule, charges: Charges) -> Fault:
    """Make a fault of an outcome, count it and log it, unless whoever asks reports it anyway."""
    error = outcome.error if isinstance(outcome, Raised) else None
    return _charge(implementation, _reason(outcome, rule.answers, charges.secrets), error, rule, charges)


def _charge(
    implementation: Implementation, reason: str, error: BaseException | None, rule: HookRule, charges: Charges
) -> Fault:
    context = implementation.context
    count = charges.add(Charge(implementation.plugin, implementation.hook, context.tenant or ""))
    if rule.on_fault not in (OnFault.START_FAULT, OnFault.TOLD) and (count <= FIRST_ONES or count % FIRST_ONES**2 == 0):
        trace = (
            None if error is None or count > 1 or isinstance(error, WrongAnswer) else charges.secrets.kept_from(error)
        )
        often = f" ({count} times so far)" if count > 1 else ""
        context.log.warning("%s %s; %s%s", implementation.name, reason, rule.on_fault, often, exc_info=trace)
    return Fault(implementation.plugin, implementation.hook, context.tenant, reason, error)


def _reason(outcome: Outcome[Any], expected: str, secrets: Secrets) -> str:
    match outcome:
        case Finished():
            return "ended by itself"  # what is held must not
        case Raised(WrongAnswer() as wrong):
            return f"answered {secrets.redacted(str(wrong))}; expected is {expected}"
        case Raised(error):
            return f"raised {secrets.described(error)}"
        case TimedOut(deadline, left_behind):
            return f"took longer than {deadline:g} s" + (" and ignores its cancellation" if left_behind else "")


def _ignored(_: object) -> None:
    return None
