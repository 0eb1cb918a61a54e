"""The world's clock and its ids, handed in."""

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta


def _new_id() -> str:
    return str(uuid.uuid4())


@dataclass(frozen=True, slots=True)
class World:
    """Where time and ids come from. ``now_us`` is microseconds since the Unix epoch, ``new_id`` a fresh unique id."""

    now_us: Callable[[], int] = lambda: time.time_ns() // 1000
    new_id: Callable[[], str] = _new_id

    @staticmethod
    def datetime_from_us(at_us: int) -> datetime:
        """Return the UTC time of so many microseconds since the Unix epoch, exactly."""
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at_us)
