"""Foreign code is contained: it ends, is stopped by one cancel, or is left behind by name."""

import asyncio
import gc
import threading

import anyio
import pytest

from innkeeper.registry.foreign import (
    Finished,
    Foreign,
    ForeignExit,
    Raised,
    TimedOut,
    run_foreign,
    run_in_thread,
)

pytestmark = pytest.mark.anyio
SOON = 0.01


@pytest.fixture
def run(strays):
    """Run foreign code with a short deadline and grace."""

    async def running(work, deadline=5.0):
        return await run_foreign(work, deadline=deadline, grace=SOON, name="guest", strays=strays)

    return running


class Guest:
    """Foreign code that counts its cancellations and ignores them until it is released."""

    def __init__(self):
        self.cancels = 0
        self.begun = asyncio.Event()
        self.refused = asyncio.Event()
        self.released = asyncio.Event()

    async def stay(self):
        self.begun.set()
        while not self.released.is_set():
            try:
                await self.released.wait()
            except asyncio.CancelledError:
                self.cancels += 1
                self.refused.set()
        return "left"


async def returns():
    await asyncio.sleep(0)
    return 7


async def raises(error):
    await asyncio.sleep(0)
    raise error


def raises_now(error):
    raise error


async def cancels_itself():
    asyncio.current_task().cancel()
    await asyncio.sleep(0)


async def test_what_the_code_returns_is_its_outcome(run):
    assert await run(returns) == Finished(7)
    assert await run(lambda: 7) == Finished(7)
    assert await run(lambda: None) == Finished(None)


