"""Rows of text for people."""

from collections.abc import Iterator, Sequence


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Give each row as a line, with its cells below those of the row before; all rows are of one length."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
