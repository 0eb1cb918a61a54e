"""The engine from its one way in to what is published."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import anyio
import pytest
from a2a.server.tasks import TaskUpdater
from a2a.types import a2a_pb2

from innkeeper import Agent, Ask, Caller, Part, Refuse, Turn
from innkeeper.contract.errors import InvalidParams, TaskNotCancelable, TaskNotFound, Unavailable, UnsupportedOperation

pytestmark = pytest.mark.anyio
BOB = Caller("bob")


class Scripted:
    """An agent that stops in the middle of each turn until it is told to go on."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.canceled: list[str] = []
        self.entered = asyncio.Semaphore(0)
        self.gates: dict[str, asyncio.Event] = {}

    def go(self, text: str) -> None:
        self.gates.setdefault(text, asyncio.Event()).set()

    async def __call__(self, turn: Turn) -> str | Ask:
        self.begun.append(turn.text)
        self.entered.release()
        try:
            await self.gates.setdefault(turn.text, asyncio.Event()).wait()
        except asyncio.CancelledError:
            self.canceled.append(turn.text)
            raise
        return Ask(f"{turn.text}, really?") if turn.text.startswith("ask") else f"done {turn.text}"


async def echo(turn: Turn) -> str:
    return f"{turn.text}!"


async def history(turn: Turn) -> str:
    return " / ".join(message.text for message in await turn.session.history())


async def test_a_turn_goes_from_submitted_over_working_to_completed(engine_with: Any) -> None:
    async with engine_with(Agent("t", echo)) as bench:
        task = await bench.ask("hi")
        assert (task["state"], task["text"], task["history"]) == ("completed", "hi!", ["hi"])
        assert task["message_id"] == f"{task['id']}:final"
        assert bench.states(task["id"]) == ["submitted", "working", "completed"]
        assert [event.seq for event in bench.events] == [1, 2, 3]


async def test_the_session_remembers_what_was_said_in_its_context_and_nothing_else(engine_with: Any) -> None:
    async with engine_with(Agent("t", history)) as bench:
        assert (await bench.ask("a", context_id="c"))["text"] == "a"
        assert (await bench.ask("b", context_id="c"))["text"] == "a / a / b"
        assert (await bench.ask("x", context_id="other"))["text"] == "x"
        assert (await bench.settled(await bench.say("y", context_id="c", caller=BOB), caller=BOB))["text"] == "y"


async def test_one_session_per_caller_remembers_across_contexts(engine_with: Any) -> None:
    async with engine_with(Agent("t", history, session_scope="caller")) as bench:
        await bench.ask("a", context_id="c")
        assert (await bench.ask("b", context_id="d"))["text"] == "a / a / b"


async def test_turns_of_one_session_run_one_after_the_other_in_the_order_of_arrival(engine_with: Any) -> None:
    agent = Scripted()
    async with engine_with(Agent("t", agent)) as bench:
        admitted = [await bench.say(text, context_id="c") for text in ("1", "2", "3")]
        other = await bench.say("other", context_id="d")
        await agent.entered.acquire()
        await agent.entered.acquire()
        assert agent.begun == ["1", "other"]
        for text in ("other", "3", "2", "1"):
            agent.go(text)
        tasks = [await bench.settled(each) for each in (*admitted, other)]
        assert agent.begun == ["1", "other", "2", "3"]
        assert [task["text"] for task in tasks] == ["done 1", "done 2", "done 3", "done other"]


async def test_the_same_message_again_finds_its_task_and_runs_nothing(engine_with: Any) -> None:
    agent = Scripted()
    async with engine_with(Agent("t", agent)) as bench:
        submission = bench.submission("hi")
        admitted = await asyncio.gather(
            *(bench.engine.submit(bench.tenants["t"], Caller("alice"), submission) for _ in range(20))
        )
        agent.go("hi")
        assert {each.task.id for each in admitted} == {admitted[0].task.id}
        assert (await bench.settled(admitted[0]))["text"] == "done hi"
        assert agent.begun == ["hi"]
        with pytest.raises(InvalidParams, match=submission.message_id):
            await bench.say("other", message_id=submission.message_id)


# --- how a turn ends --------------------------------------------------------------------------------------------------


