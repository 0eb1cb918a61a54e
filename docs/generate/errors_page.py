"""The page of errors: what callers are told, and what operators are."""

import inspect
from collections.abc import Iterator
from typing import Final

from docstrings import MADE, markdown

from innkeeper.contract import errors
from innkeeper.contract.errors import Answerable

HEAD: Final = f"""\
# Errors

{MADE}

## What callers are told

A request that cannot be served is answered with one of these. JSON-RPC carries the code, and in `data` an `ErrorInfo`
with the reason; a `google.rpc.Status` carries the gRPC status. The HTTP status is that of the REST binding; over
JSON-RPC it is 200, but for `Unavailable`, which is 503 with `Retry-After` everywhere. A message that names a field or a
limit takes the place of the text shown here.

| error | JSON-RPC | HTTP | gRPC | reason | text |
|---|---|---|---|---|---|
"""

TAIL: Final = """
## What plugins meet

Everything that the host raises on purpose is an `InnkeeperError`. A plugin meets `DatabaseError` with its kinds, and
`UnknownTenant`, both explained with the [types](types.md), and `Unavailable`, when disk or host do not allow something
now. Bugs of a plugin, such as a text where a number belongs, are met by `TypeError` and `ValueError`.

## When an agent fails

Whatever a handler raises, but `Refuse`, ends its task as `failed`. The caller is told an error id and nothing else; the
log has the same id with the traceback. The same goes for a hook whose fault fails the turn: see the
[hooks](hooks.md).

## When the host does not start

What is wrong with settings, plugins, keys or data is a start fault. The host collects all of them, prints each on a
line of its own to stderr, listens to nothing and exits with 2. A fault of a plugin names the plugin, its distribution
and the reason; one of a setting names the setting, its value as it is written, and the reason. Nothing of a secret is
printed. `innkeeper serve --safe-mode` starts without any plugin.
"""


def errors_page() -> str:
    """Return the page of errors, in the order of the module that defines them."""
    answers = list(_answers())
    rows = [
        f"| `{each.__name__}` | {each.code} | {each.status} | `{each.grpc_status}` | `{each.reason}` | {each.default} |"
        for each in answers
    ]
    meanings = [f"- `{each.__name__}`: {' '.join(markdown(inspect.getdoc(each)).split())}" for each in answers]
    return HEAD + "\n".join((*rows, "", *meanings, "")) + TAIL


def _answers() -> Iterator[type[Answerable]]:
    for value in vars(errors).values():
        if isinstance(value, type) and issubclass(value, Answerable):
            yield value
