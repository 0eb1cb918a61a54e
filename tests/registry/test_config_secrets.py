"""Secrets of a configuration, wherever they are declared and whatever they are called, are not shown."""

import dataclasses
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, NewType, Optional, TypeVar

import pytest
from pydantic import (
    AliasChoices,
    AliasGenerator,
    AliasPath,
    BaseModel,
    ConfigDict,
    Field,
    FilePath,
    RootModel,
    Secret,
    SecretBytes,
    SecretStr,
    create_model,
    field_validator,
    model_validator,
)
from typing_extensions import TypeAliasType, TypedDict

from innkeeper.registry.config import closed, source_from_settings, validated
from innkeeper.registry.secrets import HIDDEN, Secrets
from innkeeper.settings import load_settings

T = TypeVar("T")
Name = NewType("Name", SecretStr)
Alias = TypeAliasType("Alias", SecretStr)


class Nested(BaseModel):
    name: str = ""
    token: SecretStr


class Plain(BaseModel):
    depth: int = 0


class Generically(BaseModel, Generic[T]):
    held: T


@dataclasses.dataclass
class Data:
    token: SecretStr
    name: str = ""


class Typed(TypedDict, total=False):
    token: SecretStr


class Later(BaseModel):
    next: "Later | None" = None
    token: SecretStr | None = None


KINDS = {
    "itself": (SecretStr, "'hush-hush'"),
    "bytes": (SecretBytes, "'hush-hush'"),
    "of any type": (Secret[str], "'hush-hush'"),
    "optional": (Optional[SecretStr], "'hush-hush'"),  # noqa: UP045 - as others write it
    "a union": (int | SecretStr, "'hush-hush'"),
    "annotated": (Annotated[SecretStr, Field(min_length=3)], "'hush-hush'"),
    "a type of another name": (Name, "'hush-hush'"),
    "an alias of a type": (Alias, "'hush-hush'"),
    "a model of one value": (RootModel[SecretStr], "'hush-hush'"),
    "a list": (list[SecretStr], "['hush-hush']"),
    "a tuple": (tuple[int, SecretStr], "[1, 'hush-hush']"),
    "a table": (dict[str, SecretStr], "{any = 'hush-hush'}"),
    "lists in a table": (dict[str, list[SecretStr]], "{any = ['hush-hush']}"),
    "a model": (Nested, "{token = 'hush-hush'}"),
    "a list of models": (list[Nested], "[{token = 'hush-hush'}]"),
    "a union of models": (Plain | Nested, "{token = 'hush-hush'}"),
    "a generic model": (Generically[SecretStr], "{held = 'hush-hush'}"),
    "a dataclass": (Data, "{token = 'hush-hush'}"),
    "a typed dictionary": (Typed, "{token = 'hush-hush'}"),
    "a model of models": (Later, "{next = {next = {token = 'hush-hush'}}}"),
}
ALIASES: dict[str, dict[str, Any]] = {
    "key": {"alias": "key"},
    "other-key": {"validation_alias": "other-key"},
    "first": {"validation_alias": AliasChoices("first", "second")},
    "second": {"validation_alias": AliasChoices("first", AliasPath("second"))},
    "shown": {"serialization_alias": "x", "alias": "shown"},
}


@pytest.fixture
def source_of(tmp_path: Path):
    """Return the tables of the plugin ``acme`` at the tenant ``support``."""

    def made(toml: str, tenant: str | None = "support"):
        (tmp_path / "innkeeper.toml").write_text(toml)
        return source_from_settings(load_settings(None, {}, tmp_path), "acme", tenant)

    return made


@pytest.mark.parametrize("case", KINDS)
def test_whatever_type_it_is_of(source_of, case):
    annotation, written = KINDS[case]
    kind = closed(create_model("Shape", token=(annotation, ...), town=(str, "")))
    source, secrets = source_of(f"[plugins.acme]\ntown = 'Ghent'\ntoken = {written}\n"), Secrets()
    assert source.shown(kind) == {"town": "Ghent", "token": HIDDEN}
    config, faults = validated(kind, source, {}, secrets)
    assert faults == ()
    assert config is not None
    assert secrets.redacted("it is hush-hush") == f"it is {HIDDEN}"
    assert secrets.redacted("Ghent") == "Ghent"


@pytest.mark.parametrize("key", ALIASES)
def test_whatever_it_is_called(source_of, key):
    kind = closed(create_model("Shape", token=(SecretStr | None, Field(None, **ALIASES[key])), town=(str, "")))
    source, secrets = source_of(f"[plugins.acme]\ntown = 'Ghent'\n{key} = 'hush-hush'\n"), Secrets()
    assert source.shown(kind) == {"town": "Ghent", key: HIDDEN}
    assert validated(kind, source, {}, secrets)[1] == ()
    assert secrets.redacted("hush-hush") == HIDDEN


