"""From installed to loaded: what is refused, naming distribution, plugin and hook."""

import sys
import threading

import pytest

from innkeeper.registry.discovery import PluginRecord
from innkeeper.registry.loading import load_plugins

pytestmark = pytest.mark.anyio


@pytest.fixture
def load(install, strays):
    """Install one plugin from its code and load it."""

    async def loading(code: str, entry_point: str = "acme", **options):
        install("acme", f"from innkeeper import Agent, Config as Base, hookimpl\n{code}")
        return await load_plugins([PluginRecord("acme", "acme", "1.0", entry_point)], strays, **options)

    return loading


@pytest.fixture
def faults_of(load):
    async def refused(code: str, entry_point: str = "acme", **options) -> list[str]:
        loaded = await load(code, entry_point, **options)
        assert loaded.plugins == ()
        assert all(str(broken).startswith("plugin 'acme' of acme 1.0: ") for broken in loaded.broken)
        return [broken.reason for broken in loaded.broken]

    return refused


GATE = "def should_handle_turn({}): ..."

REFUSED = {
    "misspelt": ("@hookimpl\ndef should_handle_turns(turn): ...", "did you mean 'should_handle_turn'?"),
    "unheard of": ("@hookimpl\ndef xyzzy(): ...", "there are register_agents, web_app"),
    "extra argument": (f"@hookimpl\n{GATE.format('turn, session')}", "no argument 'session'"),
    "default": (f"@hookimpl\n{GATE.format('turn=None')}", "defaults are never used"),
    "keyword-only": (f"@hookimpl\n{GATE.format('*, turn')}", "keyword-only"),
    "positional-only": (f"@hookimpl\n{GATE.format('turn, /')}", "positional-only"),
    "varargs": (f"@hookimpl\n{GATE.format('*args')}", "one by one"),
    "kwargs": (f"@hookimpl\n{GATE.format('**rest')}", "one by one"),
    "wrapper": ("@hookimpl\ndef should_handle_turn(turn):\n    yield", "wrappers and generators"),
    "async generator": ("@hookimpl\nasync def register_agents():\n    yield", "wrappers and generators"),
    "class": ("@hookimpl\nclass should_handle_turn: ...", "a class is no implementation"),
    "object": (
        "class Gate:\n    def __call__(self, turn): ...\nshould_handle_turn = hookimpl(Gate())",
        "Gate is no function",
    ),
    "blocking coroutine": (
        "@hookimpl(blocking=True)\nasync def should_handle_turn(turn): ...",
        "blocking=True is for plain functions",
    ),
    "pluggy's marker": (
        "import pluggy\n@pluggy.HookimplMarker('innkeeper')(hookwrapper=True)\ndef register_agents():\n    yield",
        "use innkeeper.hookimpl",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_an_implementation_is_refused_by_name_with_what_is_expected(faults_of, case):
    code, reason = REFUSED[case]
    (fault,) = await faults_of(code)
    assert reason in fault
    if "hook " in fault and "no hook" not in fault and "marker" not in fault:
        assert "(turn, history, plugin)" in fault or "(plugin)" in fault


async def test_the_options_of_wrappers_are_unknown_to_the_marker(faults_of):
    (fault,) = await faults_of("@hookimpl(wrapper=True)\ndef register_agents(): ...")
    assert "wrapper" in fault


NO_PLUGIN = {
    "class": ("class Plugin:\n    @hookimpl\n    def register_agents(self): ...", "acme:Plugin", "an instance of it"),
    "factory": ("def plugin(): ...", "acme:plugin", "the function plugin"),
    "none": ("plugin = None", "acme:plugin", "nothing in it is marked"),
    "unmarked": ("def register_agents(): ...", "acme", "nothing in it is marked"),
    "class inside": ("class Plugin:\n    @hookimpl\n    def register_agents(self): ...", "acme", "nothing in it"),
}


@pytest.mark.parametrize("case", NO_PLUGIN)
async def test_what_is_no_plugin_is_refused_with_a_hint(faults_of, case):
    code, entry_point, reason = NO_PLUGIN[case]
    (fault,) = await faults_of(code, entry_point)
    assert reason in fault
    assert "@hookimpl" in fault


UNIMPORTABLE = {
    "missing module": ("import no_such_module", "acme", "ModuleNotFoundError: No module named 'no_such_module'"),
    "exit": ("raise SystemExit(3)", "acme", "SystemExit: 3"),
    "interrupt": ("raise KeyboardInterrupt", "acme", "KeyboardInterrupt"),
    "base exception": ("class Stop(BaseException): ...\nraise Stop('now')", "acme", "Stop: now"),
    "syntax": ("def", "acme", "SyntaxError"),
    "two lines": ("raise ValueError('one\\n two')", "acme", "ValueError: one two"),
    "mute": ("class E(Exception):\n    def __str__(self): raise self\nraise E", "acme", "E: ?"),
    "missing attribute": ("", "acme:plugin", "AttributeError"),
    "nonsense": ("", "not an entry point", "raised"),
}


@pytest.mark.parametrize("case", UNIMPORTABLE)
async def test_whatever_an_import_raises_is_one_line(faults_of, case):
    code, entry_point, reason = UNIMPORTABLE[case]
    (fault,) = await faults_of(code, entry_point)
    assert reason in fault
    assert "\n" not in fault


async def test_all_faults_of_a_plugin_come_at_once(faults_of):
    faults = await faults_of("@hookimpl\ndef should_handle_turns(): ...\n@hookimpl\ndef register_agents(x=1): ...")
    assert len(faults) == 3


async def test_one_broken_plugin_is_no_matter_to_the_others(install, strays):
    install("good-one", "from innkeeper import hookimpl\n@hookimpl\ndef register_agents(): ...")
    install("bad-one", "raise SystemExit(3)")
    install("good-two", "from innkeeper import hookimpl\n@hookimpl\ndef register_agents(plugin): ...")
    names = ("bad-one", "good-one", "good-two")
    loaded = await load_plugins([PluginRecord(name, name, "1.0", name.replace("-", "_")) for name in names], strays)
    assert [plugin.name for plugin in loaded.plugins] == ["good-one", "good-two"]
    assert [(each.plugin, each.argnames) for plugin in loaded.plugins for each in plugin.hooks] == [
        ("good-one", ()),
        ("good-two", ("plugin",)),
    ]
    assert [broken.record.name for broken in loaded.broken] == ["bad-one"]


LOADED = {
    "module": ("@hookimpl\ndef should_handle_turn(turn): return True", "acme", ("turn",)),
    "instance": (
        "class Gate:\n    @hookimpl\n    def should_handle_turn(self, history): return True\nplugin = Gate()",
        "acme:plugin",
        ("history",),
    ),
    "static and class methods": (
        (
            "class Gate:\n    @staticmethod\n    @hookimpl\n    def should_handle_turn(turn): return True\n"
            "    @classmethod\n    @hookimpl\n    def register_agents(cls): ...\nplugin = Gate()"
        ),
        "acme:plugin",
        ("turn",),
    ),
    "bound method in a module": (
        "class Gate:\n    @hookimpl\n    def decide(self, turn): return True\nshould_handle_turn = Gate().decide",
        "acme",
        ("turn",),
    ),
    "decorated": (
        (
            "import functools\ndef logged(f):\n    @functools.wraps(f)\n    def wrapper(*a, **k): return f(*a, **k)\n"
            "    return wrapper\n@hookimpl\n@logged\ndef should_handle_turn(turn, plugin): return True"
        ),
        "acme",
        ("turn", "plugin"),
    ),
    "unresolvable annotation": (
        "@hookimpl\ndef should_handle_turn(turn: 'OnlyForTypeCheckers') -> bool: return True",
        "acme",
        ("turn",),
    ),
    "namespace": (
        (
            "import types\n@hookimpl\ndef should_handle_turn(): return True\n"
            "plugin = types.SimpleNamespace(should_handle_turn=should_handle_turn)"
        ),
        "acme:plugin",
        (),
    ),
}


@pytest.mark.parametrize("case", LOADED)
async def test_modules_and_objects_load_and_are_called_with_what_they_name(load, case):
    code, entry_point, arguments = LOADED[case]
    loaded = await load(code, entry_point)
    assert loaded.broken == ()
    (gate,) = [each for each in loaded.plugins[0].hooks if each.hook == "should_handle_turn"]
    assert gate.argnames == arguments
    assert gate.function(**dict.fromkeys(arguments)) is True


async def test_one_object_under_two_names_is_refused(install, strays):
    install("acme", "from innkeeper import hookimpl\n@hookimpl\ndef register_agents(): ...")
    loaded = await load_plugins([PluginRecord(name, "acme", "1.0", "acme") for name in ("one", "two")], strays)
    assert [str(broken) for broken in loaded.broken] == ["plugin 'two' of acme 1.0: acme is already the plugin 'one'"]


async def test_looking_for_hooks_runs_no_property_of_the_plugin(load):
    loaded = await load(
        (
            "class Gate:\n    @property\n    def other(self): raise SystemExit('looked at')\n"
            "    @hookimpl\n    def should_handle_turn(self): ...\nplugin = Gate()"
        ),
        "acme:plugin",
    )
    assert loaded.broken == ()


async def test_a_generator_function_may_bring_agents(load):
    assert (await load("@hookimpl\ndef register_agents():\n    yield")).broken == ()


async def test_two_hosts_in_one_process_share_no_plugins(load, strays):
    first = await load("@hookimpl\ndef register_agents(): ...")
    second = await load_plugins([PluginRecord("other-name", "acme", "1.0", "acme")], strays)
    assert [plugin.name for plugin in first.plugins + second.plugins] == ["acme", "other-name"]
    assert "acme" in sys.modules


async def test_a_raise_is_reported_with_its_place(faults_of):
    (fault,) = await faults_of("\n\nraise RuntimeError('boo')")
    assert fault.startswith("import of acme raised RuntimeError: boo (")
    assert fault.endswith("acme.py:4)")


async def test_a_module_that_is_not_there_has_no_place(faults_of):
    (fault,) = await faults_of("", "no_such_module")
    assert fault == "import of no_such_module raised ModuleNotFoundError: No module named 'no_such_module'"


HOSTILE = {
    "equal to everything": "def __eq__(self, other): return True",
    "comparable to nothing": "def __eq__(self, other): raise ValueError('no')",
    "a process that ends when compared": "def __eq__(self, other): raise SystemExit(5)",
}


@pytest.mark.parametrize("case", HOSTILE)
async def test_plugins_are_told_apart_without_asking_them(install, strays, case):
    plugin = "    @hookimpl\n    def capability(self): return 'x'\n"
    code = f"class P:\n    {HOSTILE[case]}\n    __hash__ = None\n{plugin}plugin = P()"
    install("odd", f"from innkeeper import hookimpl\n{code}")
    install("sound", "from innkeeper import hookimpl\n@hookimpl\ndef capability(): ...")
    records = [PluginRecord("odd", "odd", "1.0", "odd:plugin"), PluginRecord("sound", "sound", "1.0", "sound")]
    loaded = await load_plugins(records, strays)
    assert [each.name for each in loaded.plugins] == ["odd", "sound"]


LOOKED_AT = {
    "a Config that makes no subclasses": (
        "class Config(Base):\n    def __init_subclass__(cls, *, needed, **rest): ...",
        "TypeError",
    ),
    "a Config that ends the process": (
        "class Config(Base):\n    def __init_subclass__(cls, **rest): raise SystemExit(7)",
        "SystemExit: 7",
    ),
    "a directory that ends the process": ("def __dir__(): raise SystemExit(9)", "SystemExit: 9"),
    "an error whose words end the process": (
        "class E(Exception):\n    def __str__(self): raise SystemExit(2)\nraise E",
        "raised E: ?",
    ),
}


@pytest.mark.parametrize("case", LOOKED_AT)
async def test_looking_at_a_plugin_is_contained_like_its_import(faults_of, case):
    code, reason = LOOKED_AT[case]
    (fault,) = await faults_of(f"@hookimpl\ndef capability(): ...\n{code}")
    assert reason in fault


async def test_a_plugin_that_hangs_when_it_is_looked_at_is_left_behind(faults_of, monkeypatch):
    release = threading.Event()
    monkeypatch.setitem(sys.modules, "the_release", release)
    code = "import sys\n@hookimpl\ndef capability(): ...\ndef __dir__(): sys.modules['the_release'].wait(30); return []"
    try:
        (fault,) = await faults_of(code, deadline=0.5)
    finally:
        release.set()
    assert fault == "import of acme took longer than 0.5 s"


async def test_words_without_end_are_cut(faults_of):
    (fault,) = await faults_of("raise ValueError('x' * 10**6)")
    assert len(fault) < 800
