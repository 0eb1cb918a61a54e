"""A plugin's configuration: tables over one another, expanded, validated, and never shown with its secrets."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

from innkeeper.registry.config import closed, source_from_settings, validated
from innkeeper.settings import load_settings


class Inner(BaseModel):
    depth: int = 0
    name: str = ""


class Shape(BaseModel):
    mention: str = "@bot"
    limit: int = 3
    names: list[str] = []
    inner: Inner = Inner()
    token: SecretStr = SecretStr("")
    renamed: str = Field(default="", alias="other-name")

    @field_validator("mention")
    @classmethod
    def starts_with_at(cls, value: str) -> str:
        if not value.startswith("@"):
            raise ValueError(f"{value} does not start with @")
        return value


ENVIRON = {"HANDLE": "@ghent", "SECRET": "s3cr3t", "BAD": "hunter2", "EMPTY": "", "SHORT": "in"}


@pytest.fixture
def config_of(tmp_path: Path):
    """Return config and faults of the plugin ``acme`` at the tenant ``support`` for settings given as TOML."""

    def configured(toml: str, kind: type[BaseModel] | None = Shape, tenant: str | None = "support") -> tuple[Any, Any]:
        (tmp_path / "innkeeper.toml").write_text(toml)
        source = source_from_settings(load_settings(None, ENVIRON, tmp_path), "acme", tenant)
        return validated(kind and closed(kind), source, ENVIRON)

    return configured


def test_without_tables_the_defaults_hold(config_of):
    config, faults = config_of("")
    assert (config.mention, config.limit, faults) == ("@bot", 3, ())
    assert isinstance(config, Shape)


def test_the_tenants_table_is_over_the_hosts_and_tables_within_are_joined(config_of):
    toml = (
        "[plugins.acme]\nmention = '@host'\nlimit = 7\nnames = ['a', 'b']\ninner = {depth = 1, name = 'host'}\n"
        "[tenants.support.plugins.acme]\nmention = '@support'\nnames = ['c']\ninner = {depth = 2}\n"
    )
    config, faults = config_of(toml)
    assert faults == ()
    assert (config.mention, config.limit, config.names) == ("@support", 7, ["c"])
    assert (config.inner.depth, config.inner.name) == (2, "host")
    at_host, _ = config_of(toml, tenant=None)
    assert (at_host.mention, at_host.inner.depth) == ("@host", 1)


def test_references_to_the_environment_are_replaced_everywhere_in_strings(config_of):
    config, faults = config_of(
        "[plugins.acme]\nmention = '${HANDLE}'\nnames = ['x${HANDLE}y', '$${HANDLE}', '${EMPTY}']\n"
        "inner = {name = '${HANDLE}'}\nother-name = '${SECRET}'"
    )
    assert faults == ()
    assert (config.mention, config.names) == ("@ghent", ["x@ghenty", "${HANDLE}", ""])
    assert (config.inner.name, config.renamed) == ("@ghent", "s3cr3t")


HOST, TENANT = "[plugins.acme]\n", "[tenants.support.plugins.acme]\n"

FAULTS = {
    "unknown key": (HOST + "mentoin = '@x'", "plugins.acme.mentoin: unknown key; did you mean mention?"),
    "unknown key at the tenant": (
        TENANT + "zzz = 1",
        "tenants.support.plugins.acme.zzz: unknown key; known are inner, limit, mention, names, other-name, renamed",
    ),
    "wrong type": (HOST + "limit = 'many'", "plugins.acme.limit = 'many': Input should be a valid integer"),
    "wrong type within": (TENANT + "inner = {depth = 'x'}", "tenants.support.plugins.acme.inner.depth = 'x': "),
    "wrong element": (HOST + "names = ['a', 3]", "plugins.acme.names[1] = 3: Input should be a valid string"),
    "the author's own check": (HOST + "mention = 'bot'", "plugins.acme.mention = 'bot': bot does not start with @"),
    "a reference that is not set": (HOST + "mention = '${NOWHERE}'", "plugins.acme: environment NOWHERE is not set"),
    "a value from the environment": (
        HOST + "mention = '${BAD}'",
        "plugins.acme.mention = '${BAD}': the plugin refuses the value",
    ),
    "a secret of the wrong type": (HOST + "token = 12345", "plugins.acme.token = (not shown): "),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_fault_names_its_place_and_what_is_written_there(config_of, case):
    toml, expected = FAULTS[case]
    config, faults = config_of(toml)
    assert config is None
    (fault,) = faults
    assert fault.startswith(expected)
    assert "hunter2" not in fault
    assert "12345" not in fault


def test_all_faults_come_at_once(config_of):
    _, faults = config_of(HOST + "mention = 'bot'\nlimit = 'x'\nmentoin = 1")
    assert len(faults) == 3


def test_a_missing_value_names_where_it_could_stand(config_of):
    class Needs(BaseModel):
        key: str

    assert config_of("", Needs)[1] == ("tenants.support.plugins.acme.key: Field required",) or config_of("", Needs)[
        1
    ] == ("plugins.acme.key: Field required",)


def test_a_table_for_a_plugin_without_configuration_is_a_fault(config_of):
    assert config_of(HOST + "x = 1", None) == (None, ("plugins.acme: this plugin takes no configuration",))
    assert config_of("", None) == (None, ())


def test_a_validator_that_raises_anything_is_a_fault(config_of):
    class Odd(BaseModel):
        x: str = ""

        @field_validator("x")
        @classmethod
        def breaks(cls, value: str) -> str:
            raise RuntimeError(f"no {value}")

    assert config_of(HOST + "x = '${SECRET}'", Odd)[1] == ("plugins.acme: its Config raised RuntimeError",)


def test_a_check_of_the_whole_that_fails_is_a_fault_and_shows_nothing(config_of):
    class Whole(BaseModel):
        x: str = ""

        @model_validator(mode="after")
        def refuses(self):
            raise ValueError(f"{self.x.upper()} is no good\n\nat all")

    assert config_of(HOST + "x = 'abc'", Whole)[1] == ("plugins.acme: ABC is no good at all",)
    assert config_of(HOST + "x = '${SECRET}'", Whole)[1] == ("plugins.acme: the plugin refuses the value",)


@pytest.mark.parametrize("error", [SystemExit(3), RecursionError("deep")])
def test_a_validator_cannot_end_the_process(config_of, error):
    class Ends(BaseModel):
        x: str = ""

        @field_validator("x")
        @classmethod
        def ends(cls, value: str) -> str:
            raise error

    (fault,) = config_of(HOST + "x = 'abc'", Ends)[1]
    assert fault.startswith(f"plugins.acme: its Config raised {type(error).__name__}")


def test_a_short_value_is_not_looked_for_in_the_words(config_of):
    _, (fault,) = config_of(HOST + "limit = '${SHORT}'")
    assert fault.startswith("plugins.acme.limit = '${SHORT}': Input should be a valid integer")


def test_an_author_may_allow_unknown_keys(config_of):
    class Open(BaseModel):
        model_config = ConfigDict(extra="allow")

    config, faults = config_of(HOST + "anything = 1", Open)
    assert (config.anything, faults) == (1, ())


def test_what_is_shown_is_what_is_written_without_secrets(tmp_path):
    (tmp_path / "innkeeper.toml").write_text(
        HOST + "mention = '${HANDLE}'\ntoken = 'typed in'\n" + TENANT + "limit = 2"
    )
    source = source_from_settings(load_settings(None, ENVIRON, tmp_path), "acme", "support")
    assert source.shown(Shape) == {"mention": "${HANDLE}", "token": "(not shown)", "limit": 2}
