"""How the host writes its log: for people, or one JSON object per line."""

import json
import logging
import os
import sys
from contextlib import suppress
from datetime import UTC, datetime
from typing import Literal, TextIO

from innkeeper.registry.secrets import Secrets


class JsonLines(logging.Formatter):
    """One JSON object per record: time, level, logger, message and, after a raise, the traceback."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


class EnduringHandler(logging.StreamHandler[TextIO]):
    """Writes to where standard error leads when it is made, and never raises: plugins may close what they like.

    From warnings on, whoever they are of, the ``secrets`` are kept out: asyncio and others tell of plugins' errors too.
    """

    def __init__(self, secrets: Secrets | None = None) -> None:
        self._secrets = secrets or Secrets()
        try:
            stream: TextIO = os.fdopen(os.dup(sys.stderr.fileno()), "w", encoding="utf-8", errors="backslashreplace")
        except (AttributeError, OSError, ValueError):  # no file, or closed
            stream = sys.stderr
        super().__init__(stream)

    def format(self, record: logging.LogRecord) -> str:
        """Return what is written of a record."""
        text = super().format(record)
        return self._secrets.redacted(text) if record.levelno >= logging.WARNING else text

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name that logging gives it
        """Report a record that cannot be written, if there is any place left where that can be said."""
        with suppress(Exception):
            super().handleError(record)


def configure_logs(level: str, form: Literal["text", "json"]) -> Secrets:
    """Let Innkeeper and its plugins log from ``level`` on, and everything else from warnings on.

    The log goes to standard error, unless whoever runs the process has a log of its own. Returns where the host that
    logs there is to keep its secrets.
    """
    secrets = Secrets()
    if not logging.getLogger().handlers:
        handler = EnduringHandler(secrets)
        text = logging.Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s")
        handler.setFormatter(JsonLines() if form == "json" else text)
        logging.basicConfig(level=logging.WARNING, handlers=[handler])
    logging.getLogger("innkeeper").setLevel(level.upper())
    return secrets