async def test_a_raise_fails_the_task_without_a_word_of_it(engine_with: Any, caplog: pytest.LogCaptureFixture) -> None:
    async def boom(turn: Turn) -> str:
        raise RuntimeError("sk-secret")

    async with engine_with(Agent("t", boom)) as bench:
        task = await bench.ask("hi")
        assert task["state"] == "failed"
        assert task["text"].startswith("The agent failed (error ")
        assert "sk-secret" not in str(task)
        error_id = task["text"].split()[-1].rstrip(")")
        traces = [record for record in caplog.records if error_id in record.getMessage()]
        assert len(traces) == 1
        assert "sk-secret" in caplog.text


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError(), GeneratorExit()])
async def test_a_raise_that_is_no_exception_fails_the_task_and_nothing_else(
    engine_with: Any, error: BaseException
) -> None:
    async def boom(turn: Turn) -> str:
        if turn.text == "boom":
            raise error
        return "fine"

    async with engine_with(Agent("t", boom)) as bench:
        assert (await bench.ask("boom"))["state"] == "failed"
        assert (await bench.ask("hi"))["text"] == "fine"


async def test_a_wrong_answer_fails_the_task(engine_with: Any) -> None:
    async def lies(turn: Turn) -> Any:
        return 42

    async with engine_with(Agent("t", lies)) as bench:
        assert (await bench.ask("hi"))["state"] == "failed"


async def test_a_refusal_rejects_the_task_with_its_text(engine_with: Any) -> None:
    async def refuses(turn: Turn) -> str:
        raise Refuse("not today")

    async with engine_with(Agent("t", refuses)) as bench:
        task = await bench.ask("hi")
        assert (task["state"], task["text"]) == ("rejected", "not today")


async def test_a_turn_that_takes_too_long_fails_naming_the_limit_and_the_next_one_runs(engine_with: Any) -> None:
    agent = Scripted()
    async with engine_with(Agent("t", agent), turn_timeout=timedelta(milliseconds=20)) as bench:
        task = await bench.ask("slow", context_id="c")
        assert (task["state"], task["text"]) == ("failed", "The turn took longer than 0.02 s and was stopped")
        agent.go("next")
        assert (await bench.ask("next", context_id="c"))["text"] == "done next"
        assert agent.canceled == ["slow"]


async def test_a_question_waits_for_its_answer_in_the_same_task(engine_with: Any) -> None:
    async def asks(turn: Turn) -> str | Ask:
        said = await turn.session.history()
        return Ask("which?") if len(said) == 1 else f"so {turn.text}"

    async with engine_with(Agent("t", asks)) as bench:
        task = await bench.ask("hi")
        assert (task["state"], task["text"]) == ("input-required", "which?")
        task = await bench.ask("this", task_id=task["id"])
        assert (task["state"], task["text"], task["history"]) == ("completed", "so this", ["hi", "which?", "this"])
        with pytest.raises(UnsupportedOperation):
            await bench.say("more", task_id=task["id"])


class Asking:
    """An executor in the SDK's usual style: it looks at the task so far to know what a message answers."""

    async def execute(self, context: Any, event_queue: Any) -> None:
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        say = a2a_pb2.Part
        if context.current_task is None:
            await updater.add_artifact([say(text="draft")], artifact_id="d")
            await updater.requires_input(updater.new_agent_message([say(text="which?")]))
        else:
            seen = [part.text for message in context.current_task.history for part in message.parts]
            seen += [part.text for artifact in context.current_task.artifacts for part in artifact.parts]
            await updater.complete(updater.new_agent_message([say(text=" / ".join(seen))]))

    async def cancel(self, context: Any, event_queue: Any) -> None: ...


async def test_an_executor_is_given_its_task_when_the_answer_to_its_question_comes(engine_with: Any) -> None:
    async with engine_with(Agent("t", Asking())) as bench:
        task = await bench.ask("hi")
        assert (task["state"], task["text"]) == ("input-required", "which?")
        task = await bench.ask("this", task_id=task["id"])
        assert (task["state"], task["text"]) == ("completed", "hi / which? / this / draft")


