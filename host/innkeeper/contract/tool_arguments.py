"""The arguments of a typed function as a model is told of them, and as it gives them."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any, Final, final, get_args, get_type_hints

from pydantic import ConfigDict, PydanticUserError, ValidationError, create_model
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import ErrorDetails

from innkeeper.contract.errors import BadArguments
from innkeeper.contract.json_values import plain
from innkeeper.contract.message import JSON
from innkeeper.contract.turn import Turn

TURN: Final = "turn"
"""The parameter that gets the Turn."""

_PREFIX: Final = "argument_"
"""Before the names of the pydantic fields: a parameter may be called ``json`` or ``_x``, a field may not."""

_KINDS: Final = {
    inspect.Parameter.POSITIONAL_ONLY: "is positional-only",
    inspect.Parameter.VAR_POSITIONAL: "takes any number of arguments",
    inspect.Parameter.VAR_KEYWORD: "takes arguments of any name",
}
"""What is wrong with parameters that cannot be given by name."""


@final
class ToolArguments:
    """The arguments of the function of the tool ``name``; ``schema`` is their JSON schema.

    Raises:
        TypeError: a parameter cannot be an argument; the text names tool and parameter.
    """

    def __init__(self, name: str, function: Callable[..., object]) -> None:
        self._tool = name
        fields: dict[str, Any] = {}
        self._wants_turn = False
        try:
            parameters = inspect.signature(function).parameters.values()
        except NameError as error:  # since Python 3.14 annotations are evaluated when they are asked for
            raise TypeError(f"tool {name!r}: an annotation names {error.name!r}, {_NOT_THERE}") from error
        for parameter in parameters:
            at = f"tool {name!r}: parameter {parameter.name!r}"
            if parameter.kind in _KINDS:
                raise TypeError(f"{at} {_KINDS[parameter.kind]}; a model gives each by its name")
            if parameter.name == TURN:
                _check_turn(at, function, parameter)
                self._wants_turn = True
                continue
            default = ... if parameter.default is parameter.empty else parameter.default
            fields[_PREFIX + parameter.name] = (_annotation(at, function, parameter), default)
        try:
            self._model = create_model(name, __config__=_CONFIG, **fields)
            schema = self._model.model_json_schema(schema_generator=_Schema)
        except (PydanticUserError, NameError) as error:
            raise TypeError(
                f"tool {name!r}: its parameters have no JSON schema: {str(error).splitlines()[0]}"
            ) from error
        self.schema: Mapping[str, JSON] = schema
        self._known = f"there are {', '.join(map(repr, schema['properties']))}" if fields else "there are none"

    def validated(self, arguments: Mapping[str, JSON], turn: Turn) -> dict[str, Any]:
        """Return what the function is called with, by parameter.

        Raises:
            BadArguments: some are wrong, missing or unknown; the text names each of them.
        """
        given = plain(arguments)
        try:
            model = self._model.model_validate(given)
        except ValidationError as error:
            wrong = "; ".join(self._words(error.errors(include_url=False), given))
            raise BadArguments(f"wrong arguments for {self._tool}: {wrong}") from error
        values = {field.removeprefix(_PREFIX): getattr(model, field) for field in type(model).model_fields}
        return {**values, TURN: turn} if self._wants_turn else values

    def _words(self, errors: list[ErrorDetails], given: object) -> Iterator[str]:
        for error in errors:
            place = _place(error["loc"], given, missing=error["type"] == "missing")
            match error["type"]:
                case "missing":
                    yield f"{place!r} is missing"
                case "extra_forbidden":
                    yield f"{place!r} is unknown" + (f", {self._known}" if len(error["loc"]) == 1 else "")
                case "model_type" | "dict_type":
                    yield f"{place!r}: Input should be an object"
                case _:
                    yield f"{place!r}: {error['msg'].removeprefix('Value error, ')}"


class _Schema(GenerateJsonSchema):
    """Without titles, which repeat the names, and without a warning for a default that JSON cannot carry."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012 - so it is declared

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def generate(self, schema: Any, mode: Any = "validation") -> dict[str, Any]:
        made = super().generate(schema, mode)
        made.pop("title", None)
        made.setdefault("properties", {})
        return made


_CONFIG: Final = ConfigDict(
    extra="forbid",
    alias_generator=lambda field: field.removeprefix(_PREFIX),
    protected_namespaces=(),
)

_NOT_THERE: Final = "which is not there at run time: import it outside of TYPE_CHECKING, define it at module level"


def _annotation(at: str, function: Callable[..., object], parameter: inspect.Parameter) -> Any:
    """Return the annotation of a parameter, evaluated where the function was written."""
    if parameter.annotation is parameter.empty:
        raise TypeError(f"{at} has no annotation")
    written_in = getattr(inspect.unwrap(function), "__globals__", {})
    alone: Any = SimpleNamespace(__annotations__={parameter.name: parameter.annotation})
    try:
        return get_type_hints(alone, written_in, include_extras=True)[parameter.name]
    except NameError as error:
        raise TypeError(f"{at}: its annotation names {error.name!r}, {_NOT_THERE}") from error
    except Exception as error:
        raise TypeError(f"{at}: its annotation {parameter.annotation!r} is none: {error}") from error


def _check_turn(at: str, function: Callable[..., object], parameter: inspect.Parameter) -> None:
    """Refuse a ``turn`` that means something else; an annotation that is there for type checkers only is fine."""
    try:
        annotation = _annotation(at, function, parameter)
    except TypeError:
        return
    if annotation is not Any and Turn not in (annotation, *get_args(annotation)):
        raise TypeError(f"{at} gets the Turn, it cannot be {parameter.annotation!r}")


def _place(steps: tuple[int | str, ...], value: Any, *, missing: bool) -> str:
    """Say where something is wrong, by the steps that lead there in ``value``.

    The others are pydantic's own, such as the branch of a union; a missing key is not in ``value`` either.
    """
    place = ""
    for number, step in enumerate(steps, 1):
        if isinstance(value, dict) and (step in value or (missing and number == len(steps))):
            place, value = f"{place}.{step}" if place else str(step), value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            place, value = f"{place}[{step}]", value[step]
    return place
