"""Agents of every kind."""

import asyncio
import contextlib
import contextvars
import os
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

from a2a.helpers import new_text_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types import TaskState

from innkeeper import Agent, Ask, Extension, Part, Provider, Refuse, Skill, Turn, hookimpl


async def echo(turn: Turn) -> str:
    return turn.text


async def stream(turn: Turn) -> AsyncIterator[str]:
    """Stream the words of the message, each with the space before it."""
    for number, word in enumerate(turn.text.split()):
        yield f" {word}" if number else word


async def flood(turn: Turn) -> AsyncIterator[str]:
    """Stream as many numbers as the message asks for, without ever awaiting anything."""
    for number in range(int(turn.text)):
        yield f"{number} "


async def slow(turn: Turn) -> str:
    await asyncio.sleep(3600)
    return turn.text


async def stubborn(turn: Turn) -> str:
    """Ignore every cancellation."""
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            continue


async def leaves(turn: Turn) -> str:
    """Exit in every place but the handler itself, and answer all the same."""
    loop = asyncio.get_running_loop()
    loop.call_soon(sys.exit, 3)
    loop.call_later(0.001, sys.exit, 4)
    task = asyncio.create_task(boom(turn))
    task.add_done_callback(lambda ended: sys.exit(str(ended.exception())))
    asyncio.run_coroutine_threadsafe(_leave(), loop)
    await asyncio.wait((task, asyncio.create_task(_leave(), context=contextvars.Context())))
    await asyncio.sleep(0.01)
    return "still here"


async def sweeps(turn: Turn) -> str:
    """Cancel every task there is, and take no notice itself."""
    try:
        for task in asyncio.all_tasks():
            task.cancel()
        await asyncio.sleep(0)
    except asyncio.CancelledError:
        pass
    return "still here"


async def _leave() -> None:
    sys.exit(5)


async def blocks(turn: Turn) -> str:
    """Keep the event loop for as many seconds as the message asks for."""
    time.sleep(float(turn.text))  # noqa: ASYNC251 - that is what it is for
    return "done"


async def asker(turn: Turn) -> str | Ask:
    """Ask for a colour, then answer with what the history holds."""
    said = [message.text for message in await turn.session.history() if message.role == "user"]
    return Ask("Which colour?") if len(said) == 1 else f"{said[0]}: {turn.text}"


async def boom(turn: Turn) -> str:
    raise RuntimeError("sk-secret of the agent")


async def refuser(turn: Turn) -> str:
    raise Refuse("Not today.")


async def artifacts(turn: Turn) -> str:
    """Put out an artifact in two pieces, with progress in between."""
    await turn.artifact("notes", Part(text="one"), last=False)
    await turn.progress("half way", key="half")
    await turn.artifact("notes", [Part(text="two"), Part(data={"words": 2})], append=True)
    return "done"


async def counter(turn: Turn) -> str:
    """Add a line to the file that COUNTER_FILE names, for each run."""
    with Path(os.environ["COUNTER_FILE"]).open("a") as file:  # noqa: ASYNC230 - one short line
        file.write(f"{turn.task_id} {turn.attempt}\n")
    return f"attempt {turn.attempt}"


async def stumbles(turn: Turn) -> str:
    """Count the run; the first attempt never ends by itself."""
    answer = await counter(turn)
    await turn.progress("begun")
    if turn.attempt == 1:
        await asyncio.Event().wait()
    return answer


async def forks(turn: Turn) -> str:
    """Leave a child behind that lives for as long as the file exists which the message names."""
    child = os.fork()
    if child == 0:
        outlive(Path(turn.text))
    return str(child)


def outlive(file: Path) -> None:
    os.close(1)  # whoever reads what the host prints waits for its end
    while file.exists():
        time.sleep(0.02)
    os._exit(0)


async def mutes(turn: Turn) -> str:
    """Close what the host could write to."""
    for stream in (sys.stdout, sys.stderr):
        stream.close()
    for number in (1, 2):
        with contextlib.suppress(OSError):
            os.close(number)
    raise RuntimeError("heard all the same")


class Executor(AgentExecutor):
    """An agent of the a2a-sdk, as its own server would run it."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        updater = TaskUpdater(event_queue, context.task_id or "", context.context_id or "")
        await updater.start_work(new_text_message("working on it"))
        await updater.add_artifact([new_text_part(context.get_user_input())], name="echo")
        await updater.complete(new_text_message("done"))

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        updater = TaskUpdater(event_queue, context.task_id or "", context.context_id or "")
        await updater.update_status(TaskState.TASK_STATE_CANCELED)


HANDLERS = {
    "artifacts": artifacts,
    "asker": asker,
    "blocks": blocks,
    "boom": boom,
    "counter": counter,
    "echo": echo,
    "executor": Executor(),
    "fails": boom,
    "flood": flood,
    "forks": forks,
    "leaves": leaves,
    "mutes": mutes,
    "sweeps": sweeps,
    "refuser": refuser,
    "slow": slow,
    "stream": stream,
    "stubborn": stubborn,
    "stumbles": stumbles,
    "waits": slow,
}


LETTERS = Agent(
    "letters",
    stream,
    name="Café ☕ 👩\u200d🚀 e\u0301",
    description='Quotes ", slashes / \\, a control \x01, line separators \u2028, and <html> & co.',
    provider=Provider("Œuvre", "https://xn--uvre-9ya.example/%C3%BC?a=1&b=2"),
    skills=(
        Skill("\ufb33", name="After emoji in UTF-16, before them in UTF-8", tags=("é", "e\u0301")),
        Skill("😀", examples=("\U0001d4b3", " ")),
    ),
)
"""Its card has what canonical forms and encoders trip over."""


NEEDS_EXTENSION = Agent(
    "needs-extension", echo, extensions=(Extension("https://extensions.example/needed/v1", required=True),)
)


@hookimpl
def register_agents() -> list[Agent]:
    return [
        LETTERS,
        NEEDS_EXTENSION,
        *(Agent(name, handler, description=f"Tests: {name}.") for name, handler in HANDLERS.items()),
    ]
