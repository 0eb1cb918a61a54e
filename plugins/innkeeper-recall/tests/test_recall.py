import json
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from innkeeper import BadArguments, Caller, Message, Part

pytestmark = pytest.mark.anyio

ALONE = "[tenants.notebook]\nuse = ['recall']\n"
OF_CALLER = ALONE + "[plugins.recall]\nscope = 'caller'\n"
NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
ADA, BOB = Caller("ada"), Caller("bob")


@dataclass(frozen=True)
class Talk:
    """A session, as far as this plugin looks at one."""

    id: str = "s1"
    caller: Caller = ADA
    tenant: str = "notebook"
    context_id: str = "home"

    async def history(self, limit=None):
        return ()


def said(message_id: str, text: str, role: str = "user") -> Message:
    return Message(message_id, role, (Part(text=text),), NOON)


async def displace(house, *messages: Message, talk: Talk = Talk()):
    assert await house.hooks().on_messages_displaced(talk, messages) == ()


async def recall(house, query: str, talk: Talk = Talk(), **arguments):
    (tool,) = await house.hooks().agent_tools(talk)
    found = (await tool.run({"query": query, **arguments}, None)).data
    return [each["text"] for each in found]


async def test_the_tool_comes_with_the_first_message_that_is_kept(open_house):
    async with open_house(ALONE) as house:
        assert await house.hooks().agent_tools(Talk()) == ()
        await displace(house, said("m1", " \n\t "))
        assert await house.hooks().agent_tools(Talk()) == ()
        await displace(house, said("m2", "The bridge is closed."))
        (tool,) = await house.hooks().agent_tools(Talk())
        assert tool.name == "recall"
        limit = tool.parameters["properties"]["limit"]
        assert (limit["minimum"], limit["maximum"], limit["default"]) == (1, 20, 5)


async def test_what_is_found_says_who_said_it_when_and_how_well_it_fits(open_house):
    async with open_house(ALONE) as house:
        await displace(
            house,
            said("m1", "We booked the ferry. The ferry leaves at ten."),
            said("m2", "The bridge is closed.", "agent"),
            said("m3", "Nothing else."),
        )
        (tool,) = await house.hooks().agent_tools(Talk())
        first, second = (await tool.run({"query": "bridge or ferry booking"}, None)).data
        assert (first["role"], first["at"]) == ("user", NOON.isoformat())
        assert (second["role"], second["text"]) == ("agent", "The bridge is closed.")
        assert first["score"] > second["score"] > 0


async def test_a_message_that_is_displaced_again_is_overwritten_in_table_and_index(open_house):
    async with open_house(ALONE) as house:
        await displace(house, said("m1", "The bridge is closed."))
        await displace(house, said("m1", "The bridge is open."), said("m2", "Fine."))
        assert await recall(house, "bridge") == ["The bridge is open."]
        assert await recall(house, "closed") == []


async def test_a_message_id_of_another_session_overwrites_nothing(open_house):
    async with open_house(ALONE) as house:
        await displace(house, said("m1", "bridge of Ada"))
        await displace(house, said("m1", "bridge of Bob"), talk=Talk("s2", BOB))
        assert await recall(house, "bridge") == ["bridge of Ada"]
        assert await recall(house, "bridge", Talk("s2", BOB)) == ["bridge of Bob"]


REACH = [
    (ALONE, Talk("s1", ADA), ["one"]),
    (ALONE, Talk("s2", ADA), ["two"]),
    (OF_CALLER, Talk("s1", ADA), ["one", "two"]),
    (OF_CALLER, Talk("new", ADA), ["one", "two"]),
    (OF_CALLER, Talk("s3", BOB), ["three"]),
]


@pytest.mark.parametrize(("toml", "talk", "found"), REACH)
async def test_a_search_reaches_as_far_as_the_scope_says_and_never_to_another_caller(open_house, toml, talk, found):
    async with open_house(toml) as house:
        for text, where in {"one": Talk("s1", ADA), "two": Talk("s2", ADA), "three": Talk("s3", BOB)}.items():
            await displace(house, said("m", f"bridge {text}"), talk=where)
        assert sorted(text.split()[1] for text in await recall(house, "bridge", talk)) == sorted(found)


