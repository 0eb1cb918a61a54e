"""An agent that keeps notes in the files of its session and uses the tools that other plugins bring."""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from innkeeper import Agent, BadArguments, Part, Turn, WorkspaceLimit, hookimpl


async def write(turn: Turn, rest: str) -> str:
    """Write a note: a name, then its text."""
    name, _, text = rest.partition(" ")
    try:
        await turn.workspace.write_file(name, text)
    except (WorkspaceLimit, ValueError) as error:
        return str(error)
    return f"Noted {name}."


async def read(turn: Turn, name: str) -> str:
    """Read a note."""
    text = await turn.workspace.read_file(name)
    return f"There is no note {name}." if text is None else text


async def list_notes(turn: Turn, folder: str) -> str:
    """List the notes, or those of a folder."""
    entries = await turn.workspace.read_dir(folder)
    return "\n".join(f"{entry.path}/" if entry.is_directory else entry.path for entry in entries) or "No notes yet."


async def tools(turn: Turn, _: str) -> str:
    """List the tools that the plugins of this tenant bring."""
    return "\n".join(f"{tool.name}: {tool.description}" for tool in turn.tools) or "No tools."


async def use(turn: Turn, rest: str) -> str:
    """Use a tool: its name, then its arguments as a JSON object."""
    name, _, given = rest.partition(" ")
    tool = next((tool for tool in turn.tools if tool.name == name), None)
    if tool is None:
        return f"There is no tool {name}."
    try:
        answer = await tool.run(json.loads(given or "{}"), turn)
    except (json.JSONDecodeError, BadArguments) as error:
        return f"The tool cannot be used like this: {error}"
    return (
        answer if isinstance(answer, str) else "\n".join(map(shown, [answer] if isinstance(answer, Part) else answer))
    )


async def about(turn: Turn, _: str) -> str:
    """Tell what plugins add to a prompt."""
    return await turn.capabilities() or "Nothing to add."


def shown(part: Part) -> str:
    """Put a part into words."""
    match part:
        case Part(raw=bytes(raw)):
            return f"{len(raw)} bytes"
        case Part(text=None, url=None):
            return json.dumps(part.data)
        case _:
            return part.text or part.url or ""


COMMANDS: Final[Mapping[str, Callable[[Turn, str], Awaitable[str]]]] = {
    "write": write,
    "read": read,
    "list": list_notes,
    "tools": tools,
    "use": use,
    "about": about,
}


async def keep_notes(turn: Turn) -> str:
    """Do what the first word says; any other word gets the list of commands."""
    word, _, rest = turn.text.partition(" ")
    command = COMMANDS.get(word)
    if command is None:
        return "\n".join(f"{name}: {command.__doc__}" for name, command in COMMANDS.items())
    return await command(turn, rest.strip())


@hookimpl
def register_agents() -> Agent:
    """Bring the agent ``notebook``."""
    return Agent("notebook", keep_notes, description="Keeps notes for as long as a conversation lasts.")
