"""Ways of working that an agent offers by name."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from innkeeper.contract.json_values import frozen, plain
from innkeeper.contract.message import JSON
from innkeeper.contract.names import ID_GRAMMAR, ID_PATTERN


@dataclass(frozen=True, slots=True)
class Preset:
    """A way of working that an agent offers: the first message of a session may pick it by ``id``.

    ``description`` says what it is for, ``options`` is whatever the agent wants to know of it, as JSON.

    Raises:
        ValueError: the id does not fit the grammar of ``ID_PATTERN``.
        TypeError: the options are no mapping of strings to JSON.
    """

    id: str
    description: str = ""
    options: Mapping[str, JSON] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not ID_PATTERN.fullmatch(self.id):
            raise ValueError(f"Preset id {self.id!r}: {ID_GRAMMAR}")
        if not isinstance(self.options, Mapping):
            raise TypeError(f"Preset {self.id!r}: options is a mapping, not {self.options!r}")
        object.__setattr__(self, "options", frozen(plain(self.options)))
