"""One message to any A2A agent, by the SDK's client, and its updates made readable."""

import json
from collections.abc import AsyncIterator, Generator, Iterable
from contextlib import contextmanager
from typing import Final, final
from uuid import uuid4

import httpx
from a2a.client import ClientConfig, create_client
from a2a.client.errors import AgentCardResolutionError
from a2a.types import a2a_pb2
from a2a.utils.errors import JSON_RPC_ERROR_CODE_MAP, A2AError
from google.protobuf import json_format

from innkeeper.contract.errors import InnkeeperError
from innkeeper.edge.wire import part_from_proto, state_from_proto
from innkeeper.edge.wire.bodies import json_bytes
from innkeeper.ports.events import SETTLED, State

TIMEOUT: Final = httpx.Timeout(10, read=None)
"""Ten seconds for everything but an answer, which takes as long as the agent does."""

CARD_TIMEOUT: Final = 10.0
"""Seconds; a card needs no agent."""


class CallFailed(InnkeeperError):
    """A call that did not come to an end; the text is for the one who called."""


async def call(
    url: str, text: str, *, token: str | None = None, context_id: str | None = None, task_id: str | None = None
) -> AsyncIterator[a2a_pb2.StreamResponse]:
    """Send one message to the agent whose card is at ``{url}/.well-known/agent-card.json`` and yield its updates.

    An agent that does not stream yields its task once. ``task_id`` is the task that the message answers or adds to.
    ``token`` goes to the origin of ``url`` only, wherever the card points to. A caller that does not read to the end
    closes the iterator.

    Raises:
        CallFailed: the agent cannot be reached, or refuses.
    """
    message = a2a_pb2.Message(
        message_id=str(uuid4()),
        role=a2a_pb2.ROLE_USER,
        parts=[a2a_pb2.Part(text=text)],
        context_id=context_id or "",
        task_id=task_id or "",
    )
    with _sentences(url):
        auth = _BearerAtOrigin(url, token) if token else None
        async with httpx.AsyncClient(timeout=TIMEOUT, auth=auth) as http:
            config = ClientConfig(streaming=True, httpx_client=http)
            client = await create_client(url, config, resolver_http_kwargs={"timeout": CARD_TIMEOUT})
            async for update in client.send_message(a2a_pb2.SendMessageRequest(message=message)):
                yield update


async def without_snapshot(updates: AsyncIterator[a2a_pb2.StreamResponse]) -> AsyncIterator[a2a_pb2.StreamResponse]:
    """Leave out how a task stood before the message: a task that comes first, unless it comes alone as the answer."""
    snapshot = None
    first = True
    async for update in updates:
        if first and update.HasField("task"):
            snapshot = update
        else:
            snapshot = None
            yield update
        first = False
    if snapshot is not None:
        yield snapshot


def json_line(update: a2a_pb2.StreamResponse) -> str:
    """Write an update as one line of A2A JSON."""
    return json_bytes(json_format.MessageToDict(update)).decode()


def find_state(update: a2a_pb2.StreamResponse) -> State | None:
    """Return the state that an update reports; a message in place of a task completes it."""
    if update.HasField("message"):
        return State.COMPLETED
    return state_from_proto(_status(update).state)


def find_task_id(update: a2a_pb2.StreamResponse) -> str:
    """Return the id of the task that an update is about; empty where it is about none."""
    match update.WhichOneof("payload"):
        case "task":
            return str(update.task.id)
        case "status_update" | "artifact_update" as kind:
            return str(getattr(update, kind).task_id)
    return ""


