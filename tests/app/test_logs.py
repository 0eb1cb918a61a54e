"""The log for programs."""

import json
import logging
import os
import sys

import pytest

from innkeeper.app.logs import EnduringHandler, JsonLines
from innkeeper.registry.secrets import Secrets


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


@pytest.mark.parametrize("logs_raise", [True, False])
def test_a_log_with_no_place_left_to_go_raises_nothing(monkeypatch: pytest.MonkeyPatch, *, logs_raise: bool) -> None:
    monkeypatch.setattr(logging, "raiseExceptions", logs_raise)
    with open(os.devnull, "w", encoding="utf-8") as closed:  # noqa: PTH123 - it has no path of its own
        monkeypatch.setattr(sys, "stderr", closed)
        handler = EnduringHandler()
    handler.stream.close()
    handler.handle(record("unheard"))


def test_the_log_goes_on_after_standard_error_is_closed(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("log") / "stderr"
    with path.open("w") as stderr:
        monkeypatch.setattr(sys, "stderr", stderr)
        handler = EnduringHandler()
    handler.handle(record("still heard"))
    handler.stream.close()
    assert path.read_text() == "still heard\n"


@pytest.mark.parametrize("level", [logging.WARNING, logging.ERROR])
def test_secrets_are_kept_out_of_whatever_anybody_complains_of(level: int, capsys: pytest.CaptureFixture[str]) -> None:
    secrets = Secrets()
    secrets.remember("hunter2")
    handler = EnduringHandler(secrets)
    handler.stream = sys.stderr
    error = ValueError("HUNTER2".lower())
    trace = (ValueError, error, None)
    handler.handle(logging.LogRecord("asyncio", level, __file__, 1, "never retrieved: %r", (error,), trace))
    said = capsys.readouterr().err
    assert said.count("(not shown)") == 2
    assert "ValueError('(not shown)')" in said
