"""What holds for every file of the tree."""

import ast
import importlib
import pkgutil
import re
import subprocess
from pathlib import Path

import pytest

import innkeeper

ROOT = Path(__file__).parents[2]
HOST = ROOT / "host" / "innkeeper"
MODULES = sorted(HOST.rglob("*.py"))
MODULE_LINES = 300
LONGER_MODULES: frozenset[str] = frozenset()
"""Modules that may be longer, each a decision."""

PACKAGES = [
    "innkeeper",
    *sorted(f"innkeeper.{found.name}" for found in pkgutil.iter_modules([str(HOST)]) if found.ispkg),
]


def tracked_files() -> list[Path]:
    listed = subprocess.run(("git", "ls-files", "-z"), cwd=ROOT, capture_output=True, check=True)  # noqa: S607 - the git that made the clone
    return [ROOT / name for name in listed.stdout.decode().split("\0") if name]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.relative_to(HOST)))
def test_a_module_fits_in_one_sitting(module):
    name = str(module.relative_to(HOST))
    assert name in LONGER_MODULES or len(module.read_text().splitlines()) < MODULE_LINES


@pytest.mark.parametrize("package", PACKAGES)
def test_all_is_sorted_and_names_what_the_package_exports(package):
    module = importlib.import_module(package)
    exported = getattr(module, "__all__", [])
    assert len(exported) == len(set(exported))
    assert list(exported) == sorted(exported, key=ruff_order)
    assert [name for name in exported if not hasattr(module, name)] == []
    if package == "innkeeper":
        assert set(exported) == imported_names(Path(module.__file__)) | {"Config"}


def ruff_order(name: str) -> tuple[int, str]:
    """Constants, classes, then the rest, each by name."""
    return (0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2, name)


def imported_names(module: Path) -> set[str]:
    imports = [node for node in ast.parse(module.read_text()).body if isinstance(node, ast.ImportFrom)]
    return {alias.asname or alias.name for node in imports if node.module != "typing" for alias in node.names}


def test_the_public_face_only_re_exports_the_contract():
    imports = [
        node for node in ast.parse(Path(innkeeper.__file__).read_text()).body if isinstance(node, ast.ImportFrom)
    ]
    assert {node.module for node in imports if not node.module.startswith("innkeeper.contract")} == {"typing"}


def test_no_file_names_a_place_on_somebodys_machine():
    places = re.compile(r"/(home|Users|root|work)/\w\w")
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in tracked_files()
        if path.is_file() and path != Path(__file__)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if places.search(line)
    ]
    assert found == []
