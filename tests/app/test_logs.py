"""The log for programs."""

import json
import logging

from innkeeper.app.logs import JsonLines


def record(message: str, *, error: BaseException | None = None) -> logging.LogRecord:
    trace = (type(error), error, error.__traceback__) if error else None
    return logging.LogRecord("innkeeper.x", logging.WARNING, __file__, 1, message, (), trace)


def test_a_record_is_one_line_of_json_whatever_it_says() -> None:
    line = JsonLines().format(record("a\nb \u2028 é"))
    assert "\n" not in line
    said = json.loads(line)
    assert (said["level"], said["logger"], said["message"]) == ("warning", "innkeeper.x", "a\nb \u2028 é")
    assert said["time"].endswith("+00:00")


def test_a_raise_is_in_it_with_its_traceback() -> None:
    said = json.loads(JsonLines().format(record("failed", error=ValueError("boo"))))
    assert said["traceback"].endswith("ValueError: boo")
