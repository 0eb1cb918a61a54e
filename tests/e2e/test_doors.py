"""Hosts that let nobody in without a token: a gateway's, whose keys are on a socket, or one made beside the host."""

import json
import threading
import time
from base64 import urlsafe_b64decode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import anyio
import httpx
import pytest
from a2a.client import ClientConfig, create_client
from a2a.client.card_resolver import A2ACardResolver
from a2a.types import GetExtendedAgentCardRequest, GetTaskRequest, ListTasksRequest, TaskState
from a2a.utils.errors import TaskNotFoundError
from a2a.utils.signing import create_signature_verifier
from livehost import innkeeper, running_host
from sending import sending, sent, text_of

from innkeeper.testing.tokens import Mint

pytestmark = pytest.mark.anyio

PUBLIC = "https://inn.example"
AUDIENCE = f"{PUBLIC}/a2a"
TENANTS = "[tenants]\nhello = { use = [] }\necho = { use = [] }\n"


class Gateway:
    """A gateway's key set on loopback; ``hits`` are the paths that were asked for."""

    def __init__(self) -> None:
        gateway = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                gateway.hits.append(self.path)
                body = gateway.mint.jwks()
                self.send_response(200)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.hits: list[str] = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.mint = Mint(f"http://127.0.0.1:{self.server.server_port}")

    def token(self, tenant: str, audience: str = AUDIENCE, **more: object) -> str:
        return self.mint.token(audience, tenant, time.time(), **more)


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    gateway = Gateway()
    thread = threading.Thread(target=gateway.server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield gateway
    gateway.server.shutdown()
    thread.join()
    gateway.server.server_close()


@pytest.fixture(scope="module")
def trusting(gateway, plugins, tmp_path_factory):
    """A host that trusts the gateway."""
    path = tmp_path_factory.mktemp("trusting") / "innkeeper.toml"
    auth = f'[auth]\nmode = "gateway"\ngateway_origins = ["{gateway.mint.origin}"]\nallow_loopback_http = true\n'
    path.write_text(
        f'[host]\nbind = ["127.0.0.1:0"]\npublic_url = "{PUBLIC}"\n{auth}advertise_security_schemes = true\n{TENANTS}'
    )
    assert innkeeper("keys", "new", plugins=plugins, cwd=path.parent).returncode == 0
    with running_host(path, plugins) as host:
        yield host


class ToHost(httpx.AsyncHTTPTransport):
    """Sends what is for the public URL to the host that is behind it."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url = httpx.URL(url)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        request.url = request.url.copy_with(scheme="http", host=self.url.host, port=self.url.port)
        return await super().handle_async_request(request)


def reaching(host, token=None):
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    return httpx.AsyncClient(transport=ToHost(host.url), base_url=PUBLIC, headers=headers, timeout=30)


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
async def test_the_official_client_comes_in_with_a_gateways_token(trusting, gateway, binding):
    async with reaching(trusting, gateway.token("hello")) as http:
        verify = create_signature_verifier(lambda kid, jku: OKP(trusting, kid), ["EdDSA"])
        card = await A2ACardResolver(http, f"{PUBLIC}/agents/hello").get_agent_card(signature_verifier=verify)
        assert list(card.security_schemes) == ["gatewayJwt"]
        config = ClientConfig(streaming=False, httpx_client=http, supported_protocol_bindings=[binding])
        client = await create_client(card, config)
        task = await sent(client, sending("Ada"))
        assert task.status.state == TaskState.TASK_STATE_COMPLETED
        assert text_of(task.status.message.parts) == "Hello, Ada"
        assert [each.id for each in (await client.list_tasks(ListTasksRequest())).tasks][:1] == [task.id]
        extended = await client.get_extended_agent_card(GetExtendedAgentCardRequest(), signature_verifier=verify)
        assert extended.name == card.name
    async with reaching(trusting, gateway.token("hello", caller="remote:2:bob")) as http:
        client = await create_client(card, ClientConfig(streaming=False, httpx_client=http))
        with pytest.raises(TaskNotFoundError):
            await client.get_task(GetTaskRequest(id=task.id))


def OKP(host, kid):  # noqa: N802 - the name of the key's type
    import jwt  # noqa: PLC0415 - only where a signature is checked

    with httpx.Client(base_url=host.url) as http:
        (key,) = (each for each in http.get("/.well-known/jwks.json").json()["keys"] if each["kid"] == kid)
    return jwt.PyJWK(key)


async def test_the_gateway_is_asked_for_its_keys_once(trusting, gateway):
    for _ in range(3):
        async with reaching(trusting, gateway.token("hello")) as http:
            assert (await http.get("/agents/hello/tasks", headers={"a2a-version": "1.0"})).status_code == 200
    assert gateway.hits == ["/.well-known/jwks.json"]


OPEN_PATHS = ["/.well-known/agent-card.json", "/.well-known/jwks.json", "/healthz", "/readyz"]
SHUT_PATHS = [
    ("POST", "/a2a"),
    ("POST", "/a2a/"),
    ("POST", "/agents/hello"),
    ("POST", "/agents/nobody"),
    ("GET", "/agents/hello/.well-known/agent-card.json"),
    ("GET", "/agents/nobody/.well-known/agent-card.json"),
    ("GET", "/agents/hello/tasks"),
    ("POST", "/agents/hello/message:send"),
    ("POST", "/agents/hello/message:stream"),
    ("GET", "/agents/hello/extendedAgentCard"),
    ("GET", "/plugins.json"),
    ("GET", "/plugins/"),
    ("GET", "/plugins/hello/"),
]


async def test_without_a_token_there_is_what_everybody_may_see_and_nothing_else(trusting):
    async with reaching(trusting) as http:
        assert [(await http.get(path)).status_code for path in OPEN_PATHS] == [200] * len(OPEN_PATHS)
        for method, path in SHUT_PATHS:
            assert (await http.request(method, path)).status_code == 401, path
        for path in ("/", "/nothing", "//a2a", "/A2A", "/agents", "/agents/", "/metrics"):
            assert (await http.post(path)).status_code in (404, 405), path


async def test_a_token_for_another_host_or_tenant_is_of_no_use(trusting, gateway):
    body = {"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {"tenant": "echo"}}
    for token, said in (
        (gateway.token("hello"), "authorizes tenant 'hello'"),
        (gateway.token("echo", PUBLIC), "audience"),
    ):
        async with reaching(trusting, token) as http:
            refused = await http.post("/a2a", json=body)
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, 'Bearer error="invalid_token"')
        assert said in refused.text


def test_a_host_in_gateway_mode_does_not_make_its_own_key(plugins, tmp_path):
    auth = '[auth]\nmode = "gateway"\ngateway_origins = ["a b"]\n'
    (tmp_path / "innkeeper.toml").write_text(f'[host]\nbind = ["127.0.0.1:0"]\npublic_url = "{PUBLIC}"\n{auth}')
    done = innkeeper("serve", plugins=plugins, cwd=tmp_path)
    assert done.returncode == 2
    assert "innkeeper keys new" in done.stderr
    assert "auth.gateway_origins: 'a b'" in done.stderr


@pytest.fixture
def issuing(config, plugins):
    """A host in token mode, and the command that issues its tokens."""
    path = config(f'[auth]\nmode = "token"\ntoken_overlap = "1h"\n{TENANTS}')
    assert innkeeper("keys", "new", plugins=plugins, cwd=path.parent).returncode == 0

    def run(*arguments):
        done = innkeeper("token", *arguments, plugins=plugins, cwd=path.parent)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.strip()

    with running_host(path, plugins) as host:
        yield host, run


def status(host, token, path="/agents/hello/tasks"):
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    return httpx.get(host.url + path, headers=headers, trust_env=False).status_code


def test_tokens_come_into_effect_beside_a_running_host(issuing, plugins, tmp_path):
    host, token = issuing
    assert status(host, None) == 401
    assert token("list") == "There are no tokens."
    first = token("create", "--caller", "ann", "--name", "Ann", "--tenant", "hello", "--expires", "90d")
    assert (status(host, first), status(host, first, "/agents/echo/tasks")) == (200, 404)
    assert (status(host, first, "/plugins.json"), status(host, first, "/agents/nobody/tasks")) == (403, 404)
    (row,) = json.loads(token("list", "--json"))
    assert (row["caller"], row["name"], row["tenants"], row["operator"]) == ("ann", "Ann", ["hello"], False)
    assert first.split("_")[2] not in token("list", "--json")
    second = token("rotate", row["id"])
    assert second != first
    assert (status(host, first), status(host, second)) == (200, 200)
    third = token("rotate", row["id"])
    assert (status(host, first), status(host, second), status(host, third)) == (401, 200, 200)
    assert token("revoke", row["id"]) == f"revoked: {row['id']}"
    assert (status(host, second), status(host, third)) == (401, 401)
    operator = token("create", "--caller", "root", "--operator")
    assert (status(host, operator, "/plugins.json"), status(host, operator, "/agents/echo/tasks")) == (200, 200)
    called = innkeeper("call", "--url", host.url, "--token", operator, "hello", "Ada", plugins=plugins, cwd=tmp_path)
    assert (called.stdout, called.returncode) == ("Hello, Ada\n", 0)
    secret = operator.split("_", 2)[2].encode()
    assert not any(secret in file.read_bytes() for file in tmp_path.rglob("innkeeper.db*"))


@pytest.mark.parametrize(
    ("arguments", "words", "code"),
    [
        (("create", "--caller", "a"), "--operator", 2),
        (("create", "--caller", "a", "--tenant", "x", "--operator"), "--operator", 2),
        (("create", "--tenant", "x"), "--caller", 2),
        (("create", "--caller", "", "--tenant", "x"), "printable", 2),
        (("create", "--caller", "a", "--tenant", "X"), "'X'", 2),
        (("create", "--caller", "a", "--tenant", "x", "--expires", "soon"), "duration", 2),
        (("rotate", "nothing"), "there is no token 'nothing'", 2),
        (("revoke", "nothing"), "there is no token 'nothing'", 2),
    ],
)
def test_what_cannot_be_issued_is_said(plugins, tmp_path, arguments, words, code):
    done = innkeeper("token", *arguments, plugins=plugins, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (code, "")
    assert words in done.stderr


def test_keys_are_shown_and_rotated(plugins, tmp_path):
    def keys(*arguments, **variables):
        return innkeeper("keys", *arguments, plugins=plugins, cwd=tmp_path, **variables)

    assert "no such signing key" in keys("rotate").stderr
    keys("new")
    private = (tmp_path / "signing-key.json").read_text()
    (before,) = json.loads(keys("show").stdout)["keys"]
    assert "d" not in before
    assert before["kid"] in keys("rotate").stdout
    after = json.loads(keys("show").stdout)["keys"]
    assert [after[1], len(after)] == [before, 2]
    in_environment = {"INNKEEPER_AUTH__SIGNING_KEY": private}
    assert json.loads(keys("show", **in_environment).stdout)["keys"] == [before]
    refused = keys("rotate", **in_environment)
    assert (refused.returncode, "in the environment" in refused.stderr) == (2, True)


async def test_a_key_rotated_beside_the_host_signs_and_the_one_before_stays_published(issuing, plugins):
    host, run = issuing
    token = run("create", "--caller", "ann", "--tenant", "hello")
    before = published(host)
    assert innkeeper("keys", "rotate", plugins=plugins, cwd=host.errors.parent).returncode == 0
    with anyio.fail_after(10):
        while (after := published(host)) == before:  # noqa: ASYNC110 - it is another process that changes it
            await anyio.sleep(0.05)
    assert after[1:] == before
    async with httpx.AsyncClient(headers={"authorization": f"Bearer {token}"}, trust_env=False) as http:
        verify = create_signature_verifier(lambda kid, jku: OKP(host, kid), ["EdDSA"])
        card = await A2ACardResolver(http, host.agent("hello")).get_agent_card(signature_verifier=verify)
    header = json.loads(urlsafe_b64decode(card.signatures[0].protected + "=="))
    assert header["kid"] == after[0]["kid"]


def published(host):
    return httpx.get(f"{host.url}/.well-known/jwks.json", trust_env=False).json()["keys"]
