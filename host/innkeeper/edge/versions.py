"""Which version of the protocol a request asks for (A2A v1.0 §3.6)."""

import re
from typing import Final
from urllib.parse import parse_qs

from innkeeper.contract.errors import VersionNotSupported
from innkeeper.edge.http import Exchange

_SERVED: Final = re.compile(r"1\.0(\.\d{1,9})?", re.ASCII)
_NAME: Final = "A2A-Version"


def check_version(exchange: Exchange, unversioned: str = "1.0") -> None:
    """Refuse a version that is not served; the header wins over the query parameter.

    Without either it is ``unversioned``. That may be the served one: no two share a method's name or a path.

    Raises:
        VersionNotSupported: the text names what is served.
    """
    asked = [value for value in exchange.header(b"a2a-version") if value]
    if not asked and exchange.query:
        asked = parse_qs(exchange.query.decode("latin-1")).get(_NAME, [])
    if len(asked) > 1 or not _SERVED.fullmatch((*asked, unversioned)[0]):
        raise VersionNotSupported("This version is not supported; served is 1.0")
