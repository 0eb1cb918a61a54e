"""Tools: made by hand, derived from typed functions, called with what a model gives."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from innkeeper import BadArguments, InnkeeperError, Part, Tool, Turn, tool
from innkeeper.contract.tool import RESERVED_TOOLS

if TYPE_CHECKING:
    from decimal import Decimal

pytestmark = pytest.mark.anyio

NOTHING: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
TURN: Any = object()
"""Handed through to the function; nothing here looks into it."""


def plain_run(arguments: Any, turn: Any) -> str:
    return f"{arguments} {turn is TURN}"


async def async_run(arguments: Any, turn: Any) -> str:
    return plain_run(arguments, turn)


class CallableObject:
    async def __call__(self, arguments: Any, turn: Any) -> str:
        return plain_run(arguments, turn)


@pytest.mark.parametrize("run", [plain_run, async_run, CallableObject(), partial(async_run)])
async def test_run_is_awaited_whatever_it_was_made_of(run: Any) -> None:
    made = Tool("a", "", NOTHING, run=run)
    assert await made.run({"x": 1}, TURN) == "{'x': 1} True"


@pytest.mark.parametrize("name", ["a", "A-b_9", "_", "-", "a" * 64])
async def test_a_name_is_1_to_64_letters_digits_dashes_and_underscores(name: str) -> None:
    assert Tool(name, "", NOTHING, plain_run).name == name


@pytest.mark.parametrize(
    ("field", "value", "error", "told"),
    [
        *(("name", name, ValueError, "Tool name") for name in ("", "a b", "a.b", "é", "a\n", "a" * 65)),
        ("name", None, TypeError, "the name of a tool cannot be a NoneType"),
        ("description", None, TypeError, "Tool 'a': the description cannot be a NoneType"),
        ("parameters", [], TypeError, "Tool 'a': the parameters cannot be a list"),
        ("parameters", {}, ValueError, "Tool 'a': .* schema of an object"),
        ("parameters", {"type": "string"}, ValueError, "Tool 'a': .* schema of an object"),
        ("run", "x", TypeError, "Tool 'a': run cannot be a str"),
    ],
)
async def test_a_wrong_field_is_refused_and_named(field: str, value: Any, error: type[Exception], told: str) -> None:
    fields: dict[str, Any] = {"name": "a", "description": "", "parameters": NOTHING, "run": plain_run}
    with pytest.raises(error, match=told):
        Tool(**{**fields, field: value})


async def test_a_renamed_tool_is_the_same_tool_under_its_new_name() -> None:
    made = Tool("a", "", NOTHING, lambda arguments, turn: 1)  # type: ignore[arg-type, return-value]
    renamed = dataclasses.replace(made, name="b")
    assert dataclasses.replace(renamed, name="a") == made
    with pytest.raises(TypeError, match="tool 'b'"):
        await renamed.run({}, TURN)


async def test_a_tool_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Tool("a", "", NOTHING, plain_run).name = "b"  # type: ignore[misc]


@pytest.mark.parametrize("answer", ["", "a", Part(text="a"), [], [Part(text="a"), Part(data=1)]])
async def test_text_and_parts_are_answers(answer: Any) -> None:
    assert await Tool("a", "", NOTHING, lambda arguments, turn: answer).run({}, TURN) == answer


@pytest.mark.parametrize("answer", [None, 1, b"a", ["a"], (Part(text="a"),), {"a": 1}, [Part(text="a"), None]])
async def test_another_answer_is_charged_to_the_tool(answer: Any) -> None:
    with pytest.raises(TypeError, match="tool 'liar' answers a str, a Part or a list of Parts"):
        await Tool("liar", "", NOTHING, lambda arguments, turn: answer).run({}, TURN)


@pytest.mark.parametrize("arguments", [None, [], "{}", 1])
async def test_arguments_that_are_no_object_are_refused(arguments: Any) -> None:
    with pytest.raises(BadArguments, match="the arguments of a are a JSON object"):
        await Tool("a", "", NOTHING, plain_run).run(arguments, TURN)


class Place(BaseModel):
    city: str
    zip_code: int = Field(default=0, description="Postal code.")


class Tree(BaseModel):
    below: list[Tree] = []


def schema_of(**properties: Any) -> dict[str, Any]:
    required = [name for name, property_ in properties.items() if "default" not in property_]
    return {**NOTHING, "properties": properties, **({"required": required} if required else {})}


def takes_nothing() -> str:
    return ""


def takes_scalars(text: str, count: int, share: float, sure: bool = False) -> str:
    return ""


def takes_literal(unit: Literal["c", "f"] = "c", *, described: Annotated[str, Field(description="What.")]) -> str:
    return ""


def takes_containers(names: list[str], sizes: dict[str, int], maybe: int | None = None) -> str:
    return ""


def takes_odd_names(json: str, _private: str, model_config: str, schema: str, argument_: str) -> str:
    return ""


def takes_turn(text: str, turn: Turn) -> str:
    return ""


STRING = {"type": "string"}
INTEGER = {"type": "integer"}


@pytest.mark.parametrize(
    ("function", "schema"),
    [
        (takes_nothing, NOTHING),
        (
            takes_scalars,
            schema_of(text=STRING, count=INTEGER, share={"type": "number"}, sure={"type": "boolean", "default": False}),
        ),
        (
            takes_literal,
            schema_of(
                unit={"type": "string", "enum": ["c", "f"], "default": "c"},
                described={"type": "string", "description": "What."},
            ),
        ),
        (
            takes_containers,
            schema_of(
                names={"type": "array", "items": STRING},
                sizes={"type": "object", "additionalProperties": INTEGER},
                maybe={"anyOf": [INTEGER, {"type": "null"}], "default": None},
            ),
        ),
        (
            takes_odd_names,
            schema_of(json=STRING, _private=STRING, model_config=STRING, schema=STRING, argument_=STRING),
        ),
        (takes_turn, schema_of(text=STRING)),
    ],
)
async def test_parameters_are_the_schema_of_the_annotations(function: Any, schema: dict[str, Any]) -> None:
    assert tool(function).parameters == schema


async def test_a_nested_model_is_a_definition_of_the_schema() -> None:
    @tool
    def go(place: Place) -> str:
        return place.city

    assert go.parameters["properties"] == {"place": {"$ref": "#/$defs/Place"}}  # type: ignore[comparison-overlap]
    assert go.parameters["$defs"]["Place"]["required"] == ["city"]  # type: ignore[call-overload, index]
    assert await go.run({"place": {"city": "Brno"}}, TURN) == "Brno"


async def test_a_model_within_itself_is_taken() -> None:
    @tool
    def count(tree: Tree) -> str:
        return str(len(tree.below))

    assert await count.run({"tree": {"below": [{}, {"below": [{}]}]}}, TURN) == "2"
    with pytest.raises(BadArguments, match=r"'tree\.below\[0\]\.below'"):
        await count.run({"tree": {"below": [{"below": 1}]}}, TURN)


async def test_name_and_description_are_the_functions_or_said() -> None:
    @tool
    def bare() -> str:
        """Do it.

        In two paragraphs.
        """
        return ""

    @tool(name="other", description="Said.")
    def with_options() -> str:
        """Unheard."""
        return ""

    @tool()
    def undocumented() -> str:
        return ""

    assert (bare.name, bare.description) == ("bare", "Do it.\n\nIn two paragraphs.")
    assert (with_options.name, with_options.description) == ("other", "Said.")
    assert undocumented.description == "undocumented"
    with pytest.raises(ValueError, match="Tool name 'a b'"):
        tool(name="a b")(takes_nothing)


@tool
async def book(
    place: Place, day: date, guests: list[int], turn: Turn, note: str = "none", *, loud: bool = False
) -> str:
    return f"{place.city} {place.zip_code} {day:%d.%m.} {guests} {turn is TURN} {note} {loud}"


async def test_the_function_gets_what_its_annotations_say_defaults_and_the_turn() -> None:
    given = {"place": {"city": "Brno"}, "day": "2024-05-01", "guests": ["1", 2]}
    assert await book.run(given, TURN) == "Brno 0 01.05. [1, 2] True none False"
    assert await book.run({**given, "note": "x", "loud": True}, TURN) == "Brno 0 01.05. [1, 2] True x True"


async def test_a_default_is_the_callers_own() -> None:
    @tool
    def collect(names: list[str] = []) -> str:  # noqa: B006 - the point
        names.append("x")
        return " ".join(names)

    assert await collect.run({}, TURN) == "x"
    assert await collect.run({}, TURN) == "x"


async def test_a_default_that_json_cannot_carry_is_left_out_of_the_schema() -> None:
    @tool
    def unsaid(text: str | None = NotImplemented) -> str:
        return repr(text)

    assert "default" not in unsaid.parameters["properties"]["text"]  # type: ignore[call-overload, index]
    assert await unsaid.run({}, TURN) == "NotImplemented"


class Desk:
    @staticmethod
    def ring(times: int) -> str:
        return "ring " * times

    def greet(self, name: str) -> str:
        return f"{type(self).__name__} greets {name}"


async def test_methods_are_functions() -> None:
    assert await tool(Desk.ring).run({"times": 2}, TURN) == "ring ring "
    assert await tool(Desk().greet).run({"name": "Ann"}, TURN) == "Desk greets Ann"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"day": ...}, "'day' is missing"),
        ({"town": "x"}, "'town' is unknown, there are 'place', 'day', 'guests', 'note', 'loud'"),
        ({"turn": {}}, "'turn' is unknown"),
        ({"place": {}}, "'place.city' is missing"),
        ({"place": "Brno"}, "'place': Input should be an object"),
        ({"guests": [1, "x"]}, r"'guests\[1\]': Input should be a valid integer"),
        ({"note": 3}, "'note': Input should be a valid string"),
        ({"day": "soon"}, "'day': Input should be a valid date"),
        ({"loud": None}, "'loud': Input should be a valid boolean"),
    ],
)
async def test_a_wrong_argument_is_named_in_words_and_the_function_is_not_called(
    change: dict[str, Any], told: str
) -> None:
    given = {"place": {"city": "Brno"}, "day": "2024-05-01", "guests": [], **change}
    with pytest.raises(BadArguments, match=f"^wrong arguments for book: {told}") as caught:
        await book.run({name: value for name, value in given.items() if value is not ...}, TURN)
    assert isinstance(caught.value, InnkeeperError)
    assert "pydantic" not in str(caught.value)
    assert "argument_" not in str(caught.value)


async def test_all_wrong_arguments_are_named_at_once() -> None:
    with pytest.raises(BadArguments) as caught:
        await book.run({"place": {"city": 1}, "guests": {}, "x": 1}, TURN)
    assert [told.split("'")[1] for told in str(caught.value).split("; ")] == ["place.city", "day", "guests", "x"]


@pytest.mark.parametrize(("given", "places"), [([{}], ["x", "x[0].city", "x"]), ({}, ["x", "x", "x.city"])])
async def test_a_place_in_a_union_is_told_without_the_names_of_its_branches(given: Any, places: list[str]) -> None:
    @tool
    def either(x: int | list[Place] | Place) -> str:
        return ""

    with pytest.raises(BadArguments) as caught:
        await either.run({"x": given}, TURN)
    assert [told.split("'")[1] for told in str(caught.value).split(": ", 1)[1].split("; ")] == places


async def test_arguments_may_be_any_mappings_and_sequences() -> None:
    given = {"place": MappingProxyType({"city": "Brno"}), "day": "2024-05-01", "guests": range(2)}
    assert await book.run(MappingProxyType(given), TURN) == "Brno 0 01.05. [0, 1] True none False"


async def test_the_function_owns_what_it_gets() -> None:
    @tool
    def fill(anything: Any) -> str:
        anything["new"] = 1
        return str(anything)

    given = {"anything": {"old": MappingProxyType({})}}
    assert await fill.run(given, TURN) == "{'old': {}, 'new': 1}"
    assert given == {"anything": {"old": {}}}


async def test_a_tool_without_arguments_says_that_there_are_none() -> None:
    with pytest.raises(BadArguments, match="'x' is unknown, there are none"):
        await tool(takes_nothing).run({"x": 1}, TURN)


async def test_a_raise_of_the_function_is_its_own() -> None:
    @tool
    def fails(text: str) -> str:
        raise KeyError(text)

    with pytest.raises(KeyError, match="mine"):
        await fails.run({"text": "mine"}, TURN)


async def test_a_validation_error_of_the_function_is_no_bad_argument() -> None:
    @tool
    def fails() -> str:
        return Place.model_validate({}).city

    with pytest.raises(ValueError, match="1 validation error for Place"):
        await fails.run({}, TURN)


def unannotated(x) -> str:  # type: ignore[no-untyped-def]
    return ""


def any_number(*x: int) -> str:
    return ""


def any_name(**x: int) -> str:
    return ""


def positional(x: int, /) -> str:
    return ""


def for_type_checkers(x: Decimal) -> str:
    return ""


def not_an_annotation(x: "1 +") -> str:  # type: ignore[valid-type] # noqa: F722 - the point
    return ""


def without_schema(x: Callable[[], int]) -> str:
    return ""


def foreign_type(x: Desk) -> str:
    return ""


def other_turn(turn: int) -> str:
    return ""


def generates() -> Any:
    yield ""


async def streams() -> Any:
    yield ""


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (unannotated, "tool 'unannotated': parameter 'x' has no annotation"),
        (any_number, "parameter 'x' takes any number of arguments"),
        (any_name, "parameter 'x' takes arguments of any name"),
        (positional, "parameter 'x' is positional-only"),
        (for_type_checkers, "parameter 'x': its annotation names 'Decimal', which is not there at run time"),
        (not_an_annotation, "parameter 'x': its annotation .* is none"),
        (without_schema, "tool 'without_schema': its parameters have no JSON schema"),
        (foreign_type, "tool 'foreign_type': its parameters have no JSON schema"),
        (other_turn, "parameter 'turn' gets the Turn"),
        (generates, "cannot be a generator"),
        (streams, "cannot be a generator"),
        (Desk, "@tool is for functions"),
        ("name", "@tool is for functions, not 'name'"),
    ],
)
async def test_a_function_that_cannot_be_a_tool_is_refused_where_it_is_decorated(function: Any, told: str) -> None:
    with pytest.raises(TypeError, match=told):
        tool(function)


async def test_a_turn_may_be_unannotated_optional_or_known_to_type_checkers_only() -> None:
    def unannotated(turn) -> str:  # type: ignore[no-untyped-def]
        return str(turn is TURN)

    def optional(turn: Turn | None = None) -> str:
        return str(turn is TURN)

    def unknown(turn: Decimal) -> str:
        return str(turn is TURN)

    for function in (unannotated, optional, unknown):
        assert tool(function).parameters == NOTHING
        assert await tool(function).run({}, TURN) == "True"


async def test_reserved_names_can_be_built_since_the_host_refuses_them_by_plugin() -> None:
    for name in RESERVED_TOOLS:
        assert Tool(name, "", NOTHING, plain_run).name == name


def test_importing_innkeeper_does_not_import_pydantic() -> None:
    script = "import sys, innkeeper; sys.exit('pydantic' in sys.modules)"
    assert subprocess.run((sys.executable, "-c", script), check=False).returncode == 0
