"""What is never written down: the secrets of plugins' configurations, kept out of every text of the host."""

import json
import logging
import re
import traceback
from collections.abc import Iterator
from typing import Final, final
from urllib.parse import quote, quote_plus

from innkeeper.registry.described import described, words

HIDDEN: Final = "(not shown)"
"""Stands where a secret would."""

SHORTEST: Final = 4
"""What is shorter stands in too many words by chance: hiding it would spoil a text, and even show where it stood."""

SHORTEST_LINE: Final = 8
"""How long a line of a secret of several lines is, to be a secret by itself: its first and last ones often are not."""

UNTELLABLE: Final = "an error that cannot be shown"


@final
class Secrets:
    """Knows secrets, and keeps them out of texts. Nothing is looked for before there is a text to be written.

    A secret is found as it is, and as Python, JSON and URLs write it; what somebody has made of it in other ways, such
    as a hash or an encoding, is not.
    """

    def __init__(self) -> None:
        self._shown: dict[str, str] = {}
        self._forms: tuple[tuple[str, str], ...] | None = None

    def remember(self, secret: str, shown: str = HIDDEN) -> None:
        """Keep a text out of every other from now on; ``shown`` stands in its place."""
        if len(secret) >= SHORTEST and secret not in self._shown:
            self._shown[secret] = shown
            self._forms = None

    def redacted(self, text: str) -> str:
        """Return a text without the secrets."""
        if not self._shown:
            return text
        if self._forms is None:
            forms = {form: shown for secret, shown in self._shown.items() for form in _forms(secret)}
            self._forms = tuple(sorted(forms.items(), key=lambda form: -len(form[0])))  # one may be part of another
        there = {form: shown for form, shown in self._forms if form in text}
        return re.sub("|".join(map(re.escape, there)), lambda found: there[found[0]], text) if there else text

    def redacted_message(self, message: object, arguments: tuple[object, ...]) -> str | None:
        """Return what a log would write of a message and its arguments, without secrets; None if there are none."""
        if not self._shown:
            return None
        try:
            text = logging.LogRecord("", 0, "", 0, message, arguments, None).getMessage()
        except Exception:  # noqa: BLE001 - the arguments do not fit, or cannot be told: it is for the log to say so
            return None
        redacted = self.redacted(text)
        return None if redacted == text else redacted

    def words(self, error: BaseException) -> str:
        """Return what an error of foreign code says, cut to what anybody reads."""
        return words(error, self.redacted)

    def described(self, error: BaseException) -> str:
        """Put an error of foreign code on one line, with the place that raised it."""
        return described(error, self.redacted)

    def kept_from(self, error: BaseException) -> BaseException:
        """Return the error, or where its traceback would tell a secret another one that looks the same but for that."""
        if not self._shown:
            return error
        try:
            told = "".join(traceback.format_exception(error))
            return error if self.redacted(told) == told else self._likeness(error, {})
        except Exception:  # noqa: BLE001 - whatever it is made of, a log must not fail at it
            return RuntimeError(UNTELLABLE)

    def _likeness(self, error: BaseException, made: dict[int, BaseException]) -> BaseException:
        """Make an error that looks like this one, and like those that led to it."""
        if id(error) in made:
            return made[id(error)]
        kind = type(error)
        names = {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
        like: BaseException
        if isinstance(error, BaseExceptionGroup):
            parts = [self._likeness(part, made) for part in error.exceptions]
            like = type(kind.__name__, (BaseExceptionGroup,), names)(self.redacted(error.message), parts)
        else:
            like = type(kind.__name__, (Exception,), names)(self.redacted(words(error, longest=None)))
        made[id(error)] = like
        for note in getattr(error, "__notes__", ()):
            like.add_note(self.redacted(str(note)))
        like.__cause__ = error.__cause__ and self._likeness(error.__cause__, made)
        like.__context__ = error.__context__ and self._likeness(error.__context__, made)
        like.__suppress_context__ = error.__suppress_context__
        return like.with_traceback(error.__traceback__)


def _forms(secret: str) -> Iterator[str]:
    """Return a secret as it may stand in a text."""
    lines = secret.splitlines()
    several = [line.strip() for line in lines] if len(lines) > 1 else []
    for part in (secret, secret.strip(), " ".join(secret.split()), *several):
        if len(part) < (SHORTEST if part not in several else SHORTEST_LINE):
            continue
        yield from (quote(part, safe=""), quote_plus(part))
        encoded = part.encode("utf-8", "surrogatepass")
        for form in (part, repr(part)[1:-1], ascii(part)[1:-1], repr(encoded)[2:-1]):
            yield from (form, json.dumps(form)[1:-1], json.dumps(form, ensure_ascii=False)[1:-1])
