"""What is said: messages and the parts they are made of (A2A v1.0 §4.1.4, §4.1.6)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Final, Literal, TypeAlias

JSON: TypeAlias = "bool | int | float | str | Sequence[JSON] | Mapping[str, JSON] | None"
"""A value that JSON can carry."""

Role = Literal["user", "agent"]


class Absent(Enum):
    """The type of ``ABSENT``: JSON null is a value of its own, so "no data" needs another word."""

    ABSENT = "absent"

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent.ABSENT


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of content: exactly one of ``text``, ``data``, ``url`` and ``raw``.

    ``raw`` is bytes (base64 on the wire), ``data`` any JSON value, ``url`` an absolute URL, ``media_type``
    an IANA media type ("" means unsaid), ``filename`` what a file of it would be called, ``metadata`` anything else.

    Raises:
        ValueError: none or more than one of the four is given.
        TypeError: a field has the wrong type; whether ``data`` and ``metadata`` are JSON shows when they are sent.
    """

    text: str | None = None
    data: "JSON | Absent" = ABSENT
    url: str | None = None
    raw: bytes | None = None
    media_type: str = ""
    filename: str = ""
    metadata: Mapping[str, JSON] = field(default_factory=dict)

    def __post_init__(self) -> None:
        given = (self.text is not None) + (self.data is not ABSENT) + (self.url is not None) + (self.raw is not None)
        if given != 1:
            raise ValueError(f"a Part holds exactly one of text, data, url and raw, not {given}")
        for name, kind in _PART_FIELDS.items():
            value = getattr(self, name)
            if value is not None and not isinstance(value, kind):
                raise TypeError(f"a Part's {name} is {kind.__name__}, not {type(value).__name__}")


_PART_FIELDS: Final[Mapping[str, type]] = {
    "text": str,
    "url": str,
    "raw": bytes,
    "media_type": str,
    "filename": str,
    "metadata": Mapping,
}


def text_of(parts: Sequence[Part]) -> str:
    """Concatenate the text parts without a separator; other parts are passed over."""
    return "".join(part.text for part in parts if part.text is not None)


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a session.

    ``id`` is its sender's choice, ``role`` "user" or "agent"; ``at`` is when it came, timezone-aware UTC;
    ``metadata`` is what its sender has added.
    """

    id: str
    role: Role
    parts: tuple[Part, ...]
    at: datetime
    metadata: Mapping[str, JSON] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The text parts, concatenated without a separator."""
        return text_of(self.parts)
