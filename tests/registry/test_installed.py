"""What is installed: found from metadata, and refused before any import."""

import json
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner
from packaging.version import Version

from innkeeper.cli.plugins import plugins
from innkeeper.registry.discovery import PluginRecord, discover

EXPLODES = "raise SystemExit('imported although it should only have been listed')"


def ours(found, *names: str):
    """Keep the plugins of a test, whatever else this environment has installed; refused ones with their reasons."""
    kept = [record for record in found.plugins if record.name in names]
    return kept, {refused.record.name: refused.reason for refused in found.refused if refused.record.name in names}


def test_a_plugin_is_found_by_its_entry_point_without_being_imported(install):
    install("acme-greeter", EXPLODES, entry_points="greeter = acme_greeter:plugin")
    (record,), refused = ours(discover(), "greeter")
    assert record == PluginRecord("greeter", "acme-greeter", "1.0", "acme_greeter:plugin", "innkeeper.v1")
    assert refused == {}
    assert "acme_greeter" not in sys.modules


def test_plugins_come_in_the_order_of_their_names(install):
    for name in ("zeta", "alpha", "midway"):
        install(name)
    kept, _ = ours(discover(), "zeta", "alpha", "midway")
    assert [record.name for record in kept] == ["alpha", "midway", "zeta"]


def test_a_distribution_that_is_on_the_path_twice_counts_once(install, tmp_path, monkeypatch):
    install("twice", version="2.0")
    monkeypatch.syspath_prepend(install("twice", version="1.0", folder=tmp_path / "first"))
    (record,), refused = ours(discover(), "twice")
    assert record.version == "1.0"
    assert refused == {}


def test_two_distributions_with_one_plugin_name_are_both_refused_naming_the_other(install):
    install("acme-one", entry_points="shared = acme_one")
    install("acme-two", entry_points="shared = acme_two")
    found = discover()
    kept, _ = ours(found, "shared")
    assert kept == []
    lines = [str(refused) for refused in found.refused if refused.record.name == "shared"]
    assert len(lines) == 2
    assert all("acme-one 1.0" in line and "acme-two 1.0" in line for line in lines)


@pytest.mark.parametrize("name", ["Greeter", "-x", "a b", "x" * 64, "grüße"])
def test_a_name_outside_the_grammar_is_refused(install, name):
    install("acme", entry_points=f"{name} = acme")
    assert "a-z 0-9" in ours(discover(), name)[1][name]


def test_a_plugin_named_like_a_command_is_refused(install):
    install("acme", entry_points="serve = acme")
    assert "command" in ours(discover(reserved=frozenset({"serve"})), "serve")[1]["serve"]


def test_another_contract_is_refused_with_both_numbers(install):
    install("futuristic", EXPLODES, group="innkeeper.v2")
    kept, refused = ours(discover(), "futuristic")
    assert kept == []
    assert "contract 2" in refused["futuristic"]
    assert "speaks 1" in refused["futuristic"]


def test_another_contract_beside_ours_is_no_matter(install, tmp_path):
    install("both")
    with (tmp_path / "both-1.0.dist-info" / "entry_points.txt").open("a") as file:
        file.write("[innkeeper.v2]\nboth = both\n")
    kept, refused = ours(discover(), "both")
    assert [record.group for record in kept] == ["innkeeper.v1"]
    assert refused == {}


def test_a_group_that_only_begins_like_ours_is_nobodys(install):
    install("themes", group="innkeeper.v1.themes")
    assert ours(discover(), "themes") == ([], {})


@pytest.mark.parametrize(
    ("requires", "host", "loads"),
    [
        ("innkeeper>=99", "0.1.0", False),
        ("Innkeeper<0.1", "0.1.0", False),
        ("innkeeper>=0.2", "0.2.0.dev3", True),
        ("innkeeper>=0.2", "0.2.0rc1", True),
        ("innkeeper<0.2", "0.2.0rc1", False),
        ("innkeeper==0.1.*", "0.1.7+local", True),
        ('innkeeper>=99; extra == "later"', "0.1.0", True),
        ('innkeeper>=99; python_version < "3"', "0.1.0", True),
        ("innkeeper-extras>=99", "0.1.0", True),
        ("innkeeper", "0.1.0", True),
        ("innkeeper>>1", "0.1.0", False),
    ],
)
def test_what_a_plugin_requires_is_held_against_the_hosts_base_version(install, requires, host, loads):
    install("picky", EXPLODES, requires=("click", requires))
    kept, refused = ours(discover(host_version=Version(host)), "picky")
    assert bool(kept) is loads
    assert ("picky" in refused) is not loads
    if not loads:
        assert requires.lower() in refused["picky"].lower()


def test_a_half_removed_distribution_is_listed_all_the_same(install, tmp_path):
    install("ghost")
    (tmp_path / "ghost-1.0.dist-info" / "METADATA").unlink()
    (record,), _ = ours(discover(), "ghost")
    assert record.distribution == "unknown"


