"""What a plugin lets a model do: tools."""

import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, overload

from innkeeper.contract.errors import BadArguments
from innkeeper.contract.json_values import exact, plain
from innkeeper.contract.message import JSON, Part
from innkeeper.contract.turn import Turn

RESERVED_TOOLS: Final = frozenset({"final_reply", "delegate", "no_reply"})
"""Names that the host keeps for itself."""

ToolAnswer: TypeAlias = str | Part | list[Part]
"""What a tool tells the model."""

ToolFunction: TypeAlias = Callable[[Mapping[str, JSON], Turn], Awaitable[ToolAnswer] | ToolAnswer]
"""What does the work of a tool, a plain or an async function; a plain one runs on the event loop."""

_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True, init=False)
class Tool:
    """Something that a model may call.

    ``description`` is for the model. ``parameters`` is the JSON schema of an object, of which a copy is kept; arguments
    come unchecked to a ``run`` made by hand, and checked to a function under ``@tool``.

    ``run`` takes a plain or an async function and gives an async one, which raises ``BadArguments`` if the arguments
    are no object, and ``TypeError`` if the answer is neither a str nor a Part nor a list of Parts.

    Raises:
        ValueError: the name is not 1 to 64 of a-z A-Z 0-9 _ -, or ``parameters`` is not the schema of an object.
        TypeError: a field has the wrong type, or ``parameters`` holds what is no JSON value.
    """

    name: str
    description: str
    parameters: Mapping[str, JSON]
    run: Callable[[Mapping[str, JSON], Turn], Awaitable[ToolAnswer]]

    def __init__(self, name: str, description: str, parameters: Mapping[str, JSON], run: ToolFunction) -> None:
        if not isinstance(name, str):
            raise TypeError(f"the name of a tool cannot be a {type(name).__name__}")
        if not _NAME.fullmatch(name):
            raise ValueError(f"Tool name {name!r}: 1 to 64 of a-z A-Z 0-9 _ -")
        if not isinstance(description, str):
            raise TypeError(f"Tool {name!r}: the description cannot be a {type(description).__name__}")
        if not isinstance(parameters, Mapping):
            raise TypeError(f"Tool {name!r}: the parameters cannot be a {type(parameters).__name__}")
        schema = _schema(name, parameters)
        if schema.get("type") != "object":
            raise ValueError(f"Tool {name!r}: the parameters are the JSON schema of an object: {{'type': 'object', …}}")
        if not callable(run):
            raise TypeError(f"Tool {name!r}: run cannot be a {type(run).__name__}")
        function = run.function if isinstance(run, _Run) else run  # of another tool, as dataclasses.replace gives it
        name = exact(name)
        fields = {"name": name, "description": exact(description), "parameters": schema, "run": _Run(name, function)}
        for field, value in fields.items():
            object.__setattr__(self, field, value)


def _schema(tool: str, parameters: Mapping[str, JSON]) -> dict[str, JSON]:
    try:
        schema: dict[str, JSON] = plain(parameters)
    except (TypeError, ValueError) as error:
        raise TypeError(f"Tool {tool!r}: its parameters are no JSON: {error}") from error
    return schema


@dataclass(frozen=True, slots=True)
class _Run:
    """A tool's function as the host calls it: always async, and what goes in and comes out is looked at."""

    tool: str
    function: ToolFunction

    async def __call__(self, arguments: Mapping[str, JSON], turn: Turn) -> ToolAnswer:
        if not isinstance(arguments, Mapping):
            raise BadArguments(f"the arguments of {self.tool} are a JSON object with one key per argument")
        answer = self.function(arguments, turn)
        told: object = await answer if inspect.isawaitable(answer) else answer
        if isinstance(told, str | Part):
            return told
        if isinstance(told, list) and all(isinstance(part, Part) for part in told):
            return told
        raise TypeError(f"tool {self.tool!r} answers a str, a Part or a list of Parts, not {told!r:.200}")


@overload
def tool(function: Callable[..., Awaitable[ToolAnswer] | ToolAnswer], /) -> Tool: ...
@overload
def tool(
    *, name: str = "", description: str = ""
) -> Callable[[Callable[..., Awaitable[ToolAnswer] | ToolAnswer]], Tool]: ...
def tool(function: Callable[..., Any] | None = None, /, *, name: str = "", description: str = "") -> Any:
    """Make a Tool of a typed function, plain or async; used bare or with options.

    The name is the function's; the description its docstring, or else the name. Every parameter but one named
    ``turn``, which gets the Turn, is an argument of the tool: its annotation says what the model may give, its
    default what holds if the model gives nothing; ``Annotated[str, pydantic.Field(description="…")]`` describes it.
    The function is called once its arguments are valid, and with what they were converted to; if they are not, ``run``
    raises ``BadArguments``.

    Raises:
        TypeError: what is decorated is no function that returns an answer; a parameter has no annotation, or one that
            cannot be found or has no JSON schema; parameters are positional-only, ``*args`` or ``**kwargs``.
        ValueError: the name does not fit.
    """

    def derive(function: Callable[..., Any]) -> Tool:
        from innkeeper.contract.tool_arguments import ToolArguments  # noqa: PLC0415 - pydantic takes its time

        if not inspect.isroutine(function):
            raise TypeError(f"@tool is for functions, not {function!r}")
        own_name = name or function.__name__
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(f"tool {own_name!r} returns one answer; it cannot be a generator")
        arguments = ToolArguments(own_name, function)

        def run(given: Mapping[str, JSON], turn: Turn) -> Awaitable[ToolAnswer] | ToolAnswer:
            answer: Awaitable[ToolAnswer] | ToolAnswer = function(**arguments.validated(given, turn))
            return answer

        return Tool(own_name, description or inspect.getdoc(function) or own_name, arguments.schema, run)

    return derive if function is None else derive(function)
