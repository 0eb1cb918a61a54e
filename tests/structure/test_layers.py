"""The import contracts of pyproject.toml catch what they are there to catch."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

WRONG_IMPORTS = [
    ("contract/agent.py", "import innkeeper.ports.store", "Layers"),
    ("ports/store.py", "import asyncio", "The contract is plain data"),
    ("registry/__init__.py", "import innkeeper.edge", "Layers"),
    ("turns/engine.py", "import innkeeper.store", "Layers"),
    ("turns/engine.py", "import innkeeper.settings", "edge and turns get values, not settings"),
    ("turns/engine.py", "import a2a.types", "a2a and joserfc stay in edge"),
    ("edge/__init__.py", "import innkeeper.store", "Layers"),
    ("edge/__init__.py", "import quart", "Quart and hypercorn stay in app"),
    ("edge/__init__.py", "import pluggy", "pluggy stays in registry"),
    ("store/__init__.py", "import innkeeper.turns", "The store knows ports and contract only"),
    ("app/__init__.py", "import sqlite3", "aiosqlite and sqlite3 stay in store"),
    ("testing/backing.py", "import innkeeper.cli", "Layers"),
    ("settings/__init__.py", "import innkeeper.contract", "settings is a leaf"),
    ("edge/__init__.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import innkeeper.app", "Layers"),
    ("unplaced/__init__.py", "", "Layers"),
]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "host", tmp_path / "host", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def lint_imports(copy: Path) -> subprocess.CompletedProcess[str]:
    # The copy's folder comes first on the path of the child, before the editable install of the original.
    script = "import sys; sys.path.insert(0, 'host'); from importlinter.cli import lint_imports_command as c; c()"
    return subprocess.run(
        (sys.executable, "-c", script, "--no-cache"), cwd=copy, capture_output=True, text=True, check=False
    )


def broken_contracts(output: str) -> list[str]:
    return [line.removesuffix("BROKEN").strip() for line in output.splitlines() if line.endswith("BROKEN")]


def test_the_package_keeps_its_contracts(copy):
    done = lint_imports(copy)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(("module", "statement", "contract"), WRONG_IMPORTS)
def test_a_wrong_import_breaks_the_contract_that_forbids_it(copy, module, statement, contract):
    changed = copy / "host" / "innkeeper" / module
    changed.parent.mkdir(exist_ok=True)
    original = changed.read_text() if changed.exists() else ""
    changed.write_text(f"{original}\n{statement}\n")
    done = lint_imports(copy)
    assert done.returncode != 0
    assert any(name.startswith(contract) for name in broken_contracts(done.stdout)), done.stdout
