"""How old is too old, in words like "30d"."""

import re
from datetime import timedelta
from typing import Annotated, Final

from pydantic import BeforeValidator

_AGE: Final = re.compile(r"([0-9]{1,5})([smhd])")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def age_from_text(text: object) -> timedelta:
    """Read "90s", "5m", "24h" or "30d"; what is a timedelta already stays one.

    Raises:
        ValueError: it is something else, or zero.
    """
    if isinstance(text, timedelta):
        return text
    match = _AGE.fullmatch(text) if isinstance(text, str) else None
    if match is None or int(match[1]) == 0:
        raise ValueError('an age is a whole number above zero with a unit, such as "90s", "5m", "24h" or "30d"')
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


Age = Annotated[timedelta, BeforeValidator(age_from_text)]
"""A field of a ``Config`` that is written as ``age_from_text`` reads it."""
