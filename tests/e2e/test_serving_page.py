"""What the page on serving shows of HTTP+JSON: its commands work as printed, and its table is that of the host."""

import json
import re
import subprocess
from pathlib import Path

from innkeeper.edge.rest import ROUTES

PAGE = (Path(__file__).parents[2] / "docs/serving.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("### Over HTTP+JSON\n")[2]


def test_the_commands_work_as_printed(host):
    commands = re.search(r"^```sh\n(.*?)^```", SECTION, re.DOTALL | re.MULTILINE)[1]
    typed = commands.replace("http://127.0.0.1:8080", host.url)
    done = subprocess.run(("/bin/sh", "-ec", typed), capture_output=True, text=True, check=True, timeout=30)
    decoder = json.JSONDecoder()
    sent, end = decoder.raw_decode(done.stdout)
    listed, _ = decoder.raw_decode(done.stdout, end)
    assert sent["task"]["status"]["message"]["parts"][0]["text"] == "Hello, Ada"
    assert (len(listed["tasks"]), listed["pageSize"]) == (1, 1)


def test_the_table_has_every_route():
    shown = {
        (path, method, meaning)
        for ways, meaning in re.findall(r"^\| (`.+`) \| `(\w+)` \|$", SECTION, re.MULTILINE)
        for method, path in re.findall(r"`([A-Z]+) (\S+)`", ways)
    }
    assert shown == {(path, *served) for path, methods in ROUTES.items() for served in methods.items()}
