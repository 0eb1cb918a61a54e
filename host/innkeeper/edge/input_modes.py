"""What media types an agent takes (A2A v1.0 §3.1.1, §4.1.6, §4.4.1)."""

from collections.abc import Iterable

from a2a.types import a2a_pb2 as pb

from innkeeper.contract.agent import Agent
from innkeeper.contract.errors import ContentTypeNotSupported


def require_input_modes(agent: Agent, parts: Iterable[pb.Part]) -> None:
    """Refuse a message with a part of a media type that the agent's card does not list.

    A part that says none is taken, as are text that says which kind of text it is and data that says that it is JSON:
    their content is what the protocol says it is. A mode may be a range (RFC 9110 §12.5.1), or a type alone, "text".

    Raises:
        ContentTypeNotSupported: the text names the part and what the agent takes.
    """
    for index, part in enumerate(parts):
        if part.media_type and not _is_taken(part, agent.input_modes):
            raise ContentTypeNotSupported(
                f"message.parts[{index}]: this agent does not take this media type, but {', '.join(agent.input_modes)}"
            )


def _is_taken(part: pb.Part, modes: Iterable[str]) -> bool:
    media_type = _essence(part.media_type)
    match part.WhichOneof("content"):
        case "text" if media_type.startswith("text/"):
            return True
        case "data" if media_type == "application/json" or media_type.endswith("+json"):
            return True
        case _:
            return any(_covers(_essence(mode), media_type) for mode in modes)


def _covers(mode: str, media_type: str) -> bool:
    kind, _, subtype = mode.partition("/")
    if subtype in ("", "*"):
        return kind == "*" or media_type.partition("/")[0] == kind
    return mode == media_type


def _essence(media_type: str) -> str:
    """Return type and subtype, without parameters."""
    return media_type.partition(";")[0].strip().lower()
