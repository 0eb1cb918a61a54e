"""An agent that says hello."""

from innkeeper import Agent, Turn, hookimpl


async def greet(turn: Turn) -> str:
    """Greet whoever is named."""
    return f"Hello, {turn.text}"


@hookimpl
def register_agents() -> Agent:
    """Bring the agent ``hello``."""
    return Agent("hello", greet, description="Says hello.")
