"""The process of a live host: ``innkeeper serve`` with the plugins that a test wants."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from innkeeper.app.serve import Listening, serve
from innkeeper.settings import load_settings
from innkeeper.testing.setup import Setup


def main(arguments: Sequence[str]) -> int:
    """Serve; once the host listens, print its URL and tenants as a line of JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("config", type=Path)
    parser.add_argument("--plugins", nargs="*")
    given = parser.parse_args(arguments)
    setup = Setup().over(plugins=given.plugins)
    settings = load_settings(given.config, os.environ, given.config.parent)
    return serve(settings, announce=_announce, entry_points=setup.entry_points())


def _announce(listening: Listening) -> None:
    print(json.dumps({"url": listening.base_url, "tenants": [*listening.tenants]}))  # noqa: T201 - the line that the test reads


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
