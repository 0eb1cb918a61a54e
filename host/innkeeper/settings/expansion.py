"""``${NAME}`` in a string stands for an environment variable; ``$${NAME}`` for those characters themselves."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

SHORTEST_SECRET: Final = 4
"""What is shorter is no secret, and stands in too many words."""

_REFERENCE: Final = re.compile(r"\$(\$)?\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(slots=True)
class Expansion:
    """Replaces references, and remembers what must not be shown.

    ``unset`` are the names that the environment lacks, ``values`` what was put in, by name.
    """

    environ: Mapping[str, str]
    unset: list[str] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)

    def expanded(self, value: Any) -> Any:
        """Return the value with every reference in its strings replaced, in lists and tables too; keys stay."""
        if isinstance(value, str):
            return _REFERENCE.sub(self._replaced, value)
        if isinstance(value, Mapping):
            return {key: self.expanded(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [self.expanded(each) for each in value]
        return value

    def redacted(self, text: str) -> str:
        """Put the references back wherever their values stand in the text."""
        for name, value in sorted(self.values.items(), key=lambda item: -len(item[1])):
            if len(value) >= SHORTEST_SECRET:
                text = text.replace(value, f"${{{name}}}")
        return text

    def _replaced(self, match: re.Match[str]) -> str:
        escaped, name = match.groups()
        if escaped:
            return match[0][1:]
        if name not in self.environ:
            self.unset.append(name)
            return match[0]
        self.values[name] = self.environ[name]
        return self.environ[name]
