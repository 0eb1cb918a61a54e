"""Push configurations at rest: whose they are, which replaces which, how many there may be, how they are read."""

import pytest

from innkeeper.contract.errors import InvalidParams, TaskNotFound
from innkeeper.ports.events import State
from innkeeper.ports.push import CONFIGS_PER_TASK, PushConfig
from innkeeper.store import open_store

pytestmark = pytest.mark.anyio

WHOLE = PushConfig("https://hooks.example/x", "p1", "tok", "Bearer", "s3cret")


@pytest.fixture
async def own(house):
    await house.admit()
    return house.store.own_tasks("hello", "alice").push_configs


def config(config_id="", url="https://hooks.example/"):
    return PushConfig(url, config_id)


async def ids(own, task_id="task-1"):
    return [each.id for each in (await own.list(task_id, after="", limit=CONFIGS_PER_TASK + 1)).configs]


async def test_a_config_is_read_as_it_was_put(own):
    assert await own.put("task-1", WHOLE) == WHOLE
    assert await own.find("task-1", "p1") == WHOLE
    assert await own.find("task-1", "p2") is None


async def test_a_config_without_an_id_has_that_of_its_task(own):
    assert (await own.put("task-1", config())).id == "task-1"
    assert await own.find("task-1", "task-1") == config("task-1")


async def test_the_same_id_replaces_and_others_stay(own):
    await own.put("task-1", config("a"))
    await own.put("task-1", WHOLE)
    await own.put("task-1", config("p1", "https://other.example/"))
    assert await ids(own) == ["a", "p1"]
    assert await own.find("task-1", "p1") == config("p1", "https://other.example/")


async def test_a_config_that_is_deleted_is_gone_and_deleting_it_again_is_nothing(own):
    await own.put("task-1", config("a"))
    await own.put("task-1", config("b"))
    for _ in range(2):
        await own.delete("task-1", "a")
    assert await ids(own) == ["b"]


async def test_a_task_has_so_many_configs_and_no_more(own, house):
    await house.admit()
    for number in range(CONFIGS_PER_TASK):
        await own.put("task-1", config(f"p{number}"))
    with pytest.raises(InvalidParams, match=str(CONFIGS_PER_TASK)):
        await own.put("task-1", config("more"))
    await own.put("task-1", config("p0", "https://other.example/"))
    await own.put("task-2", config("more"))
    await own.delete("task-1", "p0")
    await own.put("task-1", config("more"))
    assert len(await ids(own)) == CONFIGS_PER_TASK


async def test_a_list_is_read_in_pages_in_the_order_of_the_ids(own):
    for name in "cabd":
        await own.put("task-1", config(name))
    first = await own.list("task-1", after="", limit=2)
    second = await own.list("task-1", after="b", limit=2)
    assert [[each.id for each in page.configs] for page in (first, second)] == [["a", "b"], ["c", "d"]]
    assert (first.more, second.more) == (True, False)


@pytest.mark.parametrize(
    ("tenant", "caller", "task"),
    [("hello", "bob", "task-1"), ("other", "alice", "task-1"), ("hello", "alice", "task-9")],
)
async def test_of_anothers_task_there_is_nothing_to_learn_and_nothing_to_change(own, house, tenant, caller, task):
    await own.put("task-1", WHOLE)
    await house.admit(tenant="other")
    before = house.dump()
    others = house.store.own_tasks(tenant, caller).push_configs
    for ask in (
        lambda: others.put(task, config("p2")),
        lambda: others.find(task, "p1"),
        lambda: others.list(task, after="", limit=9),
        lambda: others.delete(task, "p1"),
    ):
        with pytest.raises(TaskNotFound, match=r"^Task not found$"):
            await ask()
    assert house.dump() == before


# --- with a message ---------------------------------------------------------------------------------------------------


async def test_the_config_of_a_message_is_stored_with_its_task(house):
    await house.admit(push=WHOLE)
    await house.admit(push=config())
    own = house.store.own_tasks("hello", "alice").push_configs
    assert await own.find("task-1", "p1") == WHOLE
    assert await ids(own, "task-2") == ["task-2"]


async def test_a_message_to_a_task_brings_its_config_too(own, house):
    await house.admit(task_id="task-1", push=config())
    await house.admit(task_id="task-1", push=config("", "https://other.example/"))
    assert (await own.list("task-1", after="", limit=9)).configs == (config("task-1", "https://other.example/"),)


async def test_a_message_whose_config_is_one_too_many_is_not_taken(own, house):
    for number in range(CONFIGS_PER_TASK):
        await own.put("task-1", config(f"p{number}"))
    before = house.dump()
    with pytest.raises(InvalidParams):
        await house.admit(task_id="task-1", push=config("more"))
    assert house.dump() == before


async def test_a_message_sent_again_does_not_bring_a_deleted_config_back(own, house):
    message = house.admission(push=config("p1"))
    (await house.store.admit(message, lambda _: None))
    await own.delete(message.new_task_id, "p1")
    await house.store.admit(message, lambda _: None)
    assert await ids(own, message.new_task_id) == []


async def test_configs_stay_over_a_restart_and_the_end_of_their_task(data_dir, house_class):
    async with open_store(data_dir, lambda _: None) as store:
        house = house_class(store, data_dir, [])
        await house.complete(await house.running(push=WHOLE), state=State.FAILED)
    async with open_store(data_dir, lambda _: None) as store:
        assert await store.own_tasks("hello", "alice").push_configs.find("task-1", "p1") == WHOLE


def test_secrets_are_not_in_what_a_log_would_have_of_a_config():
    assert "tok" not in repr(WHOLE)
    assert "s3cret" not in repr(WHOLE)
