"""From what came of an operation to the answer of a request, whatever the binding."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from innkeeper.contract.errors import Answerable, Unavailable
from innkeeper.edge import sse
from innkeeper.edge.faults import NewId, answerable
from innkeeper.edge.http import ClientGone, Exchange, Limits, RawHeaders, Refusal, Reply, unavailable
from innkeeper.edge.service import Stream


class Form(Protocol):
    """How a binding writes answers. Bodies of results are encoded response messages."""

    def result(self, body: bytes) -> Reply:
        """Return the answer with a result."""
        ...

    def event(self, body: bytes) -> bytes:
        """Return the data of an event, on one line."""
        ...

    def refusal(self, error: Answerable) -> Reply:
        """Return the answer with an error."""
        ...

    def failure(self, error: Answerable) -> bytes:
        """Return the lines of the event that ends a stream which failed."""
        ...


@dataclass(frozen=True, slots=True)
class Answers:
    """Sends answers, within the limits; ``new_id`` numbers what nobody expected."""

    limits: Limits
    new_id: NewId

    async def give(self, exchange: Exchange, form: Form, result: bytes | Stream, headers: RawHeaders) -> None:
        """Send a result, with ``headers``, or the events of a stream until it ends.

        Raises:
            Unavailable: the stream ended before its first event.
        """
        if isinstance(result, Stream):
            await sse.answer(exchange, result, self.limits, event=form.event, failure=self._failure(form))
        else:
            reply = form.result(result)
            await exchange.reply(replace(reply, headers=reply.headers + headers) if headers else reply)

    async def refuse(self, exchange: Exchange, form: Form, error: Exception) -> None:
        """Send an error. Call it where ``error`` is being handled.

        Raises:
            Refusal: the host cannot take the request now; or it is ``error``, which is no matter of the binding.
            ClientGone: nobody is there to answer.
            Exception: ``error`` itself, as the answer has begun.
        """
        if exchange.started or isinstance(error, Refusal | ClientGone):
            raise error
        if isinstance(error, Unavailable):
            raise unavailable(error.message, error.retry_after) from error
        await exchange.reply(form.refusal(answerable(error, self.new_id)))

    def _failure(self, form: Form) -> sse.Failure:
        return lambda error: form.failure(answerable(error, self.new_id))


def error_info(error: Answerable) -> Mapping[str, Any]:
    """Return the error's ``google.rpc.ErrorInfo`` (A2A v1.0 §9.5, §11.6)."""
    return {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": error.reason,
        "domain": "a2a-protocol.org",
        "metadata": {},
    }
