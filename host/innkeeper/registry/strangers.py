"""Entry points that may be meant for this host, and stand where it does not look."""

import difflib
import functools
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

_HOST: Final = "innkeeper"
_WORD: Final = re.compile(r"[a-z]+")
_ALIKE: Final = 0.85


@dataclass(frozen=True, slots=True, order=True)
class Stranger:
    """The entry points of a distribution, by name, in a group whose name is not quite that of the host's."""

    distribution: str
    version: str
    group: str
    meant: str
    names: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"{self.distribution} {self.version}: no host looks for {', '.join(self.names)} "
            f"in the entry-point group {self.group!r}; did you mean {self.meant!r}?"
        )


def strangers_from(entry_points: Iterable[tuple[str, str, str, str]], meant: str) -> tuple[Stranger, ...]:
    """Make them of (distribution, version, group, name)."""
    found: defaultdict[tuple[str, str, str], set[str]] = defaultdict(set)
    for distribution, version, group, name in entry_points:
        found[distribution, version, group].add(name)
    return tuple(sorted(Stranger(*where, meant, tuple(sorted(names))) for where, names in found.items()))


@functools.cache
def may_be_ours(group: str) -> bool:
    """Tell whether a group is called nearly as the host's."""
    first = _WORD.search(group.casefold())
    return first is not None and difflib.SequenceMatcher(None, first[0], _HOST).ratio() >= _ALIKE
