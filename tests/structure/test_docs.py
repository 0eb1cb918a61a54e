"""Pages that are made of the code say what the code says; blocks in the pages are what they claim to be."""

import re
import tomllib
from pathlib import Path

import pytest
import reference

from innkeeper.cli import VERBS
from innkeeper.registry.discovery import RESERVED
from innkeeper.settings import load_settings

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*/README.md")))


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def test_generated_pages_are_up_to_date() -> None:
    for path, page in reference.PAGES.items():
        assert path.read_text(encoding="utf-8") == page(), f"{path.name} is stale: make docs"


def test_every_page_of_the_reference_is_generated() -> None:
    assert set((ROOT / "docs/reference").iterdir()) == set(reference.PAGES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_within_the_project_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def anchors(page: Path) -> set[str]:
    """Return what the headings of a page are linked by: lower case, without punctuation, dashes for spaces."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_a_heading_find_it(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]*)#([^)]+)\)", page.read_text(encoding="utf-8"))
    assert [
        f"{link}#{anchor}" for link, anchor in links if anchor not in anchors(page.parent / link if link else page)
    ] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_of_toml_and_python_parse(page: Path) -> None:
    for block in blocks(page, "toml"):
        tomllib.loads(block)
    for block in blocks(page, "python"):
        compile(block, page.name, "exec", flags=0x2000)  # PyCF_ALLOW_TOP_LEVEL_AWAIT


def test_settings_in_the_pages_are_settings(tmp_path: Path) -> None:
    read = [block for page in ROOT.glob("docs/**/*.md") for block in blocks(page, "toml") if "[project" not in block]
    assert read
    for block in read:
        (tmp_path / "innkeeper.toml").write_text(block, encoding="utf-8")
        load_settings(None, {}, tmp_path)


def test_the_readme_fits_a_screen() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 80


def test_no_plugin_can_be_named_like_a_verb() -> None:
    assert frozenset(VERBS) == RESERVED


NAMED_TEST = re.compile(r"`([\w/]+/test_\w+\.py)(?:::(test_\w+))?`")


def test_tests_that_a_page_names_are_there() -> None:
    named = {match for page in PAGES for match in NAMED_TEST.findall(page.read_text(encoding="utf-8"))}
    assert named
    missing = [
        f"{file}::{test}"
        for file, test in sorted(named)
        if not (path := ROOT / "tests" / file).exists() or f"def {test}" not in path.read_text(encoding="utf-8")
    ]
    assert missing == []
