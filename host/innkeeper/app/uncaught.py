"""What Python itself reports of code that nobody waits for goes into the log, without secrets."""

import logging
import sys
import threading
from types import TracebackType

from innkeeper.registry.secrets import Secrets

log = logging.getLogger(__name__)


def log_uncaught(secrets: Secrets) -> None:
    """Log what ends a thread, and what is raised where nothing can be, such as in ``__del__``; for this process."""

    def of_thread(raised: threading.ExceptHookArgs) -> None:
        if raised.exc_value is not None and not isinstance(raised.exc_value, SystemExit):
            name = raised.thread.name if raised.thread else "?"
            log.error("thread %s ended by what it raised", name, exc_info=secrets.kept_from(raised.exc_value))

    def of_nobody(raised: "sys.UnraisableHookArgs") -> None:
        if raised.exc_value is not None:
            log.error("what was raised reached nobody", exc_info=secrets.kept_from(raised.exc_value))

    threading.excepthook = of_thread
    sys.unraisablehook = of_nobody


def print_without(secrets: Secrets) -> None:
    """Print what ends this process as Python does, without the secrets."""

    def printed(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        sys.__excepthook__(kind, secrets.kept_from(error), trace)

    sys.excepthook = printed
