"""The settings of hosts under test."""

import tomllib
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as some

from innkeeper.settings import SettingsFault
from innkeeper.testing.setup import Setup

TEXT = some.text(some.characters(exclude_categories=["Cs"]))
VALUES = some.recursive(
    some.booleans() | some.integers(-(2**62), 2**62) | TEXT,
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


@given(some.dictionaries(TEXT, VALUES, max_size=4))
def test_what_a_test_sets_is_what_the_file_says(table):
    with TemporaryDirectory() as folder:
        path = Setup(settings={"plugins": {"mine": table}}).write(Path(folder))
        assert tomllib.loads(path.read_text(encoding="utf-8"))["plugins"]["mine"] == table


@pytest.mark.parametrize("value", [None, timedelta(1), {1}])
def test_a_value_that_a_file_cannot_hold_is_refused(tmp_path, value):
    with pytest.raises(TypeError, match="a setting cannot be a"):
        Setup(settings={"plugins": {"mine": {"key": value}}}).write(tmp_path)


def test_settings_are_checked_as_those_of_a_served_host(tmp_path):
    with pytest.raises(SettingsFault, match=r"host\.bnd: unknown key; did you mean bind"):
        Setup(settings={"host": {"bnd": []}}).load(tmp_path)


def test_the_host_of_a_test_reads_nothing_of_the_hosts_own_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("INNKEEPER_HOST__DATA_DIR", "/nowhere")
    monkeypatch.setenv("TOWN", "Ghent")
    assert Setup().load(tmp_path).host.data_dir == tmp_path / "data"
    assert Setup(environ={"TOWN": "Bruges"}).variables["TOWN"] == "Bruges"
    assert Setup().variables["TOWN"] == "Ghent"
