"""What is sent to a task while a turn of it runs."""

from dataclasses import dataclass

from innkeeper.ports.events import Event


@dataclass(frozen=True, slots=True)
class Taken:
    """What a running turn has taken of what waited for its task: the ids of the turns, and their messages.

    A message is its body (JSON) and when it was accepted.
    """

    turns: tuple[int, ...] = ()
    messages: tuple[tuple[bytes, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Steering:
    """A message of a plugin's to the task of a running turn; ``event`` says that it was accepted."""

    message_id: str
    message: bytes
    event: Event
    queue_per_session: int
