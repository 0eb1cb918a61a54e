"""A plugin's ``Config``: its tables of the settings, put over one another, expanded and validated."""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, RootModel, ValidationError
from pydantic_core import ErrorDetails

from innkeeper.registry.masks import masked, remember_made, remember_written
from innkeeper.registry.secrets import HIDDEN, Secrets
from innkeeper.registry.shapes import Annotation, Step, below, fields_of, is_path, path_of
from innkeeper.settings import Expansion, Settings

_SHOWN: Final = 80

SHORTEST_FROM_ENVIRONMENT: Final = 8
"""What is shorter, of what only may be a secret as it comes from the environment, is not hidden: "true", a port."""

Table = Mapping[str, Any]
ConfigType = type[BaseModel]


@dataclass(frozen=True, slots=True)
class ConfigSource:
    """The tables of one plugin as they are written, each with its place in the settings; later ones win.

    ``folder`` is where relative paths in them begin.
    """

    tables: tuple[tuple[str, Table], ...]
    folder: Path = Path()

    @property
    def merged(self) -> dict[str, Any]:
        """The tables put over one another; tables within tables too, lists are replaced."""
        merged: dict[str, Any] = {}
        for _, table in self.tables:
            merged = _over(merged, table)
        return merged

    def table(self, location: Sequence[Step]) -> str:
        """Say in which table of the settings a value stands, or would stand."""
        names = [place for place, table in self.tables if _find(table, location) is not None]
        return (names or [self.tables[-1][0]])[-1]

    def place(self, location: Sequence[Step]) -> str:
        """Say where in the settings a value stands, or would stand."""
        below = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in location)
        return self.table(location) + below

    def shown(self, kind: ConfigType | None) -> dict[str, Any]:
        """Return the merged tables for people: as they are written, without what may be a secret."""
        return self.merged if kind is None else masked(kind, self.merged)


def source_from_settings(settings: Settings, plugin: str, tenant: str | None) -> ConfigSource:
    """Collect the tables of a plugin at a tenant, or at host scope."""
    tables = [(f"plugins.{plugin}", settings.plugins.get(plugin, {}))]
    if tenant is not None and settings.tenants and tenant in settings.tenants:
        tables.append((f"tenants.{tenant}.plugins.{plugin}", settings.tenants[tenant].plugins.get(plugin, {})))
    given = tuple((place, table) for place, table in tables if table)
    return ConfigSource(given or (tables[-1],), settings.folder)


def remember_references(settings: Settings, environ: Mapping[str, str], secrets: Secrets) -> None:
    """Remember what tables of plugins take from the environment.

    Which of it is a secret nobody knows before the plugins are imported.
    """
    for tables in (settings.plugins, *(tenant.plugins for tenant in (settings.tenants or {}).values())):
        remember_values(tables, environ, secrets)


def remember_values(written: Any, environ: Mapping[str, str], secrets: Secrets) -> None:
    """Remember what takes the place of references in what is written."""
    expansion = Expansion(environ)
    expansion.expanded(written)
    for name, value in expansion.values.items():
        if len(value) >= SHORTEST_FROM_ENVIRONMENT:
            secrets.remember(value, f"${{{name}}}")


def closed(kind: ConfigType) -> ConfigType:
    """Make a model refuse unknown keys, unless its author has said what becomes of them."""
    if "extra" in kind.model_config or issubclass(kind, RootModel):
        return kind
    bases: tuple[type, ...] = (kind,)
    return type(kind.__name__, bases, {"model_config": ConfigDict(extra="forbid"), "__module__": kind.__module__})


def validated(
    kind: ConfigType | None, source: ConfigSource, environ: Mapping[str, str], secrets: Secrets | None = None
) -> tuple[BaseModel | None, tuple[str, ...]]:
    """Return the plugin's config, and a line for each fault: place, value as it is written, and reason.

    ``secrets`` hears of those in it.
    """
    if kind is None:
        places = [place for place, table in source.tables if table]
        return None, tuple(f"{place}: this plugin takes no configuration" for place in places)
    expansion, secrets = Expansion(environ), Secrets() if secrets is None else secrets
    values = expansion.expanded(source.merged)
    remember_written(kind, source.merged, expansion, secrets)
    if expansion.unset:
        return None, tuple(dict.fromkeys(_unset(source, (), source.merged, environ)))
    try:
        config = _anchored_defaults(kind.model_validate(_anchored(values, (kind,), source.folder)), source.folder)
        remember_made(config, secrets)
    except ValidationError as error:
        return None, tuple(_lines(kind, source, expansion, secrets, error))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - a validator is the plugin's code and may raise anything
        said = "" if expansion.values else f": {secrets.words(error)}"  # else its words may hold a value, changed
        return None, (f"{source.tables[-1][0]}: its Config raised {type(error).__name__}{said}",)
    return config, ()


