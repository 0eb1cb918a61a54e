"""What the author of a plugin tests it with: a host in the test's process, or a live one, and checks of the whole.

The fixtures ``host``, ``live_host``, ``send``, ``caller``, ``make_caller``, ``start_faults`` and ``fake_clock`` come
with the package: pytest finds them by itself, see ``innkeeper.testing.pytest_plugin``. Nothing here is imported before
it is used.
"""

import importlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from innkeeper.registry.charges import Charge
    from innkeeper.testing.backing import check_backing
    from innkeeper.testing.clock import FakeClock
    from innkeeper.testing.conformance import check_plugin
    from innkeeper.testing.findings import Finding, Findings
    from innkeeper.testing.host import InProcessHost
    from innkeeper.testing.live import LiveHost
    from innkeeper.testing.pending import Pending
    from innkeeper.testing.reply import Artifact, Reply
    from innkeeper.testing.samples import make_caller
    from innkeeper.testing.speaking import Send

__all__ = [
    "Artifact",
    "Charge",
    "FakeClock",
    "Finding",
    "Findings",
    "InProcessHost",
    "LiveHost",
    "Pending",
    "Reply",
    "Send",
    "check_backing",
    "check_plugin",
    "make_caller",
]

_HOMES: Final = {
    "Artifact": "testing.reply",
    "Charge": "registry.charges",
    "FakeClock": "testing.clock",
    "Finding": "testing.findings",
    "Findings": "testing.findings",
    "InProcessHost": "testing.host",
    "LiveHost": "testing.live",
    "Pending": "testing.pending",
    "Reply": "testing.reply",
    "Send": "testing.speaking",
    "check_backing": "testing.backing",
    "check_plugin": "testing.conformance",
    "make_caller": "testing.samples",
}


def __getattr__(name: str) -> object:
    """Import what is asked for: a test run that uses none of this need not wait for it."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"innkeeper.{_HOMES[name]}"), name)