def test_a_path_to_it_hides_the_table_it_leads_through(source_of):
    kind = closed(create_model("Shape", token=(SecretStr, Field(validation_alias=AliasPath("auth", "token")))))
    source, secrets = source_of("[plugins.acme]\nauth = {token = 'hush-hush'}\n"), Secrets()
    assert source.shown(kind) == {"auth": HIDDEN}
    validated(kind, source, {}, secrets)
    assert secrets.redacted("hush-hush") == HIDDEN


def test_a_generated_alias_is_one_as_well(source_of):
    class Shape(BaseModel):
        model_config = ConfigDict(alias_generator=AliasGenerator(validation_alias=str.upper))
        token: SecretStr

    source = source_of("[plugins.acme]\nTOKEN = 'hush-hush'\n")
    assert source.shown(closed(Shape)) == {"TOKEN": HIDDEN}


class Mixed(BaseModel):
    token: SecretStr = SecretStr("")
    limit: int = 3
    inner: Plain = Plain()
    several: list[Plain] = []


MISSPELT = {
    "beside it": "tokne = 'hush-hush'",
    "in a table beside it": "inner = {token = 'hush-hush'}",
    "in a list beside it": "several = [{depth = 1, token = 'hush-hush'}]",
    "of the wrong type too": "tokne = ['hush-hush']\nlimit = 'many'",
}


@pytest.mark.parametrize("case", MISSPELT)
def test_a_misspelt_key_has_its_value_shown_nowhere(source_of, case):
    source = source_of(f"[plugins.acme]\n{MISSPELT[case]}\n")
    _, faults = validated(closed(Mixed), source, {})
    assert "hush" not in str(faults)
    assert "hush" not in str(source.shown(closed(Mixed)))
    assert HIDDEN in str(source.shown(closed(Mixed)))


def test_a_table_that_takes_any_key_shows_them_where_nothing_is_secret(source_of):
    class Open(BaseModel):
        model_config = ConfigDict(extra="allow")
        limit: int = 3

    class WithSecret(Open):
        token: SecretStr = SecretStr("")

    source = source_of("[plugins.acme]\nanything = 'goes'\n")
    assert source.shown(Open) == {"anything": "goes"}
    assert source.shown(WithSecret) == {"anything": HIDDEN}


def test_what_validators_say_of_a_secret_is_told_without_it(source_of):
    class Judged(BaseModel):
        token: SecretStr
        town: str = ""

        @field_validator("token")
        @classmethod
        def check(cls, value: SecretStr) -> SecretStr:
            if value.get_secret_value().startswith("hush"):
                raise ValueError(f"{value.get_secret_value()!r} must start with sk-")
            return value

        @model_validator(mode="after")
        def whole(self) -> "Judged":
            raise ValueError(f"{self.token.get_secret_value()} is not of {self.town}")

    assert validated(Judged, source_of("[plugins.acme]\ntoken = 'hush-hush'\n"), {})[1] == (
        f"plugins.acme.token = {HIDDEN}: '{HIDDEN}' must start with sk-",
    )
    assert validated(Judged, source_of("[plugins.acme]\ntoken = 'sk-hush'\ntown = 'Ghent'\n"), {})[1] == (
        f"plugins.acme: {HIDDEN} is not of Ghent",
    )


def test_what_validators_make_of_a_secret_and_its_parts_from_the_environment_are_remembered(source_of):
    class Dsn(BaseModel):
        dsn: SecretStr
        default: SecretStr = SecretStr("test")
        made: SecretStr = Field(default_factory=lambda: SecretStr("ma" + "de"))

        @field_validator("dsn")
        @classmethod
        def with_port(cls, value: SecretStr) -> SecretStr:
            return SecretStr(value.get_secret_value().replace("@", ":5432@"))

    secrets = Secrets()
    source = source_of("[plugins.acme]\ndsn = 'postgres://me:${DB_PASSWORD}@db'\n")
    assert validated(Dsn, source, {"DB_PASSWORD": "s3cret"}, secrets)[1] == ()
    assert secrets.redacted("s3cret, postgres://me:s3cret:5432@db") == f"${{DB_PASSWORD}}, {HIDDEN}"
    assert secrets.redacted("a default in the code is a test, unless it is made") == (
        f"a default in the code is a test, unless it is {HIDDEN}"
    )


class Basic(BaseModel):
    kind: Literal["basic"]
    password: SecretStr
    realm: int = 0