@final
class Transcript:
    """The text of a call, update by update: what ``add`` returns is printed as it is, one after the other.

    Chunks of an artifact follow each other without a break. A closing status that only repeats what was streamed is
    not printed again; one that is not "completed" says so.
    """

    def __init__(self) -> None:
        self._artifacts: dict[str, str] = {}
        self._open_line = False

    def add(self, update: a2a_pb2.StreamResponse) -> str:
        """Return what this update adds."""
        match update.WhichOneof("payload"):
            case "message":
                return self._line(_text(update.message.parts))
            case "artifact_update":
                return self._artifact(update.artifact_update.artifact, append=update.artifact_update.append)
            case _:
                told = "".join(self._artifact(artifact, append=False) for artifact in update.task.artifacts)
                return told + self._status(_status(update))

    def _artifact(self, artifact: a2a_pb2.Artifact, *, append: bool) -> str:
        text = _text(artifact.parts)
        known = self._artifacts.get(artifact.artifact_id, "") if append else ""
        self._artifacts[artifact.artifact_id] = known + text
        return self._print(text if append else self._break() + text)

    def _status(self, status: a2a_pb2.TaskStatus) -> str:
        state, text = state_from_proto(status.state), _text(status.message.parts)
        if state not in SETTLED:
            return self._line(f"… {text}") if text else ""
        if state is State.COMPLETED:
            return self._break() if not text or text in self._artifacts.values() else self._line(text)
        return self._line(f"[{state}] {text}".rstrip())

    def _line(self, text: str) -> str:
        return self._print(f"{self._break()}{text}\n")

    def _break(self) -> str:
        """Return what ends the line that chunks have left open."""
        was_open, self._open_line = self._open_line, False
        return "\n" if was_open else ""

    def _print(self, text: str) -> str:
        if text:
            self._open_line = not text.endswith("\n")
        return text


@final
class _BearerAtOrigin(httpx.Auth):
    """A token for one origin: a card may point anywhere."""

    def __init__(self, url: str, token: str) -> None:
        self._origin = _origin(httpx.URL(url))
        self._token = token

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        if _origin(request.url) == self._origin:
            request.headers["Authorization"] = f"Bearer {self._token}"
        yield request


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


@contextmanager
def _sentences(url: str) -> Generator[None]:
    """Turn whatever goes wrong in a call to ``url`` into one sentence."""
    try:
        yield
    except A2AError as error:
        raise CallFailed(_sentence(url, error)) from error
    except (httpx.InvalidURL, ValueError) as error:
        raise CallFailed(f"{url}: {error}") from error
    except (httpx.HTTPError, json_format.ParseError) as error:
        raise CallFailed(f"{url}: the answer broke off or cannot be read: {error}") from error


def _sentence(url: str, error: A2AError) -> str:
    code = JSON_RPC_ERROR_CODE_MAP.get(type(error))
    if code is not None:
        return f"{url} refuses: {error.message} (JSON-RPC error {code})"
    match error.__cause__:
        case httpx.ConnectError():
            return f"{url}: nothing answers there; is the host running?"
        case httpx.TimeoutException():
            return f"{url}: no answer in time"
        case httpx.HTTPStatusError() as answered:
            return _status_sentence(url, answered.response, of_card=isinstance(error, AgentCardResolutionError))
        case httpx.RequestError() as failed:
            return f"{url}: {failed}"
        case _:
            return f"{url}: {error.message}"


def _status_sentence(url: str, response: httpx.Response, *, of_card: bool) -> str:
    if of_card and response.status_code == 404:
        return f"{url}: there is no agent card"
    if response.status_code in (401, 403):
        return f"{url}: not without a token that is good there (HTTP {response.status_code})"
    said = " ".join(response.text.split())[:200]
    return f"{url}: HTTP {response.status_code} {said}".rstrip()


def _status(update: a2a_pb2.StreamResponse) -> a2a_pb2.TaskStatus:
    return update.task.status if update.HasField("task") else update.status_update.status


def _text(parts: Iterable[a2a_pb2.Part]) -> str:
    return "".join(map(_part_text, parts))


def _part_text(part: a2a_pb2.Part) -> str:
    match part.WhichOneof("content"):
        case "text":
            return part.text
        case "url":
            return part.url
        case "data":
            return _data_text(part)
        case _:
            return f"[{part.filename or part.media_type or 'file'}: {len(part.raw)} bytes]"


def _data_text(part: a2a_pb2.Part) -> str:
    try:
        return json.dumps(part_from_proto(part).data, ensure_ascii=False)
    except ValueError:
        return "[data that JSON cannot carry]"
