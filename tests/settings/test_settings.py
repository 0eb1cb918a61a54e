"""Settings: where values come from, which one wins, and what is refused."""

import re
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import ValidationError

from innkeeper.settings import Host, Settings, SettingsFault, TenantSettings, load_settings

SECRET = '{"kty":"OKP","d":"very-secret"}'


@pytest.fixture
def load(tmp_path):
    """Load settings from a TOML text (None: no file) and environment variables."""

    def loading(toml: str | None = None, **environ: str) -> Settings:
        if toml is not None:
            (tmp_path / "innkeeper.toml").write_text(toml)
        return load_settings(None, environ, tmp_path)

    return loading


@pytest.fixture
def faults_of(load):
    def refused(toml: str | None = None, **environ: str) -> tuple[str, ...]:
        with pytest.raises(SettingsFault) as caught:
            load(toml, **environ)
        assert str(caught.value).splitlines() == list(caught.value.faults)
        return caught.value.faults

    return refused


def test_no_file_at_all_is_a_working_default(load, tmp_path):
    settings = load()
    assert settings.host.bind == ("127.0.0.1:8080",)
    assert settings.host.data_dir == tmp_path / "innkeeper-data"
    assert settings.auth.signing_key_file == tmp_path / "signing-key.json"
    assert settings.turns.turn_timeout == timedelta(minutes=5)
    assert settings.tenants is None


def test_the_environment_wins_over_the_file(load):
    settings = load(
        '[host]\nlog_level = "error"\nlog_format = "json"\n[turns]\nmax_attempts = 7',
        INNKEEPER_HOST__LOG_LEVEL="debug",
        INNKEEPER_HOST__BIND='["[::1]:0", "localhost:8081"]',
        INNKEEPER_TURNS__TURN_TIMEOUT="90s",
        INNKEEPER_WIRE__BODY_BYTES="4096",
        PATH="/bin",
    )
    assert (settings.host.log_level, settings.host.log_format) == ("debug", "json")
    assert settings.host.bind == ("[::1]:0", "localhost:8081")
    assert (settings.turns.turn_timeout, settings.turns.max_attempts) == (timedelta(seconds=90), 7)
    assert settings.wire.body_bytes == 4096


def test_a_process_environment_that_is_not_handed_in_is_not_read(load, monkeypatch):
    monkeypatch.setenv("INNKEEPER_HOST__LOG_LEVEL", "debug")
    assert load().host.log_level == Settings().host.log_level == "info"


@pytest.mark.parametrize("named_by", ["argument", "variable"])
def test_a_named_file_is_read_and_its_paths_are_relative_to_it(tmp_path, named_by):
    file = tmp_path / "etc" / "host.toml"
    file.parent.mkdir()
    file.write_text('[host]\ndata_dir = "data"\n[auth]\nsigning_key_file = "/keys/key.json"')
    (tmp_path / "innkeeper.toml").write_text("[no]\nsuch = 1")
    argument, environ = (
        (Path("etc/host.toml"), {"INNKEEPER_CONFIG": "elsewhere.toml"})
        if named_by == "argument"
        else (None, {"INNKEEPER_CONFIG": "etc/host.toml"})
    )
    settings = load_settings(argument, environ, tmp_path)
    assert settings.host.data_dir == file.parent / "data"
    assert settings.auth.signing_key_file == Path("/keys/key.json")


def test_a_named_file_that_is_missing_is_a_fault(tmp_path, faults_of):
    (fault,) = faults_of(INNKEEPER_CONFIG="gone.toml")
    assert str(tmp_path / "gone.toml") in fault


@pytest.mark.parametrize(
    ("content", "words"), [(b"[host]\nbind = \n", "line 2"), (b"[host]\n# \xff\n", "UTF-8")], ids=["syntax", "bytes"]
)
def test_a_file_that_cannot_be_read_is_one_fault(tmp_path, content, words):
    (tmp_path / "innkeeper.toml").write_bytes(content)
    with pytest.raises(SettingsFault) as caught:
        load_settings(None, {}, tmp_path)
    (fault,) = caught.value.faults
    assert words in fault
    assert "innkeeper.toml" in fault


