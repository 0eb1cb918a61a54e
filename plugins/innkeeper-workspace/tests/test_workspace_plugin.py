import json

import pytest

from innkeeper import Caller, Scope
from innkeeper.testing.backing import check_backing

pytestmark = pytest.mark.anyio

ALONE = "[tenants.notebook]\nuse = ['workspace']"


async def test_it_is_a_backing_as_the_contract_describes_one(open_house):
    async with open_house(ALONE) as house:
        sessions = iter(range(1000))

        async def make():
            return await house.hooks().workspace_backing(Scope("notebook", Caller("ada"), f"s{next(sessions)}"))

        await check_backing(make)


async def test_files_outlive_the_host_and_stay_in_their_session_and_tenant(open_house):
    two = "[tenants.notebook]\nuse = ['workspace']\n[tenants.other]\nagent = 'notebook'\nuse = ['workspace']"
    async with open_house(two) as house:
        assert await house.say("write shopping milk\n eggs") == "Noted shopping."
    async with open_house(two) as house:
        assert await house.say("read shopping") == "milk\n eggs"
        assert await house.say("read shopping", context="office") == "There is no note shopping."
        assert await house.say("read shopping", tenant="other") == "There is no note shopping."


async def test_a_model_can_work_with_files(open_house):
    async with open_house(ALONE) as house:

        async def use(tool, **arguments):
            return await house.say(f"use {tool} {json.dumps(arguments)}")

        assert await use("ws_list") == "There are no files."
        assert await use("ws_read", path="a/b.md") == "There is no file a/b.md."
        assert await use("ws_write", path="a/b.md", content="žena") == "Wrote a/b.md, 5 bytes."
        assert await use("ws_write", path="c", content="") == "Wrote c, 0 bytes."
        assert await use("ws_list") == "a/\nc 0 bytes"
        assert await use("ws_list", dir="a") == "a/b.md 5 bytes"
        assert await use("ws_read", path="/a/b.md") == "žena"


@pytest.mark.parametrize("path", ["a", "a/b/c", "../a", "", "a//c"])
async def test_what_cannot_be_written_is_told_to_the_model(open_house, path):
    async with open_house(ALONE) as house:
        await house.say("write a/b text")
        told = await house.say(f'use ws_write {{"path": "{path}", "content": "x"}}')
        assert told.startswith("Error: ")
        assert await house.say("read a/b") == "text"


async def test_a_file_that_is_one_too_many_is_told_to_the_model(open_house):
    async with open_house(ALONE) as house:
        await house.say("write first x")
        for number in range(199):
            await house.say(f"write f{number} x")
        told = await house.say('use ws_write {"path": "last", "content": "x"}')
        assert told.startswith("Error: ")
        assert "200 files" in told
        assert await house.say("read last") == "There is no note last."
        assert await house.say('use ws_write {"path": "first", "content": "xy"}') == "Wrote first, 2 bytes."


async def test_the_agent_is_told_of_its_tools(open_house):
    async with open_house(ALONE) as house:
        assert [line.split(":")[0] for line in (await house.say("tools")).splitlines()] == [
            "ws_read",
            "ws_write",
            "ws_list",
        ]
        assert "ws_write" in await house.say("about")
