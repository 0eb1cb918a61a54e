import json
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from innkeeper import BadArguments, Message, Part
from innkeeper.testing import check_plugin
from innkeeper_recall import agent_tools

pytestmark = pytest.mark.innkeeper(plugins=["recall"])

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def configured(**config):
    return pytest.mark.innkeeper(settings={"plugins": {"recall": config}})


def said(message_id: str, text: str, role: str = "user") -> Message:
    return Message(message_id, role, (Part(text=text),), NOON)


@pytest.fixture
def displace(host):
    """Let messages leave a context: "home" of the caller unless another is named."""

    def displace(*messages, context="home", **who):
        assert host.displace(messages, context=context, **who).result() == ()

    return displace


@pytest.fixture
def recall(host):
    """Use the tool in a context, and return the texts that are found."""

    def recall(query, context="home", caller=None, **arguments):
        found = host.use("recall", {"query": query, **arguments}, context=context, caller=caller).result()
        return [each["text"] for each in found.data]

    return recall


def test_the_tool_comes_with_the_first_message_that_is_kept(host, displace):
    def tools():
        return host.tools(context="home").result()

    assert tools() == {}
    displace(" \n\t ")
    assert tools() == {}
    displace("The bridge is closed.")
    assert list(tools()) == ["recall"]
    limit = tools()["recall"].parameters["properties"]["limit"]
    assert (limit["minimum"], limit["maximum"], limit["default"]) == (1, 20, 5)


def test_what_is_found_says_who_said_it_when_and_how_well_it_fits(host, displace):
    displace(
        said("m1", "We booked the ferry. The ferry leaves at ten."),
        said("m2", "The bridge is closed.", "agent"),
        said("m3", "Nothing else."),
    )
    first, second = host.use("recall", {"query": "bridge or ferry booking"}, context="home").result().data
    assert (first["role"], first["at"]) == ("user", NOON.isoformat())
    assert (second["role"], second["text"]) == ("agent", "The bridge is closed.")
    assert first["score"] > second["score"] > 0


def test_a_message_that_is_displaced_again_is_overwritten_in_table_and_index(displace, recall):
    displace(said("m1", "The bridge is closed."))
    displace(said("m1", "The bridge is open."), said("m2", "Fine."))
    assert recall("bridge") == ["The bridge is open."]
    assert recall("closed") == []


def test_a_message_id_of_another_session_overwrites_nothing(displace, recall, make_caller):
    displace(said("m1", "bridge of Alice"))
    displace(said("m1", "bridge of Bob"), caller=make_caller("bob"))
    assert recall("bridge") == ["bridge of Alice"]
    assert recall("bridge", caller=make_caller("bob")) == ["bridge of Bob"]


@pytest.fixture
def reached(host, displace, recall, make_caller):
    """Say "one" and "two" in contexts of Alice's, "three" in one of Bob's; return what is found from a context."""
    for text, context, key in (("one", "c1", "alice"), ("two", "c2", "alice"), ("three", "c3", "bob")):
        displace(said("m", f"bridge {text}"), context=context, caller=make_caller(key))

    def reached(context, key):
        who = {"context": context, "caller": make_caller(key)}
        if not host.tools(**who).result():
            return "no tool"
        return sorted(text.split()[1] for text in recall("bridge", **who))

    return reached


def test_a_search_stays_in_its_session(reached):
    assert reached("c1", "alice") == ["one"]
    assert reached("c2", "alice") == ["two"]
    assert reached("new", "alice") == "no tool"
    assert reached("c1", "bob") == "no tool"


@configured(scope="caller")
def test_a_search_reaches_every_session_of_the_caller_and_never_another_caller(reached):
    assert reached("c1", "alice") == ["one", "two"]
    assert reached("new", "alice") == ["one", "two"]
    assert reached("c3", "bob") == ["three"]
    assert reached("c1", "carol") == "no tool"


def test_whoever_knows_the_id_of_a_session_finds_nothing_of_another_caller(host, displace, make_caller):
    host.send("hello", context="home").result()
    displace("bridge")
    for key, tools in (("alice", 1), ("bob", 0)):
        session = SimpleNamespace(id=host.events[0].session_id, caller=make_caller(key))
        assert len(host.run(agent_tools, session, host.plugin("recall")).result()) == tools


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


def test_no_query_is_bad_syntax(displace, recall):
    displace("The bridge is closed.")
    for query in QUERIES:
        assert recall(query) == (["The bridge is closed."] if "bridge" in query else [])


FOUND = {
    "Die Brücke ist zu": "brucke",
    "booked": "BOOKING",
    "snake_case": "case",
    "Öl für Łódź": "ÖL",
    "a-b": "b",
    "don't": "don't",
    "AND": "and",
    "Straße": "STRAßE",
}


def test_words_are_found_whatever_their_case_accents_and_english_endings(displace, recall):
    for text, query in FOUND.items():
        displace(text, context=text)
        assert recall(query, context=text) == [text]


@configured(stored_characters=10)
def test_texts_are_cut_and_what_comes_after_is_not_found(displace, recall):
    displace("bridge žšč closed")
    assert recall("bridge") == ["bridge žšč"]
    assert recall("closed") == []


@configured(top=3)
def test_as_many_are_found_as_are_asked_for(displace, recall):
    displace(*(f"bridge {number}" for number in range(30)))
    assert len(recall("bridge")) == 3
    assert len(recall("bridge", limit=1)) == 1
    assert len(recall("bridge", limit=20)) == 20


def test_arguments_out_of_range_are_refused(displace, recall):
    displace("bridge")
    for wrong in ({"limit": 0}, {"limit": 21}, {"limit": "many"}, {"query": None}, {"more": 1}):
        with pytest.raises(BadArguments):
            recall(**{"query": "bridge", **wrong})


def test_a_faulty_setting_is_a_start_fault(start_faults):
    for wrong in ({"top": 0}, {"top": 21}, {"stored_characters": 0}, {"scope": "everybody"}, {"tpo": 3}):
        (fault,) = start_faults(settings={"plugins": {"recall": wrong}})
        assert "plugins.recall" in fault


def test_what_is_kept_outlives_the_host(host, displace, recall):
    displace("bridge")
    host.restart().result()
    assert recall("bridge") == ["bridge"]


@pytest.mark.innkeeper(plugins=["notebook", "recall"])
def test_an_agent_finds_what_has_left_its_own_session(host, displace):
    def say(text, context="home"):
        return host.send(text, context=context).result().text

    assert say("tools") == "No tools."
    displace("The bridge is closed.")
    (found,) = json.loads(say('use recall {"query": "bridge"}'))
    assert found["text"] == "The bridge is closed."
    assert say("tools", context="office") == "No tools."
    assert "recall" in say("about")


def test_it_is_a_plugin_in_every_way():
    check_plugin("recall").raise_if_any()