async def test_messages_to_a_running_task_are_its_next_turns_and_the_last_one_ends_it(engine_with: Any) -> None:
    agent = Scripted()
    async with engine_with(Agent("t", agent)) as bench:
        first = await bench.say("1")
        await agent.entered.acquire()
        await bench.say("ask 2", task_id=first.task.id)
        await bench.say("3", task_id=first.task.id)
        for text in ("1", "ask 2", "3"):
            agent.go(text)
        task = await bench.settled(first)
        assert (task["state"], task["text"]) == ("completed", "done 3")
        assert task["history"] == ["1", "ask 2", "3", "done 1", "ask 2, really?"]
        assert bench.states(task["id"]) == ["submitted", *["working"] * 5, "completed"]


async def test_a_failure_before_a_waiting_message_does_not_end_the_task(engine_with: Any) -> None:
    entered, go = asyncio.Event(), asyncio.Event()

    async def fails_once(turn: Turn) -> str:
        if turn.text == "1":
            entered.set()
            await go.wait()
            raise RuntimeError
        return "recovered"

    async with engine_with(Agent("t", fails_once)) as bench:
        first = await bench.say("1")
        await entered.wait()
        await bench.say("2", task_id=first.task.id)
        go.set()
        task = await bench.settled(first)
        assert (task["state"], task["text"]) == ("completed", "recovered")


# --- gates ------------------------------------------------------------------------------------------------------------


async def test_a_declined_turn_completes_without_a_word_and_its_handler_does_not_run(
    engine_with: Any, gate: Any
) -> None:
    agent = Scripted()
    seen: list[str] = []

    def decline(history: Any) -> bool:
        seen.extend(message.text for message in history)
        return False

    async with engine_with(Agent("t", agent), gates=[gate(decline, "history")]) as bench:
        task = await bench.ask("hi")
        assert (task["state"], task["text"], task["history"]) == ("completed", "", ["hi"])
        assert bench.states(task["id"]) == ["submitted", "completed"]
        assert (seen, agent.begun) == (["hi"], [])


async def test_a_declined_answer_leaves_the_question_open(engine_with: Any, gate: Any) -> None:
    async def asks(turn: Turn) -> Ask | str:
        return Ask("which?") if turn.text == "hi" else "thanks"

    async with engine_with(Agent("t", asks), gates=[gate(lambda turn: turn.text != "psst", "turn")]) as bench:
        task = await bench.ask("hi")
        task = await bench.ask("psst", task_id=task["id"])
        assert (task["state"], task["text"]) == ("input-required", "which?")
        assert (await bench.ask("this", task_id=task["id"]))["text"] == "thanks"


# --- what is said on the way ------------------------------------------------------------------------------------------


async def test_progress_and_artifacts_are_published_in_order_under_derived_ids(engine_with: Any) -> None:
    async def works(turn: Turn) -> str:
        await turn.progress("reading", key="read")
        await turn.progress("counting")
        await turn.artifact("sum", Part(text="4"), last=False)
        await turn.artifact("sum", [Part(text="2")], append=True)
        return "done"

    async with engine_with(Agent("t", works)) as bench:
        task = await bench.ask("hi")
        assert task["artifacts"] == {"sum": "42"}
        assert bench.states(task["id"]) == ["submitted", *["working"] * 3, "completed"]
        bodies = b" ".join(event.body for event in bench.events)
        for message_id in (":read", ":0", ":final"):
            assert (task["id"] + message_id).encode() in bodies


async def test_a_generator_streams_and_its_whole_text_is_the_reply(engine_with: Any) -> None:
    async def streams(turn: Turn) -> AsyncIterator[str]:
        for word in turn.text.split():
            yield word

    async with engine_with(Agent("t", streams)) as bench:
        task = await bench.ask("a b c")
        assert (task["text"], task["artifacts"]) == ("abc", {"reply": "abc"})


async def test_a_watch_from_the_start_sees_every_event_of_the_new_task(engine_with: Any) -> None:
    async with engine_with(Agent("t", echo)) as bench:
        admitted, watch = await bench.engine.submit_and_watch(
            bench.tenants["t"], Caller("alice"), bench.submission("hi")
        )
        async with watch:
            assert watch.from_start
            assert [event.seq async for event in watch] == [1, 2, 3]
        assert bench.engine.open_watches == 0
        await bench.engine.until_settled(admitted.task.id)
        assert bench.engine.watch(admitted.task.id) is None


