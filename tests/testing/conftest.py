"""Distributions of one file, on the path of this process and its children."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import pytest


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Write a distribution's metadata and its module, as an installer would; imported ones are forgotten again."""
    folder = tmp_path / "installed"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    modules: list[str] = []

    def installing(name: str, code: str, *, requires: tuple[str, ...] = ("innkeeper>=0.1",), plugin: str = "") -> None:
        module = name.replace("-", "_")
        modules.append(module)
        info = folder / f"{module}-1.0.dist-info"
        info.mkdir()
        lines = ["Metadata-Version: 2.1", f"Name: {name}", "Version: 1.0"]
        (info / "METADATA").write_text("\n".join([*lines, *(f"Requires-Dist: {line}" for line in requires)]) + "\n")
        (info / "entry_points.txt").write_text(f"[innkeeper.v1]\n{plugin or name} = {module}\n")
        (folder / f"{module}.py").write_text(dedent(code))

    yield installing
    for module in modules:
        sys.modules.pop(module, None)
