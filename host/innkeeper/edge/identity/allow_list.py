"""The gateways that are trusted, by origin."""

from collections.abc import Iterable

from innkeeper.edge.identity.urls import Url, url_from_text


class AllowList:
    """Origins that are compared as a whole, never by their ends.

    An entry is a host with or without a scheme, and means https; where ``loopback_http`` is set, http is meant by an
    entry that says so and is on loopback.

    Raises:
        ValueError: there is no entry, or one that is no origin.
    """

    def __init__(self, entries: Iterable[str], *, loopback_http: bool = False) -> None:
        self.origins = frozenset(_origin(entry.strip(), loopback_http=loopback_http) for entry in entries)
        if not self.origins:
            raise ValueError("no gateway is named")

    def allows(self, url: Url) -> bool:
        """Tell whether the URL is at a trusted gateway."""
        return url.origin in self.origins


def _origin(entry: str, *, loopback_http: bool) -> str:
    scheme, separator, rest = entry.partition("://")
    if separator and scheme.lower() not in ("http", "https"):
        raise ValueError(f"{entry!r}: a gateway's origin begins with https://")
    try:
        url = url_from_text(f"https://{rest if separator else entry}")
        if loopback_http and scheme.lower() == "http" and separator and url.on_loopback:
            url = url_from_text(entry)
    except ValueError as error:
        raise ValueError(f"{entry!r}: {error}") from None
    if url.path != "/" or url.rest:
        raise ValueError(f"{entry!r}: an origin has no path")
    return url.origin
