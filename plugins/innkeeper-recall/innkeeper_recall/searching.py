"""The tool that searches the archive."""

from dataclasses import asdict
from typing import Annotated, Final

from pydantic import Field

from innkeeper import Part, Tool, tool
from innkeeper_recall.archive import Reach

MOST: Final = 20
"""The highest number of results of one search."""


def recall_tool(reach: Reach, *, top: int) -> Tool:
    """Make the tool ``recall`` for one session; ``top`` is how many results there are where nobody says."""

    @tool
    async def recall(query: str, limit: Annotated[int, Field(ge=1, le=MOST)] = top) -> Part:
        """Search what was said earlier and is out of your sight, by words: any of them will do.

        Answers a list of messages with role, text, at and score, the best match first; an empty list if none matches.
        """
        found = await reach.search(query, limit)
        return Part(data=[asdict(each) for each in found], media_type="application/json")

    return recall
