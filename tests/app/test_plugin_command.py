"""The commands of one plugin, without a host."""

import asyncio
import sys
from textwrap import dedent
from typing import Any

import pytest

from innkeeper.app.plugin_command import plugin_command
from innkeeper.contract.errors import StartFault
from innkeeper.contract.plugin import UnknownTenant
from innkeeper.registry.discovery import PluginRecord

RECORD = PluginRecord("tool", "tool", "1.0", "tool_of_this_test")
COMMANDS = """
import click
from innkeeper import Config as Base, hookimpl
{extra}
@hookimpl
def cli(plugin):
    group = click.Group("tool")
    group.context = plugin
    return group
"""


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Put the plugin's module on the path."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(code: str) -> None:
        (tmp_path / f"{RECORD.entry_point}.py").write_text(dedent(code))

    yield write
    sys.modules.pop(RECORD.entry_point, None)


@pytest.fixture
def faults_of(settings):
    def refused(toml: str = "", **options: Any) -> tuple[str, ...]:
        with pytest.raises(StartFault) as caught, plugin_command(RECORD, settings(toml=toml), {}, **options):
            pass
        return caught.value.faults

    return refused


def commands(extra: str = "") -> str:
    return COMMANDS.format(extra=extra)


async def stored(db: Any) -> Any:
    await db.execute("CREATE TABLE IF NOT EXISTS t (x)")
    await db.execute("INSERT INTO t VALUES (1)")
    return await db.fetch_one("SELECT count(*) FROM t")


def test_tables_are_opened_on_demand_in_one_loop_after_the_other_and_closed_at_the_end(written, settings):
    written(commands())
    with plugin_command(RECORD, settings(), {}) as group:
        at_tenant = group.context.for_tenant("hello")
        assert group.context.for_tenant("hello") is at_tenant
        assert (group.context.db, at_tenant.tenant) == (None, "hello")
        assert [asyncio.run(stored(at_tenant.db)) for _ in range(2)] == [(1,), (2,)]
    with pytest.raises(Exception, match="shutting down"):
        asyncio.run(stored(at_tenant.db))


@pytest.mark.parametrize(
    ("toml", "reached", "refused"),
    [("", "anything-well-formed", "Not Well Formed"), ("[tenants.hello]\n", "hello", "other")],
)
def test_the_tenants_of_the_settings_are_within_reach(written, settings, toml, reached, refused):
    written(commands())
    with plugin_command(RECORD, settings(toml=toml), {}) as group:
        assert group.context.for_tenant(reached).tenant == reached
        with pytest.raises(UnknownTenant):
            group.context.for_tenant(refused)


def test_the_configuration_is_that_of_the_settings(written, settings):
    written(commands("class Config(Base):\n    town: str"))
    toml = "[plugins.tool]\ntown = '${TOWN}'\n[tenants.hello.plugins.tool]\ntown = 'Bruges'\n"
    with plugin_command(RECORD, settings(toml=toml), {"TOWN": "Ghent"}) as group:
        assert group.context.config.town == "Ghent"
        assert group.context.for_tenant("hello").config.town == "Bruges"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (commands("class Config(Base):\n    town: str"), "plugins.tool.town: Field required"),
        (commands("requires = ('TOWN',)"), "requires TOWN in the environment"),
        ("from innkeeper import hookimpl\n@hookimpl\ndef capability(): pass\n", "brings no commands"),
        ("from innkeeper import hookimpl\n@hookimpl\ndef cli(): return 1\n", "answered int; expected is a click group"),
        ("from innkeeper import hookimpl\n@hookimpl\ndef cli(): raise SystemExit(3)\n", "raised SystemExit: 3"),
        ("raise ValueError('bad day')", "bad day"),
    ],
)
def test_what_is_wrong_is_one_line_that_names_the_plugin(written, faults_of, caplog, code, words):
    written(code)
    (fault,) = faults_of()
    assert "plugin 'tool'" in fault
    assert words in fault
    assert caplog.records == []


def test_an_import_that_hangs_is_given_up(written, faults_of):
    written("import threading\nthreading.Event().wait(5)\n")
    (fault,) = faults_of(import_seconds=0.05)
    assert "took longer than 0.05 s" in fault