async def test_watching_a_message_sent_before_joins_its_turn(engine_with: Any) -> None:
    agent = Scripted()
    async with engine_with(Agent("t", agent)) as bench:
        submission = bench.submission("hi")
        await bench.engine.submit(bench.tenants["t"], Caller("alice"), submission)
        await agent.entered.acquire()
        _, watch = await bench.engine.submit_and_watch(bench.tenants["t"], Caller("alice"), submission)
        async with watch:
            assert not watch.from_start
            agent.go("hi")
            assert [str(event.state) async for event in watch][-1] == "completed"
        _, late = await bench.engine.submit_and_watch(bench.tenants["t"], Caller("alice"), submission)
        assert [event async for event in late] == []
        assert agent.begun == ["hi"]


async def test_an_agent_that_never_waits_does_not_keep_others_from_running(engine_with: Any) -> None:
    async def floods(turn: Turn) -> AsyncIterator[str]:
        for number in range(int(turn.text)):
            yield str(number % 10)

    async with engine_with(Agent("t", floods), Agent("u", echo)) as bench:
        flood = await bench.say("20000")
        quick = await bench.say("hi", tenant="u")
        await bench.engine.until_settled(quick.task.id)
        assert bench.states(flood.task.id) == ["submitted", "working"]
        task = await bench.settled(flood)
        assert len(task["text"]) == len(task["artifacts"]["reply"]) == 20000


# --- cancel -----------------------------------------------------------------------------------------------------------


async def test_canceling_ends_the_task_on_disk_and_stops_its_agent(engine_with: Any) -> None:
    agent = Scripted()
    async with engine_with(Agent("t", agent)) as bench:
        admitted = await bench.say("hi", context_id="c")
        await agent.entered.acquire()
        await bench.engine.cancel("t", Caller("alice"), admitted.task.id)
        assert (await bench.task(admitted.task.id))["state"] == "canceled"
        await bench.engine.until_settled(admitted.task.id)
        agent.go("next")
        assert (await bench.ask("next", context_id="c"))["text"] == "done next"
        assert agent.canceled == ["hi"]
        await bench.engine.cancel("t", Caller("alice"), admitted.task.id)
        assert bench.states(admitted.task.id) == ["submitted", "working", "canceled"]


async def test_canceling_withdraws_what_waits_and_it_never_runs(engine_with: Any) -> None:
    agent = Scripted()
    async with engine_with(Agent("t", agent)) as bench:
        first = await bench.say("1", context_id="c")
        second = await bench.say("2", context_id="c")
        third = await bench.say("3", context_id="c")
        await bench.say("4", task_id=second.task.id)
        await bench.engine.cancel("t", Caller("alice"), second.task.id)
        task = await bench.settled(second)
        assert (task["state"], task["history"]) == ("canceled", ["2", "4"])
        agent.go("1")
        agent.go("3")
        assert (await bench.settled(first))["state"] == (await bench.settled(third))["state"] == "completed"
        assert agent.begun == ["1", "3"]


async def test_an_agent_that_ignores_its_cancellation_is_fenced_and_left_behind(engine_with: Any) -> None:
    entered, go, spoke = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def stubborn(turn: Turn) -> str:
        if turn.text == "next":
            return "fine"
        entered.set()
        while not go.is_set():
            try:
                await go.wait()
            except asyncio.CancelledError:
                continue
        await turn.progress("still here")
        spoke.set()
        return "too late"

    async with engine_with(Agent("t", stubborn)) as bench:
        admitted = await bench.say("hi", context_id="c")
        await entered.wait()
        await bench.engine.cancel("t", Caller("alice"), admitted.task.id)
        assert (await bench.task(admitted.task.id))["state"] == "canceled"
        assert (await bench.ask("next", context_id="c"))["text"] == "fine"
        strays = bench.strays.names()
        go.set()
        assert strays == (f"agent t of plugin p at tenant t: task {admitted.task.id}",)
        await spoke.wait()
        task = await bench.task(admitted.task.id)
        assert (task["state"], task["text"]) == ("canceled", "")
        with anyio.fail_after(5):
            while bench.strays.count:
                await anyio.lowlevel.checkpoint()