REFUSED = [
    ("[host]\nbind = []", "host.bind", "at least 1"),
    ('[host]\nbind = "127.0.0.1:1"', "host.bind", "list"),
    ('[host]\nbind = ["127.0.0.1"]', "host.bind[0]", "host:port"),
    ('[host]\nbind = [":8080"]', "host.bind[0]", "0.0.0.0:port"),
    ('[host]\nbind = ["::1:8080"]', "host.bind[0]", "brackets"),
    ('[host]\nbind = ["[127.0.0.1]:80"]', "host.bind[0]", "IPv6 address"),
    ('[host]\nbind = ["127.0.0.1:65536"]', "host.bind[0]", "65535"),
    ('[host]\nbind = ["127.0.0.1:٣"]', "host.bind[0]", "65535"),
    ('[host]\nbind = ["unix:/run/x"]', "host.bind[0]", "Unix sockets"),
    ('[host]\npublic_url = "agents.example.com"', "host.public_url", "absolute"),
    ('[host]\npublic_url = "ftp://example.com"', "host.public_url", "absolute"),
    ('[host]\npublic_url = "https://example.com/?a=1"', "host.public_url", "query"),
    ('[host]\npublic_url = "https://example.com/#"', "host.public_url", "fragment"),
    ('[host]\npublic_url = "https://me:pw@example.com"', "host.public_url", "credentials"),
    ('[host]\npublic_url = "https://example.com:99999"', "host.public_url", "0-65535"),
    ('[host]\npublic_url = "https://exa mple.com"', "host.public_url", "absolute"),
    ('[host]\nallowed_hosts = ["https://example.com"]', "host.allowed_hosts[0]", "Host header"),
    ('[host]\nallowed_hosts = ["*"]', "host.allowed_hosts[0]", "Host header"),
    ('[host]\nallowed_origins = ["https://example.com/"]', "host.allowed_origins[0]", "without a path"),
    ('[host]\nallowed_origins = ["null"]', "host.allowed_origins[0]", "absolute"),
    ('[host]\nlog_level = "loud"', "host.log_level", "'warning'"),
    ('[host]\nlog_format = "xml"', "host.log_format", "'json'"),
    ("[host]\nshutdown_grace = 10", "host.shutdown_grace", "unit"),
    ('[host]\nshutdown_grace = "10"', "host.shutdown_grace", "unit"),
    ('[host]\nshutdown_grace = "-1s"', "host.shutdown_grace", "unit"),
    ('[host]\nshutdown_grace = "99999999999d"', "host.shutdown_grace", "too long"),
    ('[turns]\nturn_timeout = "0s"', "turns.turn_timeout", "longer than zero"),
    ("[turns]\nmax_attempts = 0", "turns.max_attempts", "greater than or equal to 1"),
    ("[turns]\nmax_attempts = true", "turns.max_attempts", "whole number"),
    ("[turns]\nqueue_per_session = 1.5", "turns.queue_per_session", "integer"),
    ('[card]\nname = ""', "card.name", "at least 1"),
    ('[auth]\nmode = "shut"', "auth.mode", "'gateway', 'token' or 'open'"),
    ('[auth]\ntoken_max_life = "0s"', "auth.token_max_life", "longer than zero"),
    ('[auth]\ngateway_origins = [""]', "auth.gateway_origins[0]", "at least 1 character"),
    ("host = 3", "host", "valid dictionary"),
    ('[tenants.Support]\nname = "x"', "tenants.Support", "a-z 0-9"),
    ('[tenants.support]\nuse = "triage"', "tenants.support.use", "list"),
    ('[tenants.support]\nsession_scope = "world"', "tenants.support.session_scope", "'caller'"),
    ('[tenants.support]\nstreaming = "yes"', "tenants.support.streaming", "boolean"),
]


@pytest.mark.parametrize(("toml", "field", "reason"), REFUSED)
def test_a_value_is_refused_with_field_value_and_reason(faults_of, toml, field, reason):
    (fault,) = faults_of(toml)
    assert fault.startswith(f"{field} = ")
    assert reason in fault


