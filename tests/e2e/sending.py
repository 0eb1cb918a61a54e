"""Words for talking through the a2a-sdk's client."""

import uuid
from collections.abc import Iterable

from a2a.client import Client
from a2a.types import Message, Part, Role, SendMessageConfiguration, SendMessageRequest, Task


def sending(text: str, *, context_id: str = "", return_immediately: bool = False) -> SendMessageRequest:
    """Return a request with a new message."""
    message = Message(message_id=str(uuid.uuid4()), role=Role.ROLE_USER, parts=[Part(text=text)], context_id=context_id)
    return SendMessageRequest(
        message=message, configuration=SendMessageConfiguration(return_immediately=return_immediately)
    )


async def sent(client: Client, request: SendMessageRequest) -> Task:
    """Return the task that a send without streaming answers with."""
    (response,) = [response async for response in client.send_message(request)]
    return response.task


def text_of(parts: Iterable[Part]) -> str:
    """Return the text of the parts."""
    return "".join(part.text for part in parts)
