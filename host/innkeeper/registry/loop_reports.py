"""What an event loop itself reports: errors of tasks and callbacks that nobody waits for, plugins' among them."""

import asyncio
from typing import Any, final

from innkeeper.registry.secrets import Secrets


def keep_from_reports(loop: asyncio.AbstractEventLoop, secrets: Secrets) -> None:
    """Keep secrets out of the reports of a loop; for good, as a task may be reported long after its host has ended."""
    reporter = loop.get_exception_handler()
    if not isinstance(reporter, _Reporter):
        reporter = _Reporter(reporter)
        loop.set_exception_handler(reporter)
    reporter.secrets.append(secrets)


@final
class _Reporter:
    """Hands on to whoever reported before."""

    def __init__(self, former: Any) -> None:
        self.secrets: list[Secrets] = []
        self._former = former

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Report."""
        for secrets in self.secrets:
            error = context.get("exception")
            if error is not None and (kept := secrets.kept_from(error)) is not error:
                named = next((context[key] for key in ("task", "future", "handle") if key in context), None)
                name = named.get_name() if isinstance(named, asyncio.Task) else type(named).__name__
                context = {
                    "message": secrets.redacted(context["message"]),
                    "exception": kept,
                    "of": name,
                }  # its repr tells the error
        if self._former is None:
            loop.default_exception_handler(context)
        else:
            self._former(loop, context)