class Bearer(BaseModel):
    kind: Literal["bearer"]
    token: SecretStr


class Either(BaseModel):
    auth: Basic | Bearer = Field(discriminator="kind")
    many: list[Annotated[Basic | Bearer, Field(discriminator="kind")]] = []
    size: int | list[int] = 0


UNIONS = {
    "auth = {kind = 'basic'}": "plugins.acme.auth.password: Field required",
    "auth = {kind = 'basic', password = 5}": f"plugins.acme.auth.password = {HIDDEN}: Input should be a valid string",
    "auth = {kind = 'basic', password = 'x', realm = 'y'}": f"plugins.acme.auth.realm = {HIDDEN}: ",
    "auth = {kind = 'hush-hush'}": f"plugins.acme.auth = {HIDDEN}: 'kind' is none of 'basic', 'bearer'",
    "auth = {kind = 'bearer', token = 'x'}\nmany = [{kind = 'bearer'}]": "plugins.acme.many[0].token: Field required",
    "auth = {kind = 'bearer', token = 'x'}\nsize = 'y'": "plugins.acme.size = 'y': Input should be a valid integer",
}


@pytest.mark.parametrize("written", UNIONS)
def test_the_place_of_a_fault_is_as_its_writer_sees_it(source_of, written):
    _, faults = validated(closed(Either), source_of(f"[plugins.acme]\n{written}\n"), {})
    assert faults[0].startswith(UNIONS[written])
    assert "hush" not in str(faults)


def test_a_variable_that_is_not_set_is_told_with_the_table_that_names_it(source_of):
    toml = (
        "[plugins.acme]\nlimit = '${HERE}'\ninner = {depth = '${OVER}', x = 'y${THERE}'}\n"
        "[tenants.support.plugins.acme]\nseveral = ['${AWAY}', '${HERE}']\ninner = {depth = 3}\n"
    )
    assert validated(Mixed, source_of(toml), {})[1] == (
        "plugins.acme: environment HERE is not set",
        "plugins.acme: environment THERE is not set",
        "tenants.support.plugins.acme: environment AWAY is not set",
        "tenants.support.plugins.acme: environment HERE is not set",
    )


class Folders(BaseModel):
    model_config = ConfigDict(frozen=True)
    one: Path = Path("one")
    absent: Path | None = None
    many: list[Path] = []
    named: dict[str, Path] = {}
    there: FilePath | None = None
    either: str | Path = ""
    text: str = ""


def test_a_relative_path_is_relative_to_the_file_of_the_settings(source_of, tmp_path):
    (tmp_path / "there.txt").touch()
    toml = (
        "[plugins.acme]\nmany = ['a', '/b']\nnamed = {c = 'c'}\nthere = 'there.txt'\neither = 'x'\ntext = 'y'\n"
        "[tenants.support.plugins.acme]\nabsent = 'd/../e'\n"
    )
    config, faults = validated(Folders, source_of(toml), {})
    assert faults == ()
    assert config == Folders(
        one=tmp_path / "one",
        absent=tmp_path / "d/../e",
        many=[tmp_path / "a", Path("/b")],
        named={"c": tmp_path / "c"},
        there=tmp_path / "there.txt",
        either="x",
        text="y",
    )


class Inner(BaseModel):
    path: Path = Path("own")
    other: Path = Path("/other")


class Outer(BaseModel):
    given: Inner = Inner()
    left: Inner = Inner(path=Path("of the outer"))


def test_default_paths_in_models_within_are_relative_to_it_too(source_of, tmp_path):
    config, _ = validated(Outer, source_of("[plugins.acme]\ngiven = {other = 'x'}\n"), {})
    assert config == Outer(
        given=Inner(path=tmp_path / "own", other=tmp_path / "x"), left=Inner(path=tmp_path / "of the outer")
    )


def test_a_path_is_faulted_as_it_is_written(source_of):
    _, faults = validated(Folders, source_of("[plugins.acme]\nthere = 'nowhere'\n"), {})
    assert faults == ("plugins.acme.there = 'nowhere': Path does not point to a file",)


def test_a_configuration_may_be_a_table_of_any_keys(source_of):
    class Towns(RootModel[dict[str, int]]): ...

    class Tokens(RootModel[dict[str, SecretStr]]): ...

    source = source_of("[plugins.acme]\nGhent = 5000\n")
    assert validated(closed(Towns), source, {}) == (Towns({"Ghent": 5000}), ())
    assert (source.shown(Towns), source.shown(Tokens)) == ({"Ghent": 5000}, {"Ghent": HIDDEN})
