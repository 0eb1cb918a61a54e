"""The page of hooks: the specification functions, their rules, and who uses them."""

import ast
import inspect
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Final

from docstrings import MADE, markdown, signature, source_of
from hook_users import users_of_hooks
from types_page import type_section

from innkeeper.contract import hooks, turn_event
from innkeeper.contract.hooks import HOOKS, HookRule
from innkeeper.contract.plugin import PluginContext
from innkeeper.contract.tool import RESERVED_TOOLS
from innkeeper.contract.turn_event import TURN_EVENTS, TurnEvent

TEXT: Final = Path(__file__).with_name("hooks.md.in")
"""What the code does not say."""


def hooks_page() -> str:
    """Return the page of hooks."""
    users = users_of_hooks()
    tested = users_of_hooks(("tests/plugins",))
    return TEXT.read_text(encoding="utf-8").format(
        made=MADE,
        hooks="\n".join(_section(name, rule, users.get(name) or tested.get(name, ())) for name, rule in HOOKS.items()),
        context=type_section(PluginContext),
        event=type_section(TurnEvent),
        events=_events(),
        reserved=", ".join(f"`{name}`" for name in sorted(RESERVED_TOOLS)),
    )


def _section(name: str, rule: HookRule, users: tuple[Path, ...]) -> str:
    function = getattr(hooks, name)
    links = ", ".join(f"[{path.name}](../../{path.as_posix()})" for path in users) or "nobody yet"
    return f"""\
### `{name}`

```text
{signature(source_of(function))}
```

| asked | kind | answers | deadline | if one raises or hangs |
|---|---|---|---|---|
| {rule.asked} | {rule.kind} | {rule.answers} | {_deadline(rule.deadline)} | {rule.on_fault} |

{markdown(inspect.getdoc(function))}

Used by: {links}.
"""


def _deadline(deadline: timedelta | None) -> str:
    return "none" if deadline is None else f"{deadline.total_seconds():g} s"


def _events() -> str:
    rows = (
        f"| `{kind}` | {', '.join(f'`{key}`' for key in keys) or 'nothing'} |" for kind, keys in TURN_EVENTS.items()
    )
    return "\n".join(("| kind | keys of `data` |", "|---|---|", *rows, "", markdown(_words_below("TURN_EVENTS"))))


def _words_below(name: str) -> str:
    """Return the string that stands below an assignment of the module of events."""
    nodes = ast.parse(inspect.getsource(turn_event)).body
    for node, below in pairwise(nodes):
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name and isinstance(below, ast.Expr):
            return str(ast.literal_eval(below.value))
    raise LookupError(name)
