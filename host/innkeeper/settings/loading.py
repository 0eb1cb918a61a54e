"""From TOML and environment to ``Settings``, or every fault in them at once."""

import difflib
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from pydantic_settings import EnvSettingsSource

from innkeeper.settings.expansion import Expansion
from innkeeper.settings.table import Settings, TenantSettings, mode_faults
from innkeeper.settings.values import split_bind

DEFAULT_FILE: Final = "innkeeper.toml"
PREFIX: Final = "INNKEEPER_"
CONFIG_VARIABLE: Final = "INNKEEPER_CONFIG"
_OTHER_VARIABLES: Final = (CONFIG_VARIABLE, "INNKEEPER_FAULT_POINT")
_SECRETS: Final = (("auth", "signing_key"),)
"""Fields that come from the environment only and are never shown."""

_PATHS: Final = (("host", "data_dir"), ("auth", "signing_key_file"))
_SHOWN: Final = 80

Values = dict[str, Any]


class SettingsFault(Exception):
    """What is wrong with the settings: one line per fault with field, value and reason, all of them at once."""

    def __init__(self, *faults: str) -> None:
        super().__init__("\n".join(faults))
        self.faults = faults


class _Environment(EnvSettingsSource):
    """Reads the variables that are handed in; a list that is no JSON stays a string, a fault like any other."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        super().__init__(Settings)
        self.env_vars = {name.lower(): value for name, value in variables.items()}

    def decode_complex_value(self, field_name: str, field: FieldInfo, value: Any) -> Any:
        try:
            return super().decode_complex_value(field_name, field, value)
        except ValueError:
            return value


def load_settings(config: Path | None, environ: Mapping[str, str], cwd: Path) -> Settings:
    """Read the settings.

    ``config`` or else the variable INNKEEPER_CONFIG names the file, relative to ``cwd``; otherwise innkeeper.toml there
    is read if it exists. Variables INNKEEPER_<TABLE>__<FIELD> win over the file. The paths in the result are absolute
    if ``cwd`` is; relative ones are taken from the folder of the file.

    Raises:
        SettingsFault: every fault at once.
    """
    named = config or environ.get(CONFIG_VARIABLE)
    path = settings_file(config, environ, cwd)
    ours = {name: value for name, value in environ.items() if name.startswith(PREFIX)}
    values, faults = _read(path) if named or path.exists() else ({}, [])
    faults += [*_misplaced_secrets(values), *_unknown_variables(ours)]
    for table, fields in _Environment({name: ours[name] for name in _variables() if name in ours})().items():
        if isinstance(values.setdefault(table, {}), dict):
            values[table].update(fields)
    faults += _faults_of_mode(values)
    expansion = Expansion(environ)
    try:
        settings = Settings(**_with_tenants_expanded(values, expansion))
    except ValidationError as error:
        details = error.errors(include_url=False)  # those without a place are in _faults_of_mode
        faults += [expansion.redacted(_line(detail, ours)) for detail in details if detail["loc"]]
    faults += _unset(values, environ)
    if faults:
        raise SettingsFault(*faults)
    return _anchored(settings, path.parent)


def settings_file(config: Path | None, environ: Mapping[str, str], cwd: Path) -> Path:
    """Return where the settings are looked for; nothing may be there."""
    return cwd / (config or environ.get(CONFIG_VARIABLE) or DEFAULT_FILE)


def _read(path: Path) -> tuple[Values, list[str]]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8")), []
    except OSError as error:
        reason = error.strerror or type(error).__name__
    except UnicodeDecodeError:
        reason = "it is not UTF-8"
    except tomllib.TOMLDecodeError as error:
        reason = f"it is not TOML: {error}"
    return {}, [f"settings file {path}: {reason}"]


def _with_tenants_expanded(values: Values, expansion: Expansion) -> Values:
    """Replace references in what tenants set for themselves; tables of plugins stay as they are written."""
    tenants = values.get("tenants")
    if not isinstance(tenants, dict):
        return values
    return values | {
        "tenants": {
            tenant_id: {key: own[key] if key == "plugins" else expansion.expanded(own[key]) for key in own}
            if isinstance(own, dict)
            else own
            for tenant_id, own in tenants.items()
        }
    }


def _unset(values: Values, environ: Mapping[str, str]) -> Iterator[str]:
    """Say where a tenant refers to what is not set; tables of plugins are looked at by whoever expands them."""
    tenants = values.get("tenants")
    for tenant_id, own in tenants.items() if isinstance(tenants, dict) else ():
        for key, value in own.items() if isinstance(own, dict) else ():
            expansion = Expansion(environ)
            if key != "plugins":
                expansion.expanded(value)
            for name in dict.fromkeys(expansion.unset):
                yield f"tenants.{tenant_id}.{key}: environment {name} is not set"


def _variables() -> Iterator[str]:
    """Name every variable that is a field; tenants and plugins have names of their own, which none can spell."""
    for table, info in Settings.model_fields.items():
        if isinstance(info.annotation, type) and issubclass(info.annotation, BaseModel):
            yield from (_variable(table, field) for field in info.annotation.model_fields)


def _variable(*location: object) -> str:
    return PREFIX + "__".join(map(str, location)).upper()


def _unknown_variables(ours: Iterable[str]) -> Iterator[str]:
    known = (*_variables(), *_OTHER_VARIABLES)
    for name in ours:
        if owners := [owner for owner in ("tenants", "plugins") if name.startswith(_variable(owner))]:
            yield f"environment {name}: {owners[0]} are set in the file only"
        elif name not in known:
            yield f"environment {name}: unknown name{_hint(name, known)}"


def _misplaced_secrets(values: Values) -> Iterator[str]:
    """Take out and report what does not belong into a file."""
    for table, field in _SECRETS:
        if isinstance(values.get(table), dict) and field in values[table]:
            del values[table][field]
            yield f"{table}.{field}: a secret does not belong into a file; set {_variable(table, field)}"


def _faults_of_mode(values: Values) -> tuple[str, ...]:
    """Judge the way in although other fields may be at fault."""
    tables = [values.get(name) for name in ("auth", "host")]
    auth, host = (table if isinstance(table, dict) else {} for table in tables)
    binds = host.get("bind", ())
    return mode_faults(
        auth.get("mode", "open"),
        tuple(filter(_is_bind, binds if isinstance(binds, list) else ())),
        host.get("public_url"),
        auth.get("gateway_origins"),
    )


def _is_bind(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(split_bind(value))
    except ValueError:
        return False


def _line(detail: ErrorDetails, ours: Mapping[str, str]) -> str:
    location = tuple(step for step in detail["loc"] if step != "[key]")
    field = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in location).lstrip(".")
    variable = _variable(*location[:2])
    source = f"{field} ({variable})" if variable in ours else field
    if detail["type"] == "extra_forbidden":
        return f"{source}: unknown key{_hint(str(location[-1]), _siblings(location))}"
    reason = str(detail["ctx"]["error"]) if detail["type"] == "value_error" else detail["msg"]
    return f"{source} = {_shown(location, detail['input'])}: {reason}"


def _shown(location: tuple[int | str, ...], value: object) -> str:
    if location[:2] in _SECRETS or "plugins" in (location[0], *location[2:3]):
        return "(not shown)"  # what is a secret of a plugin, only the plugin knows
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _siblings(location: tuple[int | str, ...]) -> Iterable[str]:
    """Return the keys that are known where this one stands."""
    if len(location) == 1:
        return Settings.model_fields
    table = Settings.model_fields[str(location[0])].annotation
    return (
        table.model_fields if isinstance(table, type) and issubclass(table, BaseModel) else TenantSettings.model_fields
    )


def _hint(name: str, known: Iterable[str]) -> str:
    known = tuple(known)
    close = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]}?" if close else f"; known are {', '.join(known)}"


def _anchored(settings: Settings, folder: Path) -> Settings:
    """Make relative paths relative to the folder."""
    for table, field in _PATHS:
        values = getattr(settings, table)
        anchored = values.model_copy(update={field: folder / getattr(values, field)})
        settings = settings.model_copy(update={table: anchored})
    return settings.in_folder(folder)
