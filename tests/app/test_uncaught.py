"""What Python reports of code that nobody waits for."""

import sys
import threading

import pytest

from innkeeper.app.uncaught import log_uncaught, print_without
from innkeeper.registry.secrets import Secrets


@pytest.fixture
def secrets(monkeypatch: pytest.MonkeyPatch) -> Secrets:
    for module, hook in ((threading, "excepthook"), (sys, "unraisablehook"), (sys, "excepthook")):
        monkeypatch.setattr(module, hook, getattr(module, hook))
    known = Secrets()
    known.remember("hunter2")
    log_uncaught(known)
    return known


def fail() -> None:
    raise ValueError("HUNTER2".lower())


def test_what_ends_a_thread_is_logged_without_secrets(secrets: Secrets, caplog: pytest.LogCaptureFixture) -> None:
    thread = threading.Thread(target=fail, name="reader")
    thread.start()
    thread.join()
    assert "thread reader ended by what it raised" in caplog.text
    assert "ValueError: (not shown)" in caplog.text
    assert "hunter2" not in caplog.text


def test_an_exit_ends_a_thread_without_a_word(secrets: Secrets, caplog: pytest.LogCaptureFixture) -> None:
    thread = threading.Thread(target=sys.exit, args=(3,))
    thread.start()
    thread.join()
    assert caplog.text == ""


def test_what_is_raised_where_nothing_can_be_is_logged(secrets: Secrets, caplog: pytest.LogCaptureFixture) -> None:
    class Odd:
        def __del__(self) -> None:
            fail()

    Odd()
    assert "what was raised reached nobody" in caplog.text
    assert "ValueError: (not shown)" in caplog.text


def test_what_ends_a_command_is_printed_without_secrets(secrets: Secrets, capsys: pytest.CaptureFixture[str]) -> None:
    print_without(secrets)
    with pytest.raises(ValueError, match="hunter2") as caught:
        fail()
    sys.excepthook(caught.type, caught.value, caught.tb)
    printed = capsys.readouterr().err
    assert printed.endswith("ValueError: (not shown)\n")
    assert "in fail" in printed