def _unset(source: ConfigSource, location: tuple[Step, ...], written: Any, environ: Mapping[str, str]) -> Iterator[str]:
    """Say in which table what variable is named that is not set."""
    if isinstance(written, str):
        expansion = Expansion(environ)
        expansion.expanded(written)
        yield from (f"{source.table(location)}: environment {name} is not set" for name in expansion.unset)
    elif isinstance(written, Mapping | list | tuple):
        for step, each in written.items() if isinstance(written, Mapping) else enumerate(written):
            yield from _unset(source, (*location, step), each, environ)


def _anchored(value: Any, annotations: tuple[Annotation, ...], folder: Path) -> Any:
    """Make relative paths relative to the folder of the settings."""
    if isinstance(value, str):
        return str(folder / value) if is_path(annotations) else value
    if isinstance(value, Mapping):
        return {key: _anchored(each, below(annotations, key), folder) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_anchored(each, below(annotations, place), folder) for place, each in enumerate(value)]
    return value


def _anchored_defaults(config: BaseModel, folder: Path, *, within: bool = False) -> BaseModel:
    """Do the same with those that nobody has written; ``within`` a model that is a default as a whole."""
    changes: dict[str, object] = {}
    for name in type(config).model_fields:
        value, default = getattr(config, name), within or name not in config.model_fields_set
        if isinstance(value, BaseModel):
            anchored = _anchored_defaults(value, folder, within=default)
            changes |= {} if anchored is value else {name: anchored}
        elif isinstance(value, Path) and default and not value.is_absolute():
            changes[name] = folder / value
    return config.model_copy(update=changes) if changes else config


def _lines(
    kind: ConfigType, source: ConfigSource, expansion: Expansion, secrets: Secrets, error: ValidationError
) -> Iterator[str]:
    written = source.merged
    shown = masked(kind, written)
    for detail in error.errors(include_url=False):
        location = path_of(kind, written, detail["loc"])
        place = source.place(location)
        if detail["type"] == "extra_forbidden":
            yield f"{place}: unknown key{_hint(kind, location)}"
            continue
        value = _find(written, location)
        said = _reason(detail, secrets, hidden=_refers(value))
        reason = " ".join(secrets.redacted(expansion.redacted(said)).split())
        if not location or detail["type"] == "missing" or value is None:
            yield f"{place}: {reason}"
        else:
            yield f"{place} = {_told(shown, location)}: {reason}"


def _told(shown: Any, location: Sequence[Step]) -> str:
    """Return what is written at a place, as it may be shown."""
    for step in location:
        shown = HIDDEN if shown == HIDDEN else shown[step]
    return HIDDEN if shown == HIDDEN else _cut(repr(shown))


def _refers(written: Any) -> bool:
    """Tell whether something of what is written comes from the environment."""
    return "${" in repr(written)


def _reason(detail: ErrorDetails, secrets: Secrets, *, hidden: bool) -> str:
    """Say why; the plugin's own words about a value of the environment may hold it, changed beyond recognition."""
    if hidden and detail["type"] in ("value_error", "assertion_error"):
        return "the plugin refuses the value"
    if detail["type"] == "union_tag_invalid":  # pydantic's own words tell the value
        return f"{detail['ctx']['discriminator']} is none of {detail['ctx']['expected_tags']}"
    return secrets.words(detail["ctx"]["error"]) if detail["type"] == "value_error" else detail["msg"]


def _hint(kind: ConfigType, location: Sequence[Step]) -> str:
    if len(location) != 1:
        return ""
    known = sorted(fields_of(kind) or {})
    close = difflib.get_close_matches(str(location[0]), known, n=1)
    return f"; did you mean {close[0]}?" if close else f"; known are {', '.join(known) or 'none'}"


def _over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    both = {
        key: _over(below[key], value)
        for key, value in above.items()
        if isinstance(value, Mapping) and isinstance(below.get(key), Mapping)
    }
    return {**below, **above, **both}


def _find(value: Any, location: Sequence[int | str]) -> Any:
    """Return what stands at a location of a table as written; None if nothing does."""
    for step in location:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
