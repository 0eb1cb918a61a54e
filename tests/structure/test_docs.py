"""Pages that are made of the code say what the code says; blocks in the pages are what they claim to be."""

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest

from innkeeper.cli import VERBS
from innkeeper.contract.hooks import HOOKS
from innkeeper.registry.discovery import RESERVED
from innkeeper.settings import load_settings

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("examples/*/README.md")))


def generated() -> dict[Path, str]:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs/generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {path: page() for path, page in module.PAGES.items()}


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def test_generated_pages_are_up_to_date() -> None:
    for path, page in generated().items():
        assert path.read_text(encoding="utf-8") == page, f"{path.name} is stale: make docs"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_within_the_project_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_of_toml_and_python_parse(page: Path) -> None:
    for block in blocks(page, "toml"):
        tomllib.loads(block)
    for block in blocks(page, "python"):
        compile(block, page.name, "exec", flags=0x2000)  # PyCF_ALLOW_TOP_LEVEL_AWAIT


def test_settings_in_the_pages_are_settings(tmp_path: Path) -> None:
    read = [block for page in ROOT.glob("docs/*.md") for block in blocks(page, "toml") if "[project" not in block]
    assert read
    for block in read:
        (tmp_path / "innkeeper.toml").write_text(block, encoding="utf-8")
        load_settings(None, {}, tmp_path)


def test_every_hook_is_on_the_page_of_plugins_and_no_other() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ", (ROOT / "docs/plugins.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert [row for row in rows if row in HOOKS or row.startswith(("on_", "should_", "register_"))] == list(HOOKS)


def test_the_readme_fits_a_screen() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 80


def test_no_plugin_can_be_named_like_a_verb() -> None:
    assert frozenset(VERBS) == RESERVED
