"""The ids of what a turn says."""

from innkeeper.ports.store import TurnRecord


class Names:
    """The ids that a turn gives to what it says.

    They are derived from the task, the turn's ordinal and a key or name, so that a rerun repeats them and a receiver
    can drop the repetition. The first turn of a task has the short form.
    """

    def __init__(self, turn: TurnRecord) -> None:
        self._short = turn.task_id
        self._long = f"{turn.task_id}:t{turn.ordinal}"
        self._named = self._short if turn.ordinal == 1 else self._long
        self.final = f"{self._short}:final"
        self.reply = f"{self._long}:reply"
        self.ask = f"{self._long}:ask"

    def of(self, key: str) -> str:
        """Return the id of the progress message or artifact called ``key``."""
        return f"{self._named}:{key}"

    def steering(self, number: int) -> str:
        """Return the id of the message that the turn sends to its own task, as its ``number``-th."""
        return f"{self._long}:steer:{number}"
