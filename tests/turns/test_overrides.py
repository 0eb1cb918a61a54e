"""What callers choose with a message, for the session that it opens and for those that follow."""

from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper import Agent, Ask, Preset, Turn
from innkeeper.contract.names import ID_PATTERN
from innkeeper.ports.store import Choice
from innkeeper.turns.overrides import OverrideRefused, Overrides, overrides_from_metadata

pytestmark = pytest.mark.anyio

PRESETS = (Preset("brief", "Few words.", {"words": 5}), Preset("long"))


async def tells(turn: Turn) -> str:
    return f"{turn.preset and turn.preset.id} {turn.model} {turn.provider}"


def agent(**options: Any) -> Agent:
    return Agent("t", tells, presets=PRESETS, **options)


async def ask(bench: Any, metadata: dict[str, Any], context_id: str | None = "c") -> str:
    task = await bench.ask("hi", message_id=str(uuid4()), metadata=metadata, context_id=context_id)
    assert task["state"] in ("completed", "failed")
    return task["text"]


async def test_the_first_message_picks_the_preset_and_it_stays(engine_with: Any) -> None:
    async with engine_with(agent()) as bench:
        assert await ask(bench, {"agentPreset": "brief"}) == "brief None None"
        assert await ask(bench, {"agentPreset": "long"}) == "brief None None"
        assert await ask(bench, {}) == "brief None None"
    async with engine_with(agent()) as bench:
        assert await ask(bench, {"preset": "long"}) == "brief None None"
        assert await ask(bench, {"preset": "long"}, context_id="other") == "long None None"


async def test_a_session_that_began_without_a_preset_gets_none_later(engine_with: Any) -> None:
    async with engine_with(agent()) as bench:
        assert await ask(bench, {}) == "None None None"
        assert await ask(bench, {"agentPreset": "brief"}) == "None None None"
        assert await ask(bench, {"agentPreset": "unknown"}) == "None None None"


async def test_the_model_may_change_with_every_message_and_stays_otherwise(engine_with: Any) -> None:
    async with engine_with(agent()) as bench:
        assert await ask(bench, {"model": "m1", "provider": "p"}) == "None m1 p"
        assert await ask(bench, {}) == "None m1 p"
        assert await ask(bench, {"model": "m2"}) == "None m2 None"
        assert await ask(bench, {"provider": "q"}) == "None None q"
    async with engine_with(agent()) as bench:
        assert await ask(bench, {}) == "None None q"


async def test_presets_of_another_session_or_caller_are_not_seen(engine_with: Any) -> None:
    async with engine_with(agent(session_scope="caller")) as bench:
        assert await ask(bench, {"agentPreset": "brief", "model": "m"}, context_id="a") == "brief m None"
        assert await ask(bench, {}, context_id="b") == "brief m None"


REFUSED = {
    "an unknown preset": ({"agentPreset": "mute"}, "agentPreset: no preset 'mute'; there are: brief, long"),
    "no string": ({"agentPreset": 5}, "agentPreset: 1 to 63"),
    "nothing": ({"preset": ""}, "preset: 1 to 63"),
    "a list": ({"preset": ["brief"]}, "preset: 1 to 63"),
    "a path": ({"agentPreset": "../brief"}, "agentPreset: 1 to 63"),
    "an absolute path": ({"agentPreset": "/etc"}, "agentPreset: 1 to 63"),
    "a path of windows": ({"agentPreset": "a\\b"}, "agentPreset: 1 to 63"),
    "two that differ": ({"agentPreset": "brief", "preset": "long"}, "agentPreset, preset: they name two"),
    "a model without a name": ({"model": " "}, "model: 1 to 200 printable"),
    "a model that is a number": ({"model": 4}, "model: 1 to 200 printable"),
    "a provider in two lines": ({"provider": "a\nb"}, "provider: 1 to 200 printable"),
    "a model of any length": ({"model": "m" * 201}, "model: 1 to 200 printable"),
}


@pytest.mark.parametrize(("metadata", "said"), REFUSED.values(), ids=REFUSED)
async def test_an_override_that_cannot_be_followed_fails_its_task_and_opens_no_session(
    engine_with: Any, metadata: dict[str, Any], said: str
) -> None:
    async with engine_with(agent()) as bench:
        task = await bench.ask("hi", metadata=metadata, context_id="c")
        assert (task["state"], said in task["text"]) == ("failed", True), task["text"]
        assert await ask(bench, {"agentPreset": "brief"}) == "brief None None"


