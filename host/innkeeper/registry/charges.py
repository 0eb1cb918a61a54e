"""What plugins are charged with: every fault of a hook, by plugin, hook and tenant."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import final

from innkeeper.registry.secrets import Secrets


@dataclass(frozen=True, slots=True, order=True)
class Charge:
    """Who is charged, and for which hook; ``tenant`` is empty at host scope."""

    plugin: str
    hook: str
    tenant: str = ""


@final
class Charges:
    """Counts faults of hooks since the host started; ``secrets`` are kept out of what is told of them."""

    def __init__(self, secrets: Secrets | None = None) -> None:
        self.secrets = secrets or Secrets()
        self._counts: Counter[Charge] = Counter()

    def add(self, charge: Charge) -> int:
        """Count one fault more, and return how many it are."""
        self._counts[charge] += 1
        return self._counts[charge]

    @property
    def counts(self) -> Mapping[Charge, int]:
        """How often each has been at fault."""
        return MappingProxyType(self._counts)