async def test_only_its_owner_can_cancel_a_task_and_only_while_it_has_not_ended(engine_with: Any) -> None:
    async with engine_with(Agent("t", echo), Agent("u", echo)) as bench:
        task = await bench.ask("hi")
        for tenant, caller, task_id in (("t", BOB, task["id"]), ("u", Caller("alice"), task["id"])):
            with pytest.raises(TaskNotFound):
                await bench.engine.cancel(tenant, caller, task_id)
        with pytest.raises(TaskNotFound):
            await bench.engine.cancel("t", Caller("alice"), "no-such-task")
        with pytest.raises(TaskNotCancelable):
            await bench.engine.cancel("t", Caller("alice"), task["id"])


@pytest.mark.parametrize("yields", range(8))
async def test_cancel_and_completion_at_the_same_time_agree_on_one_end(engine_with: Any, yields: int) -> None:
    async with engine_with(Agent("t", echo)) as bench:
        for _ in range(10):
            admitted, watch = await bench.engine.submit_and_watch(
                bench.tenants["t"], Caller("alice"), bench.submission("hi")
            )
            for _ in range(yields):
                await anyio.lowlevel.checkpoint()
            try:
                await bench.engine.cancel("t", Caller("alice"), admitted.task.id)
                answer = "canceled"
            except TaskNotCancelable:
                answer = "completed"
            async with watch:
                last = [str(event.state) async for event in watch][-1]
            stored = (await bench.settled(admitted))["state"]
            assert {answer, last, stored} == {answer}
            assert sum(state in ("completed", "canceled") for state in bench.states(admitted.task.id)) == 1


# --- limits -----------------------------------------------------------------------------------------------------------


async def test_too_many_waiting_messages_are_refused_and_leave_nothing_behind(engine_with: Any) -> None:
    agent = Scripted()
    async with engine_with(Agent("t", agent), queue_per_tenant=2) as bench:
        await bench.say("1", context_id="c")
        await agent.entered.acquire()
        await bench.say("2", context_id="c")
        last = await bench.say("3", context_id="c")
        with pytest.raises(Unavailable, match="wait"):
            await bench.say("4", context_id="c")
        for text in ("1", "2", "3", "5"):
            agent.go(text)
        await bench.settled(last)
        assert (await bench.ask("5", context_id="c"))["history"] == ["5"]
        assert agent.begun == ["1", "2", "3", "5"]


async def test_too_many_waiting_in_one_conversation_leave_others_alone(engine_with: Any) -> None:
    agent = Scripted()
    async with engine_with(Agent("t", agent), queue_per_session=1) as bench:
        first = await bench.say("1", context_id="c")
        await agent.entered.acquire()
        await bench.say("2", context_id="c")
        with pytest.raises(Unavailable, match="conversation"):
            await bench.say("3", context_id="c")
        agent.go("other")
        assert (await bench.ask("other", context_id="d"))["text"] == "done other"
        await bench.engine.cancel("t", Caller("alice"), first.task.id)


async def test_no_more_turns_run_at_once_than_the_host_allows(engine_with: Any) -> None:
    agent = Scripted()
    async with engine_with(Agent("t", agent), max_concurrent_turns=2) as bench:
        admitted = [await bench.say(str(number)) for number in range(4)]
        await agent.entered.acquire()
        await agent.entered.acquire()
        assert bench.engine.running_turns == len(agent.begun) == 2
        for number in range(4):
            agent.go(str(number))
        assert [(await bench.settled(each))["state"] for each in admitted] == ["completed"] * 4


# --- agents that do not behave ----------------------------------------------------------------------------------------


async def yields_for_ever(turn: Turn) -> AsyncIterator[str]:
    while True:
        yield "x"


async def says_for_ever(turn: Turn) -> str:
    while True:
        await turn.progress("x")


class EnqueuesForEver:
    async def execute(self, context: Any, event_queue: Any) -> None:
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await updater.complete()
        while True:
            await event_queue.enqueue_event(a2a_pb2.TaskStatusUpdateEvent(task_id=context.task_id))

    async def cancel(self, context: Any, event_queue: Any) -> None: ...


async def leaves_a_task(turn: Turn) -> str:
    background.append(asyncio.create_task(says_for_ever(turn)))
    return "done"


background: list[asyncio.Task[str]] = []


