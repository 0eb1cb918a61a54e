"""A clock that goes when it is told to."""

from datetime import UTC, datetime, timedelta
from typing import Final, final

from innkeeper.ports.clock import World

NEW_YEAR: Final = datetime(2026, 1, 1, tzinfo=UTC)


@final
class FakeClock:
    """Stands still at ``now`` (timezone-aware UTC) until it is advanced.

    The host takes the times of messages, statuses and events from it. Timeouts and deadlines run on the real clock.
    """

    def __init__(self, now: datetime = NEW_YEAR) -> None:
        self.now = now.astimezone(UTC)

    def advance(self, by: float | timedelta) -> datetime:
        """Go on by so many seconds, or a timedelta, and return the new time.

        Raises:
            ValueError: that would be back.
        """
        step = by if isinstance(by, timedelta) else timedelta(seconds=by)
        if step < timedelta(0):
            raise ValueError(f"a clock is advanced, not turned back by {-step}")
        self.now += step
        return self.now

    @property
    def world(self) -> World:
        """The clock as a host takes it."""
        return World(now_us=lambda: (self.now - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1))