@pytest.mark.parametrize(
    ("toml", "field", "hint"),
    [
        ("[hots]\nport = 1", "hots", "did you mean host?"),
        ("[host]\nbnd = []", "host.bnd", "did you mean bind?"),
        ("[tenants.support]\nagnet = 'x'", "tenants.support.agnet", "did you mean agent?"),
        ("[wire]\nzzz = 1", "wire.zzz", "known are body_bytes"),
    ],
)
def test_an_unknown_key_is_a_fault_with_a_suggestion(faults_of, toml, field, hint):
    (fault,) = faults_of(toml)
    assert fault.startswith(f"{field}: unknown key")
    assert hint in fault


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("INNKEEPER_HOST__DATADIR", "did you mean INNKEEPER_HOST__DATA_DIR?"),
        ("INNKEEPER_HOST_DATA_DIR", "did you mean INNKEEPER_HOST__DATA_DIR?"),
        ("INNKEEPER_host__data_dir", "unknown name"),
        ("INNKEEPER_TENANTS__X__AGENT", "in the file only"),
    ],
)
def test_an_unknown_variable_is_a_fault_with_a_hint(faults_of, name, hint):
    (fault,) = faults_of(**{name: "not-to-be-shown"})
    assert name in fault
    assert hint in fault
    assert "not-to-be-shown" not in fault


def test_the_variables_that_are_no_fields_are_known(load):
    assert load("", INNKEEPER_CONFIG="innkeeper.toml", INNKEEPER_FAULT_POINT="after-commit") is not None


def test_a_fault_in_the_environment_names_the_variable(faults_of):
    (fault,) = faults_of('[host]\nlog_format = "text"', INNKEEPER_HOST__LOG_FORMAT="xml")
    assert fault.startswith("host.log_format (INNKEEPER_HOST__LOG_FORMAT) = 'xml': ")


def test_a_list_in_the_environment_that_is_no_json_is_a_fault_like_any_other(faults_of):
    first, second = faults_of(INNKEEPER_HOST__BIND="127.0.0.1:1,127.0.0.1:2", INNKEEPER_TURNS__MAX_ATTEMPTS="x")
    assert first.startswith("host.bind (INNKEEPER_HOST__BIND) = ")
    assert second.startswith("turns.max_attempts (INNKEEPER_TURNS__MAX_ATTEMPTS) = ")


def test_every_fault_is_reported_at_once(faults_of):
    faults = faults_of(
        '[host]\nbind = ["0.0.0.0:80", "x"]\nlog_level = "loud"\n[hots]\nport = 1\n'
        f"[auth]\nsigning_key = '{SECRET}'\n[turns]\nturn_timeout = 'soon'\n[tenants.a]\nagent = 'B'",
        INNKEEPER_LOG_LEVEL="info",
    )
    assert len(faults) == 8
    for named in ("0.0.0.0:80", "'x'", "loud", "hots", "signing_key", "soon", "tenants.a.agent", "INNKEEPER_LOG_LEVEL"):
        assert any(named in fault for fault in faults), named


@pytest.mark.parametrize("bind", ["127.0.0.1:1", "127.8.8.8:1", "[::1]:1", "localhost:1"])
def test_open_mode_listens_on_loopback(load, bind):
    assert load(f'[host]\nbind = ["{bind}"]').host.bind == (bind,)


@pytest.mark.parametrize("bind", ["0.0.0.0:1", "[::]:1", "192.168.0.1:1", "example.com:1", "[::ffff:10.0.0.1]:1"])
def test_open_mode_is_refused_wherever_others_could_reach_it(faults_of, bind):
    (fault,) = faults_of(f'[host]\nbind = ["127.0.0.1:1", "{bind}"]')
    assert fault.startswith(f"host.bind = {bind!r}: not a loopback address")


@pytest.mark.parametrize(
    ("toml", "faults"),
    [
        (
            '[auth]\nmode = "gateway"',
            (
                "host.public_url: required, as tokens are made for it",
                'auth.gateway_origins: required, as auth.mode is "gateway"; name the gateways that are trusted',
            ),
        ),
        (
            '[host]\nbind = ["0.0.0.0:80"]\n[auth]\nmode = "token"',
            ("host.public_url: required, as '0.0.0.0:80' is no name that others know it by",),
        ),
    ],
)
def test_a_way_in_has_what_it_needs(faults_of, toml, faults):
    assert faults_of(toml) == faults


def test_push_that_is_required_is_enabled(faults_of, load):
    (fault,) = faults_of("[push]\nrequired = true")
    assert fault == "push = {'required': True}: nobody can name the webhook that is required while enabled is false"
    assert load("[push]\nenabled = true\nrequired = true").push.required


def test_ways_in_other_than_open_mode_may_be_reached_from_anywhere(load):
    there = '[host]\nbind = ["0.0.0.0:80"]\npublic_url = "https://inn.example"\n'
    assert load(f'{there}[auth]\nmode = "token"').auth.mode == "token"
    gateway = load(f'{there}[auth]\nmode = "gateway"', INNKEEPER_AUTH__GATEWAY_ORIGINS="gw.example")
    assert gateway.auth.gateway_origins == ("gw.example",)
    assert load('[auth]\nmode = "token"').host.public_url is None