@pytest.fixture
def run():
    group = click.Group("innkeeper", {"plugins": plugins, "serve": click.Command("serve")})
    return lambda *arguments: CliRunner().invoke(group, ["plugins", *arguments])


def test_the_verb_lists_what_would_not_even_import(install, run):
    install("explosive", EXPLODES)
    install("acme", EXPLODES, entry_points="serve = acme")
    done = run()
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert "explosive  explosive 1.0  explosive" in lines
    assert any(line.startswith("serve  acme 1.0  acme  refused: ") for line in lines)
    assert {"explosive", "acme"}.isdisjoint(sys.modules)


def test_the_verb_lists_as_json_too(install, run):
    install("explosive", EXPLODES)
    install("futuristic", group="innkeeper.v9")
    rows = {row["name"]: row for row in json.loads(run("--json").output)}
    assert rows["explosive"] == {
        "name": "explosive",
        "distribution": "explosive",
        "version": "1.0",
        "entry_point": "explosive",
        "refused": None,
    }
    assert "contract 9" in rows["futuristic"]["refused"]


def test_listing_imports_nothing_heavy():
    code = (
        "import sys, innkeeper.cli.plugins; print({'pluggy', 'pydantic', 'a2a', 'quart', 'anyio'} & set(sys.modules))"
    )
    done = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout.strip() == "set()"


UNREADABLE = {
    "requirements with a marker that cannot be compared": (
        "METADATA",
        b"Metadata-Version: 2.1\nName: odd\nVersion: 1.0\nRequires-Dist: innkeeper; python_version ~= 'abc'\n",
        "which is no requirement",
    ),
    "metadata that is no UTF-8": (
        "METADATA",
        b"Metadata-Version: 2.1\nName: odd\nVersion: 1.0\nAuthor: Jos\xe9\n",
        "its metadata cannot be read",
    ),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_metadata_that_cannot_be_read_refuses_that_plugin_alone(install, tmp_path, case):
    file, content, reason = UNREADABLE[case]
    install("odd")
    install("sound")
    (tmp_path / "odd-1.0.dist-info" / file).write_bytes(content)
    kept, refused = ours(discover(), "odd", "sound")
    assert [record.name for record in kept] == ["sound"]
    assert reason in refused["odd"]


def test_entry_points_that_cannot_be_read_are_passed_over_with_a_warning(install, tmp_path, caplog):
    install("odd")
    install("sound")
    (tmp_path / "odd-1.0.dist-info" / "entry_points.txt").write_bytes(b"[innkeeper.v1]\nodd = \xff\n")
    kept, _ = ours(discover(), "odd", "sound")
    assert [record.name for record in kept] == ["sound"]
    assert "odd: its entry points cannot be read" in caplog.text


@pytest.mark.parametrize("value", ["", ":acme", ".acme", "acme:", "acme:a b", "1acme", "acme-greeter"])
def test_an_entry_point_that_cannot_be_imported_is_refused_before_it_is_tried(install, value):
    install("acme", EXPLODES, entry_points=f"greeter = {value}")
    kept, refused = ours(discover(), "greeter")
    assert kept == []
    assert refused == {"greeter": f"its entry point {value!r} is neither a module nor module:object"}


@pytest.mark.parametrize("value", ["acme", "acme.sub", "acme:a.b", "acme : a", "acme [more]", "acme:a[x,y]", "âcme"])
def test_an_entry_point_may_be_written_as_the_standard_has_it(install, value):
    install("acme", EXPLODES, entry_points=f"greeter = {value}")
    kept, refused = ours(discover(), "greeter")
    assert (len(kept), refused) == (1, {})


def test_a_plugin_without_a_name_is_a_plugins_fault(install):
    install("acme", EXPLODES, entry_points=" = acme")
    (refused,) = [each for each in discover().refused if each.record.distribution == "acme"]
    assert str(refused).startswith("plugin '(no name)' of acme 1.0: a plugin name is")


def test_distributions_that_have_lost_their_metadata_are_told_apart(install, tmp_path):
    for name in ("one", "other"):
        install(name)
        (tmp_path / f"{name}-1.0.dist-info" / "METADATA").unlink()
    kept, _ = ours(discover(), "one", "other")
    assert [(record.name, record.distribution) for record in kept] == [("one", "unknown"), ("other", "unknown")]


def test_what_a_distribution_is_called_steers_no_terminal(install, tmp_path):
    install("acme")
    (tmp_path / "acme-1.0.dist-info" / "METADATA").write_text("Name: ac\x1b[31mme\nVersion: 1\x1b[0m\n")
    (record,), _ = ours(discover(), "acme")
    assert str(record) == r"plugin 'acme' of ac\x1b[31mme 1\x1b[0m"
