"""What a host under test is made of: plugins, settings, environment."""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from innkeeper.registry.discovery import discover
from innkeeper.settings import Settings, load_settings
from innkeeper.testing.echo import echo_entry_points

_DEFAULTS: Final[Mapping[str, Any]] = {"host": {"bind": ["127.0.0.1:0"], "data_dir": "data", "shutdown_grace": "1s"}}
_OURS: Final = "INNKEEPER_"


@dataclass(frozen=True, slots=True)
class Setup:
    """What a host under test is made of.

    ``plugins`` names the installed plugins that it loads, all of them by default. ``settings`` are laid out as in
    ``innkeeper.toml``. ``environ`` is put over the environment of the test; the host's own variables are left out.
    Relative paths of plugins begin at ``base``, by default the folder of the host.
    """

    plugins: tuple[str, ...] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=dict)
    base: Path | None = None

    def relative_to(self, folder: Path | None) -> "Setup":
        """Return this with relative paths of plugins beginning at ``folder``, default: that of the host."""
        return replace(self, base=folder)

    def over(
        self,
        *,
        plugins: Iterable[str] | None = None,
        settings: Mapping[str, Any] | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> "Setup":
        """Return this with more: other plugins, settings and variables over these.

        Raises:
            TypeError: ``plugins`` is one name instead of several.
        """
        if isinstance(plugins, str):
            raise TypeError(f"plugins are several names, such as [{plugins!r}]")
        return Setup(
            self.plugins if plugins is None else tuple(plugins),
            _over(self.settings, settings or {}),
            {**self.environ, **(environ or {})},
            self.base,
        )

    @property
    def variables(self) -> dict[str, str]:
        """The environment of the host's plugins."""
        ambient = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
        return {**ambient, **self.environ}

    def write(self, folder: Path) -> Path:
        """Write the settings file of a host that keeps its data in the folder, and return its path."""
        path = folder / "innkeeper.toml"
        lines = (f"{_toml(table)} = {_toml(value)}\n" for table, value in _over(_DEFAULTS, self.settings).items())
        path.write_text("".join(lines), encoding="utf-8")
        return path

    def load(self, folder: Path) -> Settings:
        """Write the settings, and read them as a host does.

        Raises:
            SettingsFault: every fault at once.
        """
        settings = load_settings(self.write(folder), self.variables, folder)
        return settings if self.base is None else settings.in_folder(self.base)

    def entry_points(self) -> tuple[metadata.EntryPoint, ...]:
        """Return the entry points of the plugins, and that of the agent which is always there."""
        return (*entry_points_of(self.plugins), *echo_entry_points())


def entry_points_of(plugins: Iterable[str] | None) -> tuple[metadata.EntryPoint, ...]:
    """Return the entry points of installed plugins: those of these names, or all.

    Raises:
        LookupError: there is no plugin of such a name.
    """
    wanted = None if plugins is None else set(plugins)
    found = [
        entry_point
        for distribution in metadata.distributions()
        for entry_point in distribution.entry_points
        if entry_point.group.startswith("innkeeper.v") and (wanted is None or entry_point.name in wanted)
    ]
    if missing := sorted((wanted or set()) - {entry_point.name for entry_point in found}):
        installed = discover()
        names = sorted({record.name for record in (*installed.plugins, *(each.record for each in installed.refused))})
        raise LookupError(
            f"no plugin {', '.join(missing)} is installed; there are: {', '.join(names) or 'none'}. "
            "A plugin is found once its package is installed, as by pip install --editable ."
        )
    return tuple(found)


def _over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    both = {
        key: _over(below[key], value)
        for key, value in above.items()
        if isinstance(value, Mapping) and isinstance(below.get(key), Mapping)
    }
    return {**below, **above, **both}


def _toml(value: Any) -> str:
    """Write a value as TOML on one line.

    Raises:
        TypeError: TOML has no such value.
    """
    match value:
        case Mapping():
            return "{" + ", ".join(f"{_toml(str(key))} = {_toml(item)}" for key, item in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(_toml, value)) + "]"
        case bool() | int() | float():
            return json.dumps(value)
        case str() | Path():
            return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
    raise TypeError(f"a setting cannot be a {type(value).__name__}: {value!r}")
