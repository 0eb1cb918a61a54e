"""Extensions of the protocol that an agent knows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from innkeeper.contract.json_values import frozen, plain
from innkeeper.contract.message import JSON

LONGEST_URI: Final = 2048
"""How long the URI of an extension may be."""


@dataclass(frozen=True, slots=True)
class Extension:
    """An extension of A2A that the agent knows, as its card tells (A2A v1.0 §4.4.4).

    ``uri`` names the extension, ``description`` says how the agent uses it, ``params`` are as the extension defines
    them. Callers that do not ask for a ``required`` one are refused.

    Raises:
        ValueError: the URI is not absolute, or has characters that the header of requests cannot carry.
        TypeError: the params are no mapping of strings to JSON.
    """

    uri: str
    description: str = ""
    required: bool = False
    params: Mapping[str, JSON] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.uri, str) or not is_extension_uri(self.uri):
            raise ValueError(f"Extension {self.uri!r}: an absolute URI of at most {LONGEST_URI} printable characters")
        if not isinstance(self.params, Mapping):
            raise TypeError(f"Extension {self.uri!r}: params is a mapping, not {self.params!r}")
        object.__setattr__(self, "params", frozen(plain(self.params)))


def is_extension_uri(text: str) -> bool:
    """Tell whether this can name an extension: an absolute URI that a header carries beside others."""
    if not text.isascii() or not text.isprintable() or " " in text or "," in text or len(text) > LONGEST_URI:
        return False
    try:
        return bool(urlsplit(text).scheme)
    except ValueError:
        return False