@pytest.mark.parametrize("metadata", [entry[0] for entry in REFUSED.values()], ids=list(REFUSED))
async def test_where_callers_may_not_choose_whatever_they_name_is_dropped_unread(
    engine_with: Any, metadata: dict[str, Any]
) -> None:
    async with engine_with(agent(), allow_overrides=False) as bench:
        assert await ask(bench, {**metadata, "model": "m"}) == "None None None"


async def test_null_asks_for_nothing_and_two_names_of_one_preset_agree(engine_with: Any) -> None:
    async with engine_with(agent()) as bench:
        assert await ask(bench, {"agentPreset": None, "model": None}, "a") == "None None None"
        assert await ask(bench, {"agentPreset": "long", "preset": "long"}, "b") == "long None None"


async def test_a_turn_that_is_declined_has_begun_nothing(engine_with: Any, gate: Any) -> None:
    declining = gate(lambda turn: "no" not in turn.metadata, "turn")
    async with engine_with(agent(), gates=[declining]) as bench:
        assert (await bench.ask("hi", metadata={"no": 1, "preset": "long"}, context_id="c"))["text"] == ""
        assert await ask(bench, {"preset": "brief"}) == "brief None None"


async def test_gates_see_what_was_chosen(engine_with: Any, gate: Any) -> None:
    seen: list[str | None] = []
    async with engine_with(agent(), gates=[gate(lambda turn: seen.append(turn.preset.id), "turn")]) as bench:
        assert await ask(bench, {"preset": "brief"}) == "brief None None"
    assert seen == ["brief"]


async def test_the_attempt_after_a_crash_has_what_the_first_had(engine_with: Any) -> None:
    async with engine_with(agent(), max_concurrent_turns=0) as bench:
        admitted = await bench.say("hi", metadata={"preset": "long", "model": "m"})
        assert await bench.store.claim(admitted.turn, "dead")
    async with engine_with(agent()) as bench:
        assert (await bench.settled(admitted))["text"] == "long m None"


async def test_the_answer_to_a_question_is_of_the_same_session(engine_with: Any) -> None:
    async def asks(turn: Turn) -> str | Ask:
        return Ask("which?") if turn.text == "hi" else await tells(turn)

    async with engine_with(Agent("t", asks, presets=PRESETS)) as bench:
        asked = await bench.ask("hi", metadata={"preset": "brief"})
        assert asked["state"] == "input-required"
        assert (await bench.ask("this", task_id=asked["id"], metadata={"model": "m"}))["text"] == "brief m None"


KEYS = ("agentPreset", "preset", "model", "provider")


@given(st.dictionaries(st.sampled_from(KEYS), st.none() | st.text(max_size=4) | st.integers() | st.just("brief")))
async def test_whatever_is_asked_is_followed_or_refused_by_its_key(metadata: dict[str, Any]) -> None:
    well_formed = {key: value for key, value in metadata.items() if isinstance(value, str) and value.strip()}
    try:
        asked = overrides_from_metadata(metadata) or Overrides()
        choice = asked.applied_to(Choice(), PRESETS, opened=False)
    except OverrideRefused as refused:
        text = str(refused)
    else:
        asked_for = {key: value for key, value in metadata.items() if value is not None}
        assert asked_for.items() <= well_formed.items()
        assert choice.preset == asked_for.get("preset", asked_for.get("agentPreset", ""))
        assert (choice.model, choice.provider) == (asked_for.get("model", ""), asked_for.get("provider", ""))
        return
    assert text.startswith(tuple(key for key, value in metadata.items() if value is not None) or ("-",))


@pytest.mark.parametrize("preset_id", ["", "A", "a/b", "..", "-a", "a" * 64])
def test_a_preset_has_an_id_that_callers_can_name(preset_id: str) -> None:
    assert not ID_PATTERN.fullmatch(preset_id)
    with pytest.raises(ValueError, match="Preset id"):
        Preset(preset_id)


def test_presets_have_ids_of_their_own_and_options_that_nobody_changes() -> None:
    with pytest.raises(ValueError, match="presets has 'a' twice"):
        Agent("t", tells, presets=[Preset("a"), Preset("a")])
    with pytest.raises(TypeError, match="Preset objects only"):
        Agent("t", tells, presets=["brief"])
    with pytest.raises(TypeError):
        Preset("a", options={"deep": {"k": 1}}).options["deep"]["k"] = 2
