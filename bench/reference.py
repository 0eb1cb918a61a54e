"""What is measured against: the a2a-sdk's own server as its documentation builds it, on hypercorn, in memory.

Prints its URL as soon as connections are accepted, then serves until it is terminated.
"""

import asyncio
import socket

from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Part, Task, TaskState, TaskStatus
from hypercorn.asyncio import serve
from hypercorn.config import Config
from starlette.applications import Starlette


class Echo(AgentExecutor):
    """Submitted, working, one artifact, completed: what the host's side of the benchmark does."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        task_id, context_id = context.task_id or "", context.context_id or ""
        submitted = Task(id=task_id, context_id=context_id, status=TaskStatus(state=TaskState.TASK_STATE_SUBMITTED))
        if context.message is not None:
            submitted.history.append(context.message)
        await event_queue.enqueue_event(submitted)
        updater = TaskUpdater(event_queue, task_id, context_id)
        await updater.start_work()
        await updater.add_artifact([Part(text=context.get_user_input())], name="echo")
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise NotImplementedError


def app(url: str) -> Starlette:
    card = AgentCard(
        name="echo",
        description="Echoes.",
        version="1",
        supported_interfaces=[AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version="1.0")],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="echo", name="echo", description="Echoes.", tags=["echo"])],
    )
    handler = DefaultRequestHandler(agent_executor=Echo(), task_store=InMemoryTaskStore(), agent_card=card)
    return Starlette(routes=create_jsonrpc_routes(handler, "/"))


def main() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    config = Config()
    config.bind = [f"fd://{listener.fileno()}"]
    config.errorlog = None
    print(url, flush=True)
    asyncio.run(serve(app(url), config))  # type: ignore[arg-type] # Starlette's own ASGI types


if __name__ == "__main__":
    main()
