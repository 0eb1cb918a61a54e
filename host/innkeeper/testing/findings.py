"""What a check of a plugin has found."""

from dataclasses import dataclass
from typing import Literal

Level = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong with a plugin (an error) or may become so (a warning), and what helps."""

    level: Level
    what: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.level}: {self.what}" + (f"\n  {self.hint}" if self.hint else "")


def error(what: str, hint: str = "") -> Finding:
    """Make a finding of what a host or a caller would suffer from."""
    return Finding("error", what, hint)


def warning(what: str, hint: str = "") -> Finding:
    """Make a finding of what is not wrong yet."""
    return Finding("warning", what, hint)


@dataclass(frozen=True, slots=True)
class Findings:
    """Everything that was found about a plugin; true if it is nothing.

    A test says ``assert not check_plugin("mine").found``, or ``check_plugin("mine").raise_if_any()``, which lets
    warnings pass.
    """

    plugin: str
    found: tuple[Finding, ...] = ()

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that are errors."""
        return tuple(each for each in self.found if each.level == "error")

    def __str__(self) -> str:
        return "\n".join((f"plugin {self.plugin!r}:", *map(str, self.found or ("nothing found",))))

    def raise_if_any(self) -> None:
        """Fail on errors.

        Raises:
            AssertionError: there are errors; the text is every finding.
        """
        if self.errors:
            raise AssertionError(str(self))