@pytest.mark.parametrize(
    ("toml", "talk"), [(ALONE, Talk("new", ADA)), (ALONE, Talk("s1", BOB)), (OF_CALLER, Talk("s1", BOB))]
)
async def test_there_is_no_tool_where_there_is_nothing_within_reach(open_house, toml, talk):
    async with open_house(toml) as house:
        await displace(house, said("m", "bridge"))
        assert await house.hooks().agent_tools(talk) == ()


QUERIES = [
    "",
    "   ",
    '"',
    "'",
    "' OR 1=1 --",
    '"bridge',
    "bridge*",
    "bridge AND",
    "NOT bridge",
    "NEAR(bridge closed, 2)",
    "text: bridge",
    "- : ^ { } ( ) + *",
    "^bridge",
    "{text}: bridge",
    "_",
    "\x00bridge\x00",
    "bridge\ud800",
    "🌉",
    "bridge " * 5000,
    " ".join(f"w{number}" for number in range(50_000)),
]


@pytest.mark.parametrize("query", QUERIES, ids=range(len(QUERIES)))
async def test_no_query_is_bad_syntax(open_house, query):
    async with open_house(ALONE) as house:
        await displace(house, said("m1", "The bridge is closed."))
        assert await recall(house, query) == (["The bridge is closed."] if "bridge" in query else [])


FOUND = [
    ("Die Brücke ist zu", "brucke"),
    ("booked", "BOOKING"),
    ("snake_case", "case"),
    ("Öl für Łódź", "ÖL"),
    ("a-b", "b"),
    ("don't", "don't"),
    ("AND", "and"),
    ("Straße", "STRAßE"),
]


@pytest.mark.parametrize(("text", "query"), FOUND)
async def test_words_are_found_whatever_their_case_accents_and_english_endings(open_house, text, query):
    async with open_house(ALONE) as house:
        await displace(house, said("m1", text))
        assert await recall(house, query) == [text]


async def test_texts_are_cut_and_what_comes_after_is_not_found(open_house):
    async with open_house(ALONE + "[plugins.recall]\nstored_characters = 10\n") as house:
        await displace(house, said("m1", "bridge žšč closed"))
        assert await recall(house, "bridge") == ["bridge žšč"]
        assert await recall(house, "closed") == []


async def test_as_many_are_found_as_are_asked_for(open_house):
    async with open_house(ALONE + "[plugins.recall]\ntop = 3\n") as house:
        await displace(house, *(said(f"m{number}", f"bridge {number}") for number in range(30)))
        assert len(await recall(house, "bridge")) == 3
        assert len(await recall(house, "bridge", limit=1)) == 1
        assert len(await recall(house, "bridge", limit=20)) == 20


@pytest.mark.parametrize("arguments", [{"limit": 0}, {"limit": 21}, {"limit": "many"}, {"query": None}, {"more": 1}])
async def test_arguments_out_of_range_are_refused(open_house, arguments):
    async with open_house(ALONE) as house:
        await displace(house, said("m1", "bridge"))
        with pytest.raises(BadArguments):
            await recall(house, **{"query": "bridge", **arguments})


@pytest.mark.parametrize("line", ["top = 0", "top = 21", "stored_characters = 0", "scope = 'everybody'", "tpo = 3"])
async def test_a_faulty_setting_is_a_start_fault(open_house, line):
    with pytest.raises(Exception, match=r"plugins\.recall"):
        async with open_house(f"{ALONE}[plugins.recall]\n{line}\n"):
            pass


async def test_what_is_kept_outlives_the_host(open_house):
    async with open_house(ALONE) as house:
        await displace(house, said("m1", "bridge"))
    async with open_house(ALONE) as house:
        assert await recall(house, "bridge") == ["bridge"]


async def test_an_agent_finds_what_has_left_its_own_session(open_house):
    async with open_house("[tenants.notebook]\nuse = ['recall', 'journal']\n") as house:
        assert await house.say("tools") == "No tools."
        await house.hooks().close()
        (plugin,) = [each.context for each in house.hooks().implementations if each.hook == "on_turn_event"]
        ((session,),) = await plugin.db.fetch_all("SELECT DISTINCT session FROM entries")
        await displace(house, said("m1", "The bridge is closed."), talk=Talk(session, Caller("anonymous")))
        (found,) = json.loads(await house.say('use recall {"query": "bridge"}'))
        assert found["text"] == "The bridge is closed."
        assert await house.say("tools", context="office") == "No tools."
        assert "recall" in await house.say("about")
