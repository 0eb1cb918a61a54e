"""What is probably meant otherwise is noticed: hooks without a mark, configurations and groups of other names."""

import logging
from importlib import metadata

import pytest

from innkeeper import StartFault
from innkeeper.registry.assembly import load_registry
from innkeeper.registry.discovery import discover
from innkeeper.registry.listing import listing
from innkeeper.registry.requirements import names_in, unmet
from innkeeper.settings import load_settings

pytestmark = pytest.mark.anyio

HEAD = """
from innkeeper import Agent, hookimpl
from innkeeper import Config as Base
async def answer(turn): return "hi"
@hookimpl
def register_agents(): return Agent("helper", answer)
"""
UNMARKED = "should_handle_turn looks like a hook, and has no mark: put @hookimpl on it, or call it otherwise"
NOTED = {
    "a gate without a mark": ("async def should_handle_turn(turn): return False", UNMARKED),
    "one that wants nothing": ("def should_handle_turn(): return False", UNMARKED),
    "one nearly called so": (
        "@hookimpl\ndef capability(): ...\ndef should_handle_turns(turn): return False",
        "should_handle_turns looks like the hook should_handle_turn, and has no mark",
    ),
    "Settings": ("class Settings(Base): town: str = ''", "Settings looks like its configuration"),
    "of several words": ("class HelperConfig(Base): town: str = ''", "HelperConfig looks like its configuration"),
    "in capitals": ("class CONFIG(Base): town: str = ''", "CONFIG looks like its configuration"),
    "of the class itself": (
        "from innkeeper import Config\nclass MyConfig(Config): town: str = ''",
        "MyConfig looks like its configuration",
    ),
}
UNNOTED = {
    "a helper of that name that wants something else": "def lifespan(app): ...",
    "a helper nearly called so that wants nothing": "def capabilities(): ...",
    "a model of data": "class Answer(Base): town: str = ''",
    "a part of the configuration": (
        "class TownSettings(Base): a: int = 0\nclass Config(Base): town: TownSettings = TownSettings()"
    ),
    "what is imported": "from pydantic_settings import BaseSettings",
    "a value": "capability = 'text'",
}


@pytest.fixture
def loaded(tmp_path, surroundings):
    async def loading(toml: str = "", **options):
        (tmp_path / "innkeeper.toml").write_text(toml)
        settings = load_settings(None, {}, tmp_path)
        found = [each for dist in metadata.distributions(path=[str(tmp_path)]) for each in dist.entry_points]
        return await load_registry(settings, surroundings, entry_points=found, **options), settings

    return loading


@pytest.mark.parametrize("case", NOTED)
async def test_what_looks_like_something_is_noticed_at_start_and_listed(install, loaded, caplog, case):
    code, note = NOTED[case]
    install("helper", HEAD + code)
    registry, settings = await loaded()
    (noted,) = registry.notes["helper"]
    assert noted.startswith(note)
    assert f"plugin 'helper': {noted}" in caplog.messages
    assert listing(registry, settings)["plugins"][0]["notes"] == [noted]


@pytest.mark.parametrize("case", UNNOTED)
async def test_what_looks_like_nothing_is_not(install, loaded, case):
    install("helper", HEAD + UNNOTED[case])
    registry, _ = await loaded()
    assert registry.notes == {}


async def test_a_method_without_a_mark_is_noticed_too(install, loaded):
    code = "class Plugin:\n    @hookimpl\n    def capability(self): ...\n    def should_handle_turn(self, turn): ...\n"
    install("helper", HEAD + code + "plugin = Plugin()", entry_points="helper = helper:plugin")
    registry, _ = await loaded()
    assert registry.notes == {"helper": (UNMARKED,)}


async def test_where_nothing_is_marked_the_fault_names_what_was_probably_meant(install, loaded):
    install("helper", "def should_handle_turn(turn): ...")
    with pytest.raises(StartFault, match="nothing in it is marked with @hookimpl, should_handle_turn neither; name a"):
        await loaded()


async def test_a_table_for_a_configuration_of_another_name_is_a_fault_that_explains_itself(install, loaded):
    install("helper", HEAD + "class Knobs(Base): town: str = ''\nclass Levers(Base): town: str = ''")
    with pytest.raises(StartFault) as caught:
        await loaded("[plugins.helper]\ntown = 'Ghent'\n")
    (fault,) = caught.value.faults
    assert fault.startswith("plugin 'helper' of helper 1.0 at tenant 'helper': plugins.helper: ")
    assert fault.endswith("takes no configuration: that would be a class named Config, and it has Knobs and Levers")


async def test_what_the_distribution_lacks_is_noticed_at_start(install, loaded, caplog):
    caplog.set_level(logging.WARNING)
    install("helper", HEAD, requires=("innkeeper>=0.1", "quart<0.1", "no-such-thing>2", "x; extra == 'docs'"))
    registry, _ = await loaded()
    lacks = registry.notes["helper"]
    assert lacks[0].startswith("its distribution requires quart<0.1, and quart ")
    assert lacks[1] == "its distribution requires no-such-thing>2, which is not installed"
    assert len(lacks) == 2
    assert f"plugin 'helper': {lacks[1]}" in caplog.messages


@pytest.mark.parametrize("line", ["???", "x; foo == 'y'", "quart===zzz"])
def test_nonsense_in_requirements_is_told(line):
    assert len([*unmet([line, "pluggy"], "innkeeper")]) == 1
    assert "pluggy" in names_in([line, "pluggy"])


GROUPS = [
    "innkeeper.v^1",
    "inkeeper.plugins",
    "innkeeper.plugins",
    "Innkeeper.v1",
    "innkeeper",
    "inkeeper.v1",
    "innkeper",
]


@pytest.mark.parametrize("group", GROUPS)
async def test_a_group_close_to_ours_is_noticed(install, loaded, tmp_path, group):
    install("helper", HEAD)
    install("lost", "raise SystemExit", group=group, entry_points="one = lost\ntwo = lost")
    registry, settings = await loaded()
    note = f"lost 1.0: no host looks for one, two in the entry-point group {group!r}; did you mean 'innkeeper.v1'?"
    assert registry.notes == {"": (note,)}
    assert listing(registry, settings)["notes"] == [note]


@pytest.mark.parametrize("group", ["console_scripts", "pytest11", "gatekeeper.v1", "keeper", "flask.commands"])
async def test_groups_of_others_are_none_of_ours(install, tmp_path, group):
    install("other", group=group)
    found = discover(each for dist in metadata.distributions(path=[str(tmp_path)]) for each in dist.entry_points)
    assert (found.plugins, found.strangers) == ((), ())


async def test_a_plugin_may_have_groups_of_its_own(install, tmp_path):
    install("good", HEAD, entry_points="good = good\n[innkeeper_good.backends]\nx = good")
    found = discover(each for dist in metadata.distributions(path=[str(tmp_path)]) for each in dist.entry_points)
    assert found.strangers == ()
