"""The page of settings, made of the typed table of them."""

from datetime import timedelta
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from innkeeper.settings import Settings, TenantSettings

HEAD = """\
# Settings

Made of the code by `make docs`.

`innkeeper.toml` in the working directory is read if it is there; `--config FILE` or `INNKEEPER_CONFIG` names another.
Relative paths in it, those of plugins' tables included, are relative to the file. Each setting below, except those of
tenants, is also an environment variable, `INNKEEPER_` and its name with `__` for the dot
(`INNKEEPER_HOST__DATA_DIR=/srv/data`), which wins; lists are written as JSON. Durations are strings with a unit:
"250ms", "10s", "5m", "24h", "30d". Whatever is wrong is reported at once, each with setting, value and reason, and
nothing is served.

```toml
[host]
bind = ["127.0.0.1:8080"]
shutdown_grace = "30s"

[tenants.support]
agent = "hello"
name = "Support"
use = ["doorkeeper"]
```
"""

TENANTS = """
## `[tenants.X]`

A served agent under the tenant id X (1 to 63 of `a-z 0-9 . _ -`, starting and ending with a letter or digit). Without
any such table, every registered agent is served under its own id; with one, what is listed is all. What a tenant does
not set is the agent's own value, or else the host's.
"""


def settings_page() -> str:
    """Return the page of settings."""
    tables = [
        f"\n## `[{name}]`\n\n{field.description}\n\n{_table(field.annotation)}"
        for name, field in Settings.model_fields.items()
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
    ]
    return HEAD + "".join(tables) + TENANTS + "\n" + _table(TenantSettings)


def _table(model: Any) -> str:
    rows = [f"| `{name}` | {_default(field)} | {field.description} |" for name, field in model.model_fields.items()]
    return "\n".join(("| setting | default | meaning |", "|---|---|---|", *rows, ""))


def _default(field: FieldInfo) -> str:
    value = field.default
    if value is None or field.default_factory is not None:
        return ""
    if isinstance(value, timedelta):
        return f'`"{value.total_seconds():g}s"`'
    if isinstance(value, tuple):
        return "`[" + ", ".join(f'"{each}"' for each in value) + "]`"
    return f"`{value}`" if isinstance(value, int) else f'`"{value}"`'
