"""Hosts in this process, with the example plugins that the environment has."""

from collections.abc import Callable
from pathlib import Path

import pytest

from innkeeper.settings import Settings, load_settings


@pytest.fixture
def settings(tmp_path: Path) -> Callable[..., Settings]:
    """Make the settings of a host with a folder of its own: a file with ``toml``, and environment variables."""

    def make(folder: str = "a", toml: str = "", **variables: str) -> Settings:
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "innkeeper.toml").write_text(toml)
        variables.setdefault("INNKEEPER_HOST__PUBLIC_URL", "http://127.0.0.1:8000")
        return load_settings(None, variables, tmp_path / folder)

    return make
