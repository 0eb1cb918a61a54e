"""The JavaScript SDK on the other side: its client against our host, our client against its server."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from livehost import innkeeper, running_host

from innkeeper.edge.client import Transcript, call

NODE, NPM = shutil.which("node"), shutil.which("npm")
PROGRAMS = Path(__file__).parent / "javascript"

pytestmark = pytest.mark.skipif(
    not (NODE and NPM),
    reason="NODE OR NPM IS MISSING: what the JavaScript SDK makes of our cards and answers is NOT tested here",
)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs, in a folder into which the SDK has been installed."""
    folder = tmp_path_factory.mktemp("peer") / "javascript"
    shutil.copytree(PROGRAMS, folder)
    install = (NPM, "install", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline")
    subprocess.run(install, cwd=folder, check=True, timeout=50, capture_output=True)
    return folder


@pytest.fixture(scope="module", params=["true", "false"], ids=["schemes advertised", "schemes not advertised"])
def letters(request, plugins, tmp_path_factory):
    """A host that asks for a token, and one that it takes; its agent's card has what encoders trip over."""
    path = tmp_path_factory.mktemp("letters") / "innkeeper.toml"
    auth = f'[auth]\nmode = "token"\nadvertise_security_schemes = {request.param}\n'
    path.write_text(f'[host]\nbind = ["127.0.0.1:0"]\n{auth}[tenants]\nletters = {{ use = [] }}\n')
    assert innkeeper("keys", "new", plugins=plugins, cwd=path.parent).returncode == 0
    with running_host(path, plugins) as host:
        made = innkeeper("token", "create", "--caller", "ada", "--tenant", "letters", plugins=plugins, cwd=path.parent)
        yield host, made.stdout.strip()


@pytest.fixture(scope="module", params=["JSONRPC", "HTTP+JSON"])
def told(request, programs, letters):
    """What the JavaScript client has to say of the host."""
    host, token = letters
    asked = {
        "card": f"{host.agent('letters')}/.well-known/agent-card.json",
        "keys": f"{host.url}/.well-known/jwks.json",
        "binding": request.param,
        "token": token,
    }
    command = (NODE, "client.mjs", json.dumps(asked))
    done = subprocess.run(command, cwd=programs, capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["binding"] == request.param
    return said


def text_of(parts) -> str:
    return "".join(part["text"] for part in parts)


def test_javascript_verifies_our_cards_and_no_others(told):
    assert (told["genuine"], told["forged"]) == ("done", "Error")
    assert told["read"]["name"] == told["card"]["name"] == "Café ☕ 👩\u200d🚀 e\u0301"


def test_javascript_verifies_what_it_has_parsed_where_no_schemes_are_advertised(told):
    """Of a parsed card the SDK forgets the security schemes, and finds its signature wrong (a2a-js issue 663)."""
    expected = "Error" if "securitySchemes" in told["card"] else "done"
    assert (told["parsed"], told["extended"]) == (expected, expected)


def test_javascript_sends_and_reads_what_it_sent(told):
    assert told["sent"]["status"]["state"] == "TASK_STATE_COMPLETED"
    assert text_of(told["sent"]["status"]["message"]["parts"]) == "from JavaScript"
    assert text_of(told["found"]["history"][0]["parts"]) == "from JavaScript"
    assert told["listed"] == [told["sent"]["id"]]


def test_javascript_follows_a_stream(told):
    first, *_, last = told["updates"]
    assert first["task"]["status"]["state"] == "TASK_STATE_SUBMITTED"
    assert last["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"
    pieces = [update["artifactUpdate"]["artifact"]["parts"] for update in told["updates"] if "artifactUpdate" in update]
    assert "".join(map(text_of, pieces)) == "é 🎉"


def test_javascript_hears_why_it_is_refused(told):
    assert (told["cancelled"], told["unknown"]) == ("TaskNotCancelableError", "TaskNotFoundError")


@pytest.fixture
def server(programs) -> Iterator[str]:
    """The base URL of an agent that the JavaScript SDK serves."""
    with subprocess.Popen((NODE, "server.mjs"), cwd=programs, stdout=subprocess.PIPE, text=True) as process:
        yield process.stdout.readline().strip()
        process.kill()


@pytest.mark.anyio
async def test_our_client_talks_to_a_javascript_agent(server):
    transcript = Transcript()
    assert "".join([transcript.add(update) async for update in call(server, "é 🎉")]) == "é 🎉\n"
