"""Old messages in fewer words: of each its first sentence."""

import re
from collections.abc import Sequence

from innkeeper import Message, hookimpl

LONGEST = 200
"""Characters of one sentence."""


@hookimpl
def summarize_messages(messages: Sequence[Message]) -> str | None:
    """Say who said what, a line each; None where nobody said anything, so that another plugin may try."""
    said = [(message.role, re.split(r"(?<=[.!?])\s|\n", message.text.strip(), maxsplit=1)[0]) for message in messages]
    return "\n".join(f"{role}: {sentence[:LONGEST]}" for role, sentence in said if sentence) or None
