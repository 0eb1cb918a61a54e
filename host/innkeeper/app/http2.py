"""HTTP/2 as hypercorn speaks it, with one correction."""

import hypercorn.protocol
from h2.events import DataReceived, Event
from hypercorn.protocol.h2 import H2Protocol


class _LateData(H2Protocol):
    """Takes what a client still sends of a request that was answered already, and lets it go.

    Hypercorn 0.18 looks for the stream, finds none and ends the whole connection with every other stream on it: one
    refused upload would cut off all who share a proxy's connection.
    """

    async def _handle_events(self, events: list[Event]) -> None:
        for event in events:
            if isinstance(event, DataReceived) and event.stream_id not in self.streams:
                self.connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            else:
                await super()._handle_events([event])
        await self._flush()


def install() -> None:
    """Have hypercorn serve HTTP/2 this way, in this process; it has no setting for that."""
    vars(hypercorn.protocol)[H2Protocol.__name__] = _LateData
