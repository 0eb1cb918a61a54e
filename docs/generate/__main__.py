"""Write the pages that are made of the code: `make docs`. A test compares what it would write with what is there."""

from reference import PAGES

for path, page in PAGES.items():
    path.write_text(page(), encoding="utf-8")
