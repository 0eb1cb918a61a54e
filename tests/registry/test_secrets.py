"""Secrets are kept out of texts and tracebacks, and of nothing else."""

import json
import traceback
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

from innkeeper.registry import described
from innkeeper.registry.secrets import HIDDEN, SHORTEST, UNTELLABLE, Secrets

SECRET = 'p@ss "wörd"/\\ 1'
KEY = "-----BEGIN KEY-----\nMIIEvQIBADANBgkq\nAbCdEfGhIjKlMnOp\n-----END KEY-----\n"


@pytest.fixture
def secrets() -> Secrets:
    known = Secrets()
    known.remember(SECRET)
    known.remember("hunter2", "${PASSWORD}")
    known.remember(KEY)
    return known


@pytest.mark.parametrize(
    "written",
    [
        SECRET,
        repr(SECRET),
        ascii(SECRET),
        repr(SECRET.encode()),
        json.dumps(SECRET),
        json.dumps(repr(SECRET)),
        json.dumps(ascii(SECRET), ensure_ascii=False),
        quote(SECRET, safe=""),
        quote_plus(SECRET),
        f"<{SECRET}>",
        SECRET * 2,
    ],
)
def test_a_secret_is_found_as_python_json_and_urls_write_it(secrets, written):
    redacted = secrets.redacted(f"no {written} here")
    assert HIDDEN in redacted
    assert "1" not in redacted.replace(HIDDEN, "")


def test_a_text_without_secrets_stays_as_it_is(secrets):
    text = "hunter3 was not hunted; BEGIN KEY"
    assert secrets.redacted(text) is text
    assert Secrets().redacted("hunter2") == "hunter2"


def test_what_stands_in_its_place_is_left_alone_and_may_name_where_it_came_from(secrets):
    secrets.remember("shown")
    assert secrets.redacted("hunter2 is shown") == f"${{PASSWORD}} is {HIDDEN}"


def test_the_longer_of_two_secrets_is_hidden_whole(secrets):
    secrets.remember("hunter2-and-more")
    assert secrets.redacted("hunter2-and-more, hunter2") == f"{HIDDEN}, ${{PASSWORD}}"


def test_what_is_shorter_than_that_stands_in_too_many_words():
    secrets = Secrets()
    secrets.remember("x" * (SHORTEST - 1))
    secrets.remember("")
    assert secrets.redacted("axxxa") == "axxxa"


def test_a_secret_of_several_lines_is_hidden_on_one_line_and_line_by_line(secrets):
    for text in (KEY, repr(KEY), " ".join(KEY.split()), "it is AbCdEfGhIjKlMnOp"):
        assert "AbCdEfGh" not in secrets.redacted(text)


def test_an_error_is_told_without_secrets_however_long_its_words_are(secrets):
    assert secrets.described(ValueError("no hunter2")) == "ValueError: no ${PASSWORD}"
    assert secrets.described(ValueError(KEY)) == f"ValueError: {HIDDEN}"
    cut = secrets.words(ValueError("x" * 497 + "hunter2"))
    assert "hun" not in cut


PASSWORD = "".join(("hunt", "er2"))


def throw(error: BaseException, cause: BaseException | None = None) -> None:
    if cause is None:
        raise error
    raise error from cause


def raised(error: BaseException, cause: BaseException | None = None) -> BaseException:
    with pytest.raises(type(error)) as caught:
        throw(error, cause)
    return caught.value


def chained() -> BaseException:
    last = raised(RuntimeError("on top"), raised(KeyError(PASSWORD)))
    last.add_note(f"tried {PASSWORD}")
    return last


def in_context() -> BaseException:
    last = raised(RuntimeError("while handling"))
    last.__context__ = raised(KeyError(PASSWORD))
    return last


def no_python() -> BaseException:
    with pytest.raises(SyntaxError) as caught:
        compile(f"'{PASSWORD}", "config", "eval")
    return caught.value


ERRORS = {
    "plain": lambda: raised(ValueError(f"no {PASSWORD}")),
    "that leads to another": chained,
    "that happened meanwhile": in_context,
    "in a group": lambda: raised(BaseExceptionGroup("several", [ValueError(PASSWORD), KeyError("x")])),
    "of syntax": no_python,
    "an exit": lambda: raised(SystemExit(PASSWORD)),
}


@pytest.mark.parametrize("case", ERRORS)
def test_a_traceback_looks_the_same_without_secrets(secrets, case):
    error = ERRORS[case]()
    before = "".join(traceback.format_exception(error))
    assert PASSWORD in before
    after = "".join(traceback.format_exception(secrets.kept_from(error)))
    assert PASSWORD not in after
    if case != "of syntax":
        assert after == before.replace(PASSWORD, "${PASSWORD}")
    assert "".join(traceback.format_exception(error)) == before


def test_an_error_that_tells_no_secret_is_itself(secrets):
    error = raised(ValueError("nothing"))
    assert secrets.kept_from(error) is error


def test_an_error_that_cannot_be_looked_at_is_told_as_that(secrets):
    class Odd(Exception):
        @property
        def __notes__(self):
            raise RuntimeError("hunter2")

    assert str(secrets.kept_from(raised(Odd("hunter2")))) == UNTELLABLE


def test_errors_of_plugins_become_texts_in_one_place():
    host = Path(described.__file__).parents[1]
    takers = {
        str(module.relative_to(host))
        for module in host.rglob("*.py")
        if "innkeeper.registry.described" in module.read_text()
    }
    assert takers == {
        "registry/exits.py",  # what is raised to whoever waits, and told as the error of a plugin by them
        "registry/foreign_backing.py",  # what is raised to the agent
        "registry/secrets.py",
        "testing/conformance.py",  # what a log has been told already
    }


def test_a_message_of_a_log_is_redacted_as_it_would_be_written(secrets):
    assert secrets.redacted_message("%s is %d", ("hunter2", 3)) == "${PASSWORD} is 3"
    assert secrets.redacted_message("%(who)s", ({"who": "hunter2"},)) == "${PASSWORD}"
    assert secrets.redacted_message("nothing", ()) is None
    assert secrets.redacted_message("%d", ("hunter2",)) is None
