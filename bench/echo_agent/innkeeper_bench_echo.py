"""Submitted, working, one artifact, completed: what the reference server's executor does too."""

from innkeeper import Agent, Part, Turn, hookimpl


async def echo(turn: Turn) -> None:
    await turn.artifact("echo", Part(text=turn.text))


@hookimpl
def register_agents() -> Agent:
    return Agent("bench-echo", echo, description="Echoes.")
