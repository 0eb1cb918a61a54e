"""A plugin's ``Config``: its tables of the settings, put over one another, expanded and validated."""

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, get_args

from pydantic import BaseModel, ConfigDict, Secret, SecretBytes, SecretStr, ValidationError
from pydantic_core import ErrorDetails

from innkeeper.registry.described import words
from innkeeper.settings import Expansion, Settings

_HIDDEN: Final = "(not shown)"
_SECRETS: Final = (Secret, SecretBytes, SecretStr)
_SHOWN: Final = 80

Table = Mapping[str, Any]
ConfigType = type[BaseModel]


@dataclass(frozen=True, slots=True)
class ConfigSource:
    """The tables of one plugin as they are written, each with its place in the settings; later ones win."""

    tables: tuple[tuple[str, Table], ...]

    @property
    def merged(self) -> dict[str, Any]:
        """The tables put over one another; tables within tables too, lists are replaced."""
        merged: dict[str, Any] = {}
        for _, table in self.tables:
            merged = _over(merged, table)
        return merged

    def place(self, location: Sequence[int | str]) -> str:
        """Say where in the settings a value stands, or would stand."""
        names = [place for place, table in self.tables if _find(table, location) is not None]
        below = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in location)
        return (names or [self.tables[-1][0]])[-1] + below

    def shown(self, kind: ConfigType | None) -> dict[str, Any]:
        """Return the merged tables for people: as they are written, without what the plugin declares a secret."""
        return {
            key: _HIDDEN if kind is not None and _is_secret(kind, key) else value for key, value in self.merged.items()
        }


def source_from_settings(settings: Settings, plugin: str, tenant: str | None) -> ConfigSource:
    """Collect the tables of a plugin at a tenant, or at host scope."""
    tables = [(f"plugins.{plugin}", settings.plugins.get(plugin, {}))]
    if tenant is not None and settings.tenants and tenant in settings.tenants:
        tables.append((f"tenants.{tenant}.plugins.{plugin}", settings.tenants[tenant].plugins.get(plugin, {})))
    return ConfigSource(tuple((place, table) for place, table in tables if table) or (tables[-1],))


def closed(kind: ConfigType) -> ConfigType:
    """Make a model refuse unknown keys, unless its author has said what becomes of them."""
    if "extra" in kind.model_config:
        return kind
    bases: tuple[type, ...] = (kind,)
    return type(kind.__name__, bases, {"model_config": ConfigDict(extra="forbid"), "__module__": kind.__module__})


def validated(
    kind: ConfigType | None, source: ConfigSource, environ: Mapping[str, str]
) -> tuple[BaseModel | None, tuple[str, ...]]:
    """Return the plugin's config, and a line for each fault: place, value as it is written, and reason."""
    if kind is None:
        places = [place for place, table in source.tables if table]
        return None, tuple(f"{place}: this plugin takes no configuration" for place in places)
    expansion = Expansion(environ)
    values = expansion.expanded(source.merged)
    if expansion.unset:
        place = source.tables[-1][0]
        return None, tuple(f"{place}: environment {name} is not set" for name in dict.fromkeys(expansion.unset))
    try:
        return kind.model_validate(values), ()
    except ValidationError as error:
        return None, tuple(_lines(kind, source, expansion, error))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - a validator is the plugin's code and may raise anything
        said = "" if expansion.values else f": {words(error)}"  # else its words may hold a value, changed
        return None, (f"{source.tables[-1][0]}: its Config raised {type(error).__name__}{said}",)


def _lines(kind: ConfigType, source: ConfigSource, expansion: Expansion, error: ValidationError) -> Iterator[str]:
    for detail in error.errors(include_url=False):
        location = detail["loc"]
        place = source.place(location)
        if detail["type"] == "extra_forbidden":
            yield f"{place}: unknown key{_hint(kind, location)}"
            continue
        written = _find(source.merged, location)
        reason = " ".join(expansion.redacted(_reason(detail, hidden=_refers(written))).split())
        if not location or detail["type"] == "missing" or written is None:
            yield f"{place}: {reason}"
        elif _is_secret(kind, str(location[0])):
            yield f"{place} = {_HIDDEN}: {reason.replace(str(written), _HIDDEN)}"
        else:
            yield f"{place} = {_cut(repr(written))}: {reason}"


def _refers(written: Any) -> bool:
    """Tell whether something of what is written comes from the environment."""
    return "${" in repr(written)


def _reason(detail: ErrorDetails, *, hidden: bool) -> str:
    """Say why; the plugin's own words about a value of the environment may hold it, changed beyond recognition."""
    if hidden and detail["type"] in ("value_error", "assertion_error"):
        return "the plugin refuses the value"
    return words(detail["ctx"]["error"]) if detail["type"] == "value_error" else detail["msg"]


def _hint(kind: ConfigType, location: Sequence[int | str]) -> str:
    if len(location) != 1:
        return ""
    known = sorted({*kind.model_fields, *(info.alias for info in kind.model_fields.values() if info.alias)})
    close = difflib.get_close_matches(str(location[0]), known, n=1)
    return f"; did you mean {close[0]}?" if close else f"; known are {', '.join(known) or 'none'}"


def _is_secret(kind: ConfigType, key: str) -> bool:
    fields = (info for name, info in kind.model_fields.items() if key in (name, info.alias, info.validation_alias))
    return any(_holds_secret(info.annotation) for info in fields)


def _holds_secret(annotation: object, within: frozenset[object] = frozenset()) -> bool:
    """Tell whether a value of this type may have a secret anywhere in it; ``within`` are models being looked at."""
    parts: Iterable[object] = get_args(annotation)
    if isinstance(annotation, type):
        if issubclass(annotation, _SECRETS):
            return True
        if issubclass(annotation, BaseModel) and annotation not in within:
            parts = (*parts, *(info.annotation for info in annotation.model_fields.values()))
    return any(_holds_secret(part, within | {annotation}) for part in parts)


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
