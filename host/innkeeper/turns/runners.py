"""Handlers of the contract's own two forms, made ready for the engine."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Final

from innkeeper.contract.agent import Agent, is_coroutine_function, is_streaming
from innkeeper.contract.errors import InnkeeperError
from innkeeper.contract.message import Part, text_of
from innkeeper.contract.turn import Ask, Refuse, Turn
from innkeeper.ports.events import State
from innkeeper.ports.running import Outcome, Runner, RunOutlet

REPLY: Final = "reply"
"""The name of the artifact that carries streamed text and the parts of an answer that are not text."""


class WrongAnswer(InnkeeperError):
    """A handler answered with something that the contract does not know; it is the plugin's fault."""


def runner_from_handler(agent: Agent) -> Runner:
    """Make a coroutine function or an async generator function runnable.

    Raises:
        TypeError: the agent's handler is neither.
    """
    if is_streaming(agent.handler):
        return _stream(agent.handler)
    if is_coroutine_function(agent.handler):
        return _answer(agent.handler)
    raise TypeError(f"agent {agent.id!r}: its handler is of another form")


def _answer(handler: Callable[[Turn], Awaitable[object]]) -> Runner:
    async def run(turn: Turn, outlet: RunOutlet) -> Outcome:
        try:
            answer = await handler(turn)
        except Refuse as refusal:
            return Outcome(State.REJECTED, _said(refusal.text))
        if isinstance(answer, Ask):
            return Outcome(State.INPUT_REQUIRED, _said(answer.text))
        parts = _parts_from_answer(answer)
        others = tuple(part for part in parts if part.text is None)
        if others:
            await outlet.artifact(REPLY, others, append=False, last=True)
        return Outcome(State.COMPLETED, _said(text_of(parts)))

    return run


def _stream(handler: Callable[[Turn], AsyncGenerator[object]]) -> Runner:
    async def run(turn: Turn, outlet: RunOutlet) -> Outcome:
        texts: list[str] = []
        begun = False
        try:
            async with aclosing(handler(turn)) as pieces:  # its own clean-up runs here, within the turn
                async for piece in pieces:
                    part = _part_from_answer(piece)
                    await outlet.artifact(REPLY, (part,), append=begun, last=False)
                    begun = True
                    texts.append(part.text or "")
        except Refuse as refusal:
            return Outcome(State.REJECTED, _said(refusal.text))
        return Outcome(State.COMPLETED, _said("".join(texts)))

    return run


def _said(text: str) -> tuple[Part, ...]:
    return (Part(text=text, media_type="text/plain"),) if text else ()


def _parts_from_answer(answer: object) -> tuple[Part, ...]:
    if answer is None:
        return ()
    if isinstance(answer, Sequence) and not isinstance(answer, str | bytes):
        return tuple(_part_from_answer(part) for part in answer)
    return (_part_from_answer(answer),)


def _part_from_answer(answer: object) -> Part:
    if isinstance(answer, str):
        return Part(text=answer, media_type="text/plain")
    if isinstance(answer, Part):
        return answer
    raise WrongAnswer(f"a handler answers with str, Part, a list of Part, Ask or None, not {type(answer).__name__}")
