"""What the pages tell a reader to do works as it is printed."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from following import ROOT, Reader, blocks, environment

PAGES = sorted((ROOT / "docs/plugins.md", *ROOT.glob("docs/tutorial/*.md"), *ROOT.glob("docs/how-to/*.md")))


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    folder = tmp_path / "work"
    folder.mkdir()
    reader = Reader(folder, environment(tmp_path))
    yield reader
    reader.leave()


@pytest.mark.timeout(180)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_reader_who_does_what_the_page_says_gets_what_it_shows(reader: Reader, page: Path) -> None:
    reader.follow(page)
    reader.stop()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_of_a_page_is_of_a_kind_that_is_run(page: Path) -> None:
    assert {language for language, _ in blocks(page)} <= {"python", "toml", "console"}
    assert "```" not in "".join(text for _, text in blocks(page))


def test_a_reader_notices_what_is_not_as_shown(reader: Reader, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```console\n$ echo one\ntwo\n```\n")
    with pytest.raises(AssertionError, match="is not"):
        reader.follow(page)