ERRORS = [
    ValueError("x"),
    SystemExit(3),
    KeyboardInterrupt(),
    asyncio.CancelledError(),
    GeneratorExit(),
    StopIteration(),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("when", ["now", "later"])
async def test_a_raise_of_any_kind_is_contained(run, error, when):
    outcome = await run((lambda: raises_now(error)) if when == "now" else (lambda: raises(error)))
    assert isinstance(outcome, Raised)
    if not (when == "later" and isinstance(error, StopIteration)):  # which Python makes a RuntimeError of
        assert outcome.error is error


async def test_code_that_cancels_itself_is_contained(run):
    assert isinstance((await run(cancels_itself)).error, asyncio.CancelledError)


async def test_code_that_hangs_is_cancelled_and_no_stray(run, strays):
    assert await run(asyncio.Event().wait, SOON) == TimedOut(SOON, left_behind=False)
    assert strays.count == 0


async def test_code_that_answers_to_its_cancel_was_too_late_all_the_same(run):
    async def late():
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "late"

    assert await run(late, SOON) == TimedOut(SOON, left_behind=False)


async def test_code_that_ignores_its_one_cancel_is_left_behind_until_it_ends(run, strays, all_gone):
    guest = Guest()
    assert await run(guest.stay, SOON) == TimedOut(SOON, left_behind=True)
    assert (strays.names(), strays.count, guest.cancels) == (("guest",), 1, 1)
    gc.collect()  # the list of strays holds the only reference
    guest.released.set()
    await all_gone()
    assert (strays.names(), guest.cancels) == ((), 1)


async def test_a_stray_that_ends_in_a_raise_makes_no_noise(strays):
    failing = asyncio.ensure_future(raises(ValueError("nobody asked")))
    strays.leave(failing, "guest")
    await asyncio.wait([failing])
    await asyncio.sleep(0)
    assert strays.count == 0
    del failing
    gc.collect()  # asyncio would complain here, and warnings are errors


async def test_the_callers_own_cancellation_stops_the_code_and_goes_on(strays, all_gone):
    guest = Guest()
    caller = asyncio.create_task(run_foreign(guest.stay, deadline=60, grace=SOON, name="guest", strays=strays))
    await guest.begun.wait()
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert (guest.cancels, strays.names()) == (1, ("guest",))
    guest.released.set()
    await all_gone()


async def test_a_cancel_scope_around_the_caller_still_cancels_the_code_once(strays, all_gone):
    guest = Guest()
    with anyio.move_on_after(SOON) as scope:
        await run_foreign(guest.stay, deadline=60, grace=5 * SOON, name="guest", strays=strays)
    assert scope.cancelled_caught
    assert (guest.cancels, strays.names()) == (1, ("guest",))
    guest.released.set()
    await all_gone()


async def test_a_cancel_scope_around_the_caller_grants_the_code_its_grace(strays):
    tidied = []

    async def tidies():
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(SOON)
            tidied.append(True)

    with anyio.move_on_after(SOON):
        await run_foreign(tidies, deadline=60, grace=60, name="guest", strays=strays)
    assert (tidied, strays.count) == ([True], 0)


async def test_two_who_stop_it_at_the_same_time_cancel_it_once(strays, all_gone):
    guest = Guest()
    foreign = Foreign(guest.stay, name="guest", strays=strays)
    await guest.begun.wait()
    first = asyncio.create_task(foreign.stop(60))
    await guest.refused.wait()
    await foreign.stop(SOON)
    assert (guest.cancels, strays.count) == (1, 1)
    guest.released.set()
    await first
    await all_gone()


async def test_stopping_twice_cancels_once_and_does_not_wait_again(strays):
    guest = Guest()
    foreign = Foreign(guest.stay, name="guest", strays=strays)
    await guest.begun.wait()
    await foreign.stop(SOON)
    async with asyncio.timeout(5):
        await foreign.stop(3600)
    assert (guest.cancels, foreign.left_behind, strays.count) == (1, True, 1)
    guest.released.set()
    await foreign.task
    assert foreign.result() == "left"


@pytest.mark.parametrize("work", [returns, lambda: 7, lambda: returns()], ids=["coroutine", "plain", "awaitable"])  # noqa: PLW0108 - an awaitable from a plain function
async def test_a_function_of_any_kind_is_work(strays, work):
    foreign = Foreign(work, name="guest", strays=strays)
    assert await foreign.wait(None)
    assert foreign.finished
    assert foreign.result() == 7


async def test_an_awaitable_is_work(strays):
    foreign = Foreign(returns(), name="guest", strays=strays)
    assert await foreign.wait(None)
    assert foreign.result() == 7


async def test_waiting_leaves_the_code_alone(strays):
    guest = Guest()
    foreign = Foreign(guest.stay, name="guest", strays=strays)
    assert not await foreign.wait(SOON)
    with pytest.raises(asyncio.InvalidStateError, match="guest"):
        foreign.result()
    guest.released.set()
    assert await foreign.wait(5)
    assert guest.cancels == 0


async def test_a_coroutine_that_is_stopped_before_it_begins_is_closed(strays):
    foreign = Foreign(returns(), name="guest", strays=strays)
    await foreign.stop(SOON)
    assert not foreign.finished
    with pytest.raises(ForeignExit):
        foreign.result()
    gc.collect()  # an unawaited coroutine would complain here, and warnings are errors


@pytest.mark.parametrize(
    ("error", "raised"),
    [(ValueError("x"), ValueError), (SystemExit(3), ForeignExit), (asyncio.CancelledError(), ForeignExit)],
)
async def test_a_result_never_ends_whoever_asks_for_it(strays, error, raised):
    foreign = Foreign(raises(error), name="guest", strays=strays)
    await foreign.wait(None)
    with pytest.raises(raised):
        foreign.result()


async def test_a_blocking_function_runs_in_a_thread_of_its_own(run, strays):
    here = threading.get_ident()
    outcome = await run(lambda: run_in_thread(threading.get_ident, name="guest", strays=strays))
    assert isinstance(outcome, Finished)
    assert outcome.value != here


async def test_a_thread_has_the_name_of_whose_code_it_runs_for_as_long_as_it_does(run, strays):
    outcome = await run(lambda: run_in_thread(threading.current_thread, name="hook of guest", strays=strays))
    inside = await run(lambda: run_in_thread(lambda: threading.current_thread().name, name="guest", strays=strays))
    assert outcome.value.name != "hook of guest"
    assert inside.value == "guest"


@pytest.mark.parametrize(
    "error", [ValueError(), SystemExit(), asyncio.CancelledError()], ids=lambda e: type(e).__name__
)
async def test_a_raise_in_a_thread_is_contained(run, strays, error):
    outcome = await run(lambda: run_in_thread(lambda: raises_now(error), name="guest", strays=strays))
    assert isinstance(outcome, Raised)
    await asyncio.sleep(0)
    assert strays.count == 0


async def test_a_thread_past_its_deadline_is_abandoned_and_counted_until_it_ends(strays, all_gone):
    begun, release = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def blocks():
        loop.call_soon_threadsafe(begun.set)
        release.wait()

    foreign = Foreign(lambda: run_in_thread(blocks, name="guest", strays=strays), name="guest", strays=strays)
    try:
        await begun.wait()
        await foreign.stop(SOON)
        assert foreign.task.done()
        assert strays.names() == ("guest",)
    finally:
        release.set()
    await all_gone()


async def test_a_thread_that_was_not_free_in_time_does_not_run_the_code_later(run, strays):
    ran, room = threading.Event(), strays.rooms.setdefault("guest", anyio.Semaphore(1))
    async with room:
        outcome = await run(lambda: run_in_thread(ran.set, name="guest", strays=strays, owner="guest"), SOON)
        other = await run(lambda: run_in_thread(lambda: 7, name="host", strays=strays, owner="another"), 5)
    assert other == Finished(7)
    assert outcome == TimedOut(SOON, left_behind=False)
    assert strays.count == 0
    assert not ran.is_set()


async def test_a_thread_that_picks_the_code_up_just_as_it_is_abandoned_does_not_run_it(strays, monkeypatch):
    picked_up = []

    async def canceled_meanwhile(function, **_):
        picked_up.append(function)
        raise asyncio.CancelledError

    monkeypatch.setattr(anyio.to_thread, "run_sync", canceled_meanwhile)
    ran = threading.Event()
    with pytest.raises(asyncio.CancelledError):
        await run_in_thread(ran.set, name="guest", strays=strays)
    with pytest.raises(RuntimeError, match="abandoned"):
        picked_up[0]()
    assert (ran.is_set(), strays.count) == (False, 0)
