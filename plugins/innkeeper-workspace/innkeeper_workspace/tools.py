"""The tools to work with files; what cannot be done they say, so that the model can go on with it."""

from typing import Final

from innkeeper import Tool, Turn, WorkspaceLimit, tool


@tool
async def ws_read(path: str, turn: Turn) -> str:
    """Read a file by its path, such as notes/today.md."""
    text = await turn.workspace.read_file(path)
    return f"There is no file {path}." if text is None else text


@tool
async def ws_write(path: str, content: str, turn: Turn) -> str:
    """Write a file, or replace all of it. Directories come with the files in them."""
    try:
        await turn.workspace.write_file(path, content)
    except (WorkspaceLimit, ValueError) as error:
        return f"Error: {error}"
    return f"Wrote {path}, {len(content.encode())} bytes."


@tool
async def ws_list(turn: Turn, dir: str = "") -> str:  # noqa: A002 - the model's word for it
    """List the files and directories in a directory, or at the top."""
    entries = await turn.workspace.read_dir(dir)
    lines = [f"{each.path}/" if each.is_directory else f"{each.path} {each.size_bytes} bytes" for each in entries]
    return "\n".join(lines) or "There are no files."


TOOLS: Final[tuple[Tool, ...]] = (ws_read, ws_write, ws_list)
