"""Texts of others as they may be printed."""


def printable(text: str) -> str:
    """Return a text in which nothing steers a terminal."""
    return text if text.isprintable() else "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)