@pytest.mark.parametrize("handler", [yields_for_ever, says_for_ever, EnqueuesForEver()])
@pytest.mark.parametrize("end", ["timeout", "cancel", "stop"])
async def test_an_agent_that_never_ends_and_never_waits_leaves_the_others_running(
    engine_with: Any, handler: Any, end: str
) -> None:
    limit = timedelta(milliseconds=200) if end == "timeout" else timedelta(seconds=30)
    async with engine_with(Agent("t", handler), Agent("u", echo), turn_timeout=limit) as bench:
        with anyio.fail_after(20):
            endless = await bench.say("go")
            quick = await bench.say("hi", tenant="u")
            await bench.engine.until_settled(quick.task.id)
            if end == "cancel":
                await bench.engine.cancel("t", Caller("alice"), endless.task.id)
            if end == "stop":
                await bench.engine.stop(timedelta(0), asyncio.Event())
                return
            task = await bench.settled(endless)
            expected = {"timeout": {"failed", "completed"}, "cancel": {"canceled"}}[end]
            assert task["state"] in expected
            quick = await bench.say("hi", tenant="u")
            await bench.engine.until_settled(quick.task.id)


async def test_a_task_that_an_agent_left_behind_is_not_heard_and_does_not_keep_the_loop(
    engine_with: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async with engine_with(Agent("t", leaves_a_task)) as bench:
        with anyio.fail_after(20):
            task = await bench.ask("go")
            assert (task["state"], task["text"]) == ("completed", "done")
            assert (await bench.ask("again"))["state"] == "completed"
            while "speaks on after the end of its turn" not in caplog.text:
                await anyio.lowlevel.checkpoint()
            for each in background:
                each.cancel()
            await asyncio.gather(*background, return_exceptions=True)
            background.clear()


async def test_what_the_store_refused_is_in_no_artifact(engine_with: Any) -> None:
    entered, ended = asyncio.Event(), asyncio.Event()

    async def late(turn: Turn) -> str:
        await turn.artifact("early", Part(text="early"))
        entered.set()
        try:
            await asyncio.Event().wait()
        finally:
            await turn.artifact("late", Part(text="late"))
            ended.set()
        return ""

    async with engine_with(Agent("t", late), turn_timeout=timedelta(milliseconds=50)) as bench:
        task = await bench.ask("go")
        await ended.wait()
        assert (task["state"], task["artifacts"]) == ("failed", {"early": "early"})
        assert b"late" not in b"".join(event.body for event in bench.events)


@pytest.mark.parametrize("answer", [float("nan"), {"deep": object()}])
async def test_what_json_cannot_carry_fails_the_task(engine_with: Any, answer: Any) -> None:
    async def says(turn: Turn) -> Part:
        return Part(text="hi", metadata={"x": answer}) if turn.text == "text" else Part(data=answer)

    async with engine_with(Agent("t", says)) as bench:
        assert (await bench.ask("data"))["state"] == "failed"
        assert (await bench.ask("text"))["text"] == "hi"


async def test_a_generator_is_closed_within_its_turn(engine_with: Any) -> None:
    closed: list[bool] = []

    async def streams(turn: Turn) -> AsyncIterator[Any]:
        task = asyncio.current_task()
        try:
            yield "fine"
            yield 42
        finally:
            closed.append(asyncio.current_task() is task)

    async with engine_with(Agent("t", streams)) as bench:
        assert (await bench.ask("go"))["state"] == "failed"
        assert closed == [True]


async def test_a_gate_has_no_voice_and_takes_none_from_the_agent(
    engine_with: Any, gate: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async def speaks(turn: Turn) -> bool:
        await turn.progress("I judge")
        return False

    async def streams(turn: Turn) -> AsyncIterator[str]:
        for _ in range(300):
            yield "x"

    async with engine_with(Agent("t", streams), gates=[gate(speaks, "turn")]) as bench:
        task = await bench.ask("go")
        assert task["artifacts"] == {"reply": "x" * 300}
        assert "GateSpoke" in caplog.text


@pytest.mark.parametrize("end", ["cancel", "stop"])
async def test_a_turn_that_is_being_judged_can_be_ended_without_waiting_for_its_gates(
    engine_with: Any, gate: Any, end: str
) -> None:
    asked = asyncio.Event()

    async def hangs(turn: Turn) -> None:
        if turn.text == "next":
            return
        asked.set()
        await asyncio.Event().wait()

    async with engine_with(Agent("t", echo), gates=[gate(hangs, "turn")]) as bench:
        with anyio.fail_after(3):  # the deadline of a gate is 5 s
            admitted = await bench.say("hi", context_id="c")
            await asked.wait()
            if end == "stop":
                await bench.engine.stop(timedelta(0), asyncio.Event())
                assert (await bench.task(admitted.task.id))["state"] == "submitted"
                return
            await bench.engine.cancel("t", Caller("alice"), admitted.task.id)
            assert (await bench.ask("next", context_id="c"))["text"] == "next!"
            assert (await bench.task(admitted.task.id))["state"] == "canceled"


class SaysTooMuch:
    async def execute(self, context: Any, event_queue: Any) -> None:
        for task_id in ["another"] * 1000:
            await event_queue.enqueue_event(a2a_pb2.TaskStatusUpdateEvent(task_id=task_id))
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await updater.complete()
        for _ in range(1000):
            await event_queue.enqueue_event(a2a_pb2.TaskStatusUpdateEvent(task_id=context.task_id))

    async def cancel(self, context: Any, event_queue: Any) -> None: ...


async def test_what_an_executor_says_too_much_does_not_keep_its_task_from_ending(engine_with: Any) -> None:
    async with engine_with(Agent("t", SaysTooMuch())) as bench:
        with anyio.fail_after(10):
            assert (await bench.ask("go"))["state"] == "completed"


# --- a store that fails ----------------------------------------------------------------------------------------------


async def test_a_turn_goes_on_when_the_store_takes_its_writes_again_and_its_session_after_it(
    engine_with: Any, gate: Any
) -> None:
    errors: dict[str, list[Exception]] = {
        name: [Unavailable(), Unavailable()] for name in ("claim", "begin", "end", "history")
    }
    async with engine_with(Agent("t", echo), gates=[gate(lambda: True)], errors=errors) as bench:
        with anyio.fail_after(20):
            first = await bench.say("1", context_id="c")
            second = await bench.say("2", context_id="c")
            while (await bench.view(second.task.id)).task.state != "completed":
                try:
                    await bench.engine.until_settled(second.task.id)
                except Unavailable:
                    continue
            assert [event.task_id for event in bench.events if event.state == "completed"] == [
                first.task.id,
                second.task.id,
            ]
    assert not any(errors.values())


async def test_those_who_wait_are_told_when_the_store_cannot_end_their_task(engine_with: Any) -> None:
    errors: dict[str, list[Exception]] = {"end": [Unavailable("no room")]}
    async with engine_with(Agent("t", echo), errors=errors) as bench:
        admitted = await bench.say("hi")
        with pytest.raises(Unavailable, match="no room"):
            await bench.engine.until_settled(admitted.task.id)
        assert (await bench.settled(admitted))["state"] == "completed"


@pytest.mark.parametrize("operation", ["claim", "begin", "history", "find", "end"])
async def test_a_failure_that_nobody_foresaw_fails_the_task_and_not_its_session(
    engine_with: Any, gate: Any, operation: str
) -> None:
    errors: dict[str, list[Exception]] = {operation: [RuntimeError("a bug")]}

    async def puts_out(turn: Turn) -> str:
        for _ in range(2000):
            await turn.artifact("a", Part(text="x" * 100), append=True)
        return "done"

    async with engine_with(Agent("t", puts_out), gates=[gate(lambda: True)], errors=errors) as bench:
        with anyio.fail_after(20):
            task = await bench.ask("1", context_id="c")
            assert (task["state"], "a bug" in str(task)) == ("failed", False)
            assert (await bench.ask("2", context_id="c"))["state"] == "completed"


async def test_what_an_agent_says_into_a_full_store_fails_its_task_clearly(engine_with: Any) -> None:
    async def speaks(turn: Turn) -> str:
        await turn.progress("lost")
        return "done"

    async with engine_with(Agent("t", speaks), errors={"append": [Unavailable()]}) as bench:
        task = await bench.ask("hi")
        assert (task["state"], task["text"]) == ("failed", "What the agent said could not be stored")
