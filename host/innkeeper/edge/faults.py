"""What nobody expected: the log has it whole, the caller gets a number to ask about."""

import logging
import uuid
from collections.abc import Callable

from innkeeper.contract.errors import Answerable

log = logging.getLogger(__name__)

NewId = Callable[[], str]


def fresh_id() -> str:
    """Return an id that nobody has used."""
    return str(uuid.uuid4())


def answerable(error: Exception, new_id: NewId) -> Answerable:
    """Return the error's own answer; an error without one is logged, once and in full, under a new id.

    Call it where ``error`` is being handled.
    """
    if isinstance(error, Answerable):
        return error
    error_id = new_id()
    log.error("internal error %s", error_id, exc_info=error)
    return Answerable(f"Internal error {error_id}")
