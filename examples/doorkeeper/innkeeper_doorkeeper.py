"""A gate that declines what is whispered."""

from innkeeper import Turn, hookimpl


@hookimpl
def should_handle_turn(turn: Turn) -> bool:
    """Decline messages that begin with "psst"."""
    return not turn.text.lower().startswith("psst")
