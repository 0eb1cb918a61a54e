"""Every page that is made of the code, and what makes it."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from cli_page import cli_page
from errors_page import errors_page
from hooks_page import hooks_page
from settings_page import settings_page
from types_page import types_page

REFERENCE: Final = Path(__file__).parents[1] / "reference"

PAGES: Final[Mapping[Path, Callable[[], str]]] = {
    REFERENCE / "hooks.md": hooks_page,
    REFERENCE / "types.md": types_page,
    REFERENCE / "settings.md": settings_page,
    REFERENCE / "cli.md": cli_page,
    REFERENCE / "errors.md": errors_page,
}
