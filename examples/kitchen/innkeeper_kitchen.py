"""A kitchen that takes further orders while it cooks, and serves no menu without what belongs to every one."""

from innkeeper import Agent, PluginContext, Turn, hookimpl
from innkeeper import Config as Base


class Config(Base):
    """The settings of the kitchen."""

    always: tuple[str, ...] = ("bread",)
    """What every menu has, ordered or not."""


async def cook(turn: Turn) -> str:
    """Cooks what is ordered; further dishes may be ordered meanwhile."""
    dishes = [turn.text]
    for dish in dishes:
        await turn.progress(f"cooking {dish}", key=f"dish-{dish}")
        dishes += [message.text for message in await turn.claim_steering()]
    return f"Served: {', '.join(dishes)}"


@hookimpl
def register_agents() -> Agent:
    """Bring the kitchen."""
    return Agent("kitchen", cook, steers=True)


@hookimpl
async def on_turn_stopping(turn: Turn, plugin: PluginContext) -> None:
    """Order what is missing."""
    ordered = {message.text for message in await turn.session.history() if message.role == "user"}
    for dish in plugin.config.always:
        if dish not in ordered:
            await turn.steer(dish)
