"""Which extensions a request asks for, and which have been activated for it (A2A v1.0 §4.6)."""

from collections.abc import Collection
from typing import Final

from innkeeper.contract.agent import Agent
from innkeeper.contract.errors import ExtensionRequired, InvalidParams
from innkeeper.contract.extension import is_extension_uri
from innkeeper.edge.http import Exchange, RawHeaders

MOST: Final = 32
"""How many extensions a request may name."""

_NAME: Final = "A2A-Extensions"


def extensions_from_header(exchange: Exchange) -> tuple[str, ...]:
    """Read what the request asks for, each extension once, in order.

    Raises:
        InvalidParams: something else than URIs, or too many of them.
    """
    listed = [entry.strip() for value in exchange.header(_NAME.lower().encode()) for entry in value.split(",")]
    asked = tuple(dict.fromkeys(filter(None, listed)))
    if len(asked) > MOST or not all(map(is_extension_uri, asked)):
        raise InvalidParams(f"{_NAME}: at most {MOST} absolute URIs, separated by commas")
    return asked


def require_extensions(agent: Agent, asked: Collection[str]) -> None:
    """Refuse a caller that does not ask for what the agent cannot do without.

    Raises:
        ExtensionRequired: the text names what is missing.
    """
    missing = [each.uri for each in agent.extensions if each.required and each.uri not in asked]
    if missing:
        raise ExtensionRequired(f"{_NAME} must name {', '.join(missing)}")


def activated_header(activated: Collection[str]) -> RawHeaders:
    """Say what has been activated; nothing where nothing has."""
    return ((_NAME.encode(), ", ".join(activated).encode()),) if activated else ()
