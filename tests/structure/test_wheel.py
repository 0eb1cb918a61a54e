"""What is installed is what was meant to be."""

import email
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> zipfile.ZipFile:
    target = tmp_path_factory.mktemp("wheel")
    command = (sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", target, ROOT)
    subprocess.run(command, check=True, capture_output=True)
    (built,) = target.glob("*.whl")
    with zipfile.ZipFile(built) as opened:
        yield opened


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(wheel):
    source = ROOT / "host"
    expected = {
        str(path.relative_to(source))
        for path in (source / "innkeeper").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in wheel.namelist() if ".dist-info/" not in name} == expected


def test_the_wheel_is_typed_and_brings_its_migrations(wheel):
    names = wheel.namelist()
    assert "innkeeper/py.typed" in names
    assert [name for name in names if name.startswith("innkeeper/store/") and name.endswith(".sql")]


def test_the_wheel_brings_what_new_plugins_begin_with_and_the_fixtures_that_test_them(wheel):
    names = wheel.namelist()
    for kind in ("agent", "gate", "memory", "workspace"):
        assert {f"innkeeper/cli/templates/{kind}.py.in", f"innkeeper/cli/templates/test_{kind}.py.in"} <= set(names)
    (entry_points,) = (name for name in names if name.endswith(".dist-info/entry_points.txt"))
    assert b"[pytest11]\ninnkeeper = innkeeper.testing.pytest_plugin\n" in wheel.read(entry_points)


def test_the_wheel_carries_the_apache_licence(wheel):
    (metadata,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    (licence,) = (name for name in wheel.namelist() if name.endswith("/LICENSE"))
    fields = email.message_from_bytes(wheel.read(metadata))
    assert fields["Name"] == "innkeeper"
    assert fields["License-Expression"] == "Apache-2.0"
    assert wheel.read(licence) == (ROOT / "LICENSE").read_bytes()
    assert b"Apache License" in wheel.read(licence)
