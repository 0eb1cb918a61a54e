"""What a handler's answer means."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from innkeeper import Agent, Ask, Part, Refuse, Turn
from innkeeper.ports.events import ArtifactPiece, State
from innkeeper.ports.running import Outcome
from innkeeper.turns.runners import WrongAnswer, runner_from_handler

pytestmark = pytest.mark.anyio


class Recorder:
    """An outlet that keeps what it is told."""

    def __init__(self) -> None:
        self.artifacts: list[tuple[str, tuple[Part, ...], bool, bool]] = []

    async def artifact(self, name: str, parts: Sequence[Part], *, append: bool, last: bool) -> None:
        self.artifacts.append((name, tuple(parts), append, last))

    async def progress(self, text: str, key: str | None) -> None:
        raise NotImplementedError

    async def put_artifact(self, piece: ArtifactPiece) -> None:
        raise NotImplementedError

    async def put_progress(self, parts: tuple[Part, ...], message_id: str | None) -> None:
        raise NotImplementedError

    async def earlier(self) -> None:
        raise NotImplementedError


A_TURN: Any = object()
DATA = Part(data={"n": 1})


def said(text: str) -> tuple[Part, ...]:
    return (Part(text=text, media_type="text/plain"),)


async def run(handler: Any) -> tuple[Outcome, list[tuple[str, tuple[Part, ...], bool, bool]]]:
    outlet = Recorder()
    outcome = await runner_from_handler(Agent("a", handler))(A_TURN, outlet)
    return outcome, outlet.artifacts


@pytest.mark.parametrize(
    ("answer", "outcome", "artifact"),
    [
        ("hi", Outcome(State.COMPLETED, said("hi")), ()),
        ("", Outcome(State.COMPLETED), ()),
        (None, Outcome(State.COMPLETED), ()),
        (Part(text="hi"), Outcome(State.COMPLETED, said("hi")), ()),
        (DATA, Outcome(State.COMPLETED), (DATA,)),
        ([Part(text="a"), DATA, Part(text="b")], Outcome(State.COMPLETED, said("ab")), (DATA,)),
        ([], Outcome(State.COMPLETED), ()),
        (Ask("which?"), Outcome(State.INPUT_REQUIRED, said("which?")), ()),
    ],
)
async def test_an_answer_becomes_an_outcome_and_what_is_not_text_an_artifact(
    answer: Any, outcome: Outcome, artifact: tuple[Part, ...]
) -> None:
    async def handler(turn: Turn) -> Any:
        return answer

    got, artifacts = await run(handler)
    assert got == outcome
    assert artifacts == ([("reply", artifact, False, True)] if artifact else [])


@pytest.mark.parametrize("answer", [5, b"bytes", {"a": 1}, [1], object(), True])
async def test_an_answer_of_another_type_is_the_plugins_fault(answer: Any) -> None:
    async def handler(turn: Turn) -> Any:
        return answer

    with pytest.raises(WrongAnswer, match="not "):
        await run(handler)


async def test_a_refusal_rejects_with_its_text() -> None:
    async def handler(turn: Turn) -> str:
        raise Refuse("not today")

    assert await run(handler) == (Outcome(State.REJECTED, said("not today")), [])


async def test_a_generator_streams_its_pieces_as_one_artifact_and_says_the_whole_text_at_the_end() -> None:
    async def handler(turn: Turn) -> AsyncIterator[str | Part]:
        yield "a"
        yield DATA
        yield "b"

    outcome, artifacts = await run(handler)
    assert outcome == Outcome(State.COMPLETED, said("ab"))
    assert artifacts == [
        ("reply", said("a"), False, False),
        ("reply", (DATA,), True, False),
        ("reply", said("b"), True, False),
    ]


async def test_a_generator_that_yields_nothing_says_nothing() -> None:
    async def handler(turn: Turn) -> AsyncIterator[str]:
        for word in ():
            yield word

    assert await run(handler) == (Outcome(State.COMPLETED), [])


async def test_a_generator_may_refuse_half_way() -> None:
    async def handler(turn: Turn) -> AsyncIterator[str]:
        yield "a"
        raise Refuse("enough")

    outcome, artifacts = await run(handler)
    assert outcome == Outcome(State.REJECTED, said("enough"))
    assert len(artifacts) == 1