def test_open_mode_beyond_loopback_cannot_be_built_by_hand_either():
    with pytest.raises(ValidationError, match="not a loopback address"):
        Settings(host=Host(bind=("0.0.0.0:1",)))


def test_the_signing_key_comes_from_the_environment_and_is_never_shown(load):
    settings = load(INNKEEPER_AUTH__SIGNING_KEY=SECRET)
    assert settings.auth.signing_key.get_secret_value() == SECRET
    assert "very-secret" not in repr(settings)


@pytest.mark.parametrize("toml", [f"signing_key = '{SECRET}'", f"signing_kye = '{SECRET}'", "signing_key = 3"])
def test_a_signing_key_in_the_file_is_refused_without_being_shown(faults_of, toml):
    (fault,) = faults_of(f"[auth]\n{toml}")
    assert "auth.signing_k" in fault
    assert "very-secret" not in fault


def test_an_empty_signing_key_is_a_fault(faults_of):
    (fault,) = faults_of(INNKEEPER_AUTH__SIGNING_KEY="")
    assert fault.startswith("auth.signing_key (INNKEEPER_AUTH__SIGNING_KEY) = (not shown): ")


def test_a_long_value_is_cut_in_its_fault(faults_of):
    (fault,) = faults_of(f'[host]\nlog_level = "{"x" * 5000}"')
    assert len(fault) < 250


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("250ms", timedelta(milliseconds=250)),
        ("1.5s", timedelta(seconds=1.5)),
        ("5m", timedelta(minutes=5)),
        ("24h", timedelta(hours=24)),
        ("30d", timedelta(days=30)),
    ],
)
def test_a_duration_has_a_unit(load, text, duration):
    assert load(f'[turns]\nturn_timeout = "{text}"').turns.turn_timeout == duration


def test_a_base_url_may_have_a_path_and_loses_its_last_slash(load):
    assert load('[host]\npublic_url = "https://example.com/inn/"').host.public_url == "https://example.com/inn"


def test_a_tenants_table_says_what_is_not_set(load):
    settings = load('[tenants.support]\nuse = ["triage"]\nresumable = false')
    tenant = settings.tenants["support"]
    assert (tenant.use, tenant.resumable, tenant.agent, tenant.streaming) == (("triage",), False, None, None)
    with pytest.raises(TypeError):
        settings.tenants["other"] = tenant


def test_an_empty_tenants_table_is_not_the_same_as_none(load):
    assert dict(load("[tenants]").tenants) == {}


def tables():
    named = {
        name: field.annotation for name, field in Settings.model_fields.items() if name not in ("plugins", "tenants")
    }
    return {**named, "tenants.X": TenantSettings}


@pytest.mark.parametrize("name", tables())
def test_every_field_says_what_it_is_and_in_which_unit(name):
    for field, schema in tables()[name].model_json_schema()["properties"].items():
        assert re.fullmatch(r"[A-Z].+\.", schema["description"]), field
        kinds = [schema, *schema.get("anyOf", ())]
        measured = [kind for kind in kinds if kind.get("type") in ("integer", "number") or "duration" in kind.values()]
        assert all("unit" in kind for kind in measured), field


@pytest.mark.parametrize(
    "toml",
    [
        "plugins = 'hush'",
        "[plugins]\nacme = 'hush'",
        "[tenants.t]\nplugins = ['hush']",
        "[tenants.t.plugins]\nacme = 'hush'",
        "[tenants.t.plugins]\nacme = ['hush']",
    ],
)
def test_what_stands_where_a_plugins_table_belongs_is_not_shown(faults_of, toml):
    (fault,) = faults_of(toml)
    assert "plugins" in fault
    assert "hush" not in fault
    assert "(not shown)" in fault


def test_a_variable_that_is_not_set_is_told_where_a_tenant_names_it(faults_of):
    toml = "[tenants.a]\nname = '${NOWHERE} ${NOWHERE}'\nuse = ['${AWAY}']\n[tenants.b]\nname = '${HERE}'"
    assert [fault for fault in faults_of(toml, HERE="x") if "is not set" in fault] == [
        "tenants.a.name: environment NOWHERE is not set",
        "tenants.a.use: environment AWAY is not set",
    ]
