"""Webhooks: which URLs are refused as they are registered, and what is decided anew before each connection."""

import asyncio
import ipaddress
import queue
import socket
import threading

import anyio
import pytest
from anyio import to_thread

from innkeeper.edge.identity.urls import url_from_text
from innkeeper.edge.resolving import LOOKUPS, system_resolver
from innkeeper.edge.webhooks import Destination, Unresolved, WebhookRefused, Webhooks, is_public

pytestmark = pytest.mark.anyio

PUBLIC = "93.184.215.14"
PUBLIC_6 = "2606:2800:21f:cb07:6820:80da:af6b:8b2c"


class FakeResolver:
    """Knows some names; each look-up answers the next of the name's answers, the last one again and again."""

    def __init__(self, **names):
        self.names = {name.replace("_", "."): list(answers) for name, answers in names.items()}
        self.asked = []

    async def addresses(self, host):
        self.asked.append(host)
        answers = self.names.get(host, [()])
        return answers.pop(0) if len(answers) > 1 else answers[0]


class SilentResolver:
    async def addresses(self, host):
        await anyio.sleep_forever()


def webhooks(resolver=None, **rules):
    return Webhooks(resolver or FakeResolver(), **rules)


# --- what the URL says itself -----------------------------------------------------------------------------------------

NOT_READ = "is not an absolute URL without credentials"
NOT_HTTPS = "does not begin with https://"
NO_PORT = "has a port that is not for this"
NO_ADDRESS = "leads to an address that is not allowed"

REFUSED = [
    ("", NOT_READ),
    ("/hook", NOT_READ),
    ("hooks.example/x", NOT_READ),
    ("//hooks.example/x", NOT_READ),
    ("https:///x", NOT_READ),
    ("https://", NOT_READ),
    ("ftp://hooks.example/", NOT_READ),
    ("file:///etc/passwd", NOT_READ),
    ("gopher://hooks.example/", NOT_READ),
    ("javascript:alert(1)", NOT_READ),
    ("https://user@hooks.example/", NOT_READ),
    ("https://user:word@hooks.example/", NOT_READ),
    ("https://@hooks.example/", NOT_READ),
    ("https://hooks.example@10.0.0.1/", NOT_READ),
    ("https://hooks.example\\@10.0.0.1/", NOT_READ),
    ("https://hooks.example\r\nx: y/", NOT_READ),
    ("https://hooks.example/a b", NOT_READ),
    ("https://hooks.example:99999/", NOT_READ),
    ("https://hooks.example:x/", NOT_READ),
    ("https://2130706433/", NOT_READ),
    ("https://0x7f000001/", NOT_READ),
    ("https://0x7f.1/", NOT_READ),
    ("https://0x7f.0.0.1/", NOT_READ),
    ("https://0177.0.0.1/", NOT_READ),
    ("https://017700000001/", NOT_READ),
    ("https://127.1/", NOT_READ),
    ("https://127.0.1/", NOT_READ),
    ("https://127.0.0.1./", NOT_READ),
    ("https://\uff11\uff12\uff17.0.0.1/", NOT_READ),
    ("https://127.0.0.1%2f.hooks.example/", NOT_READ),
    ("https://[fe80::1%25eth0]/", NOT_READ),
    ("https://[::1/", NOT_READ),
    ("http://hooks.example/", NOT_HTTPS),
    ("http://127.0.0.1/", NOT_HTTPS),
    ("http://localhost/", NOT_HTTPS),
    ("https://hooks.example:22/", NO_PORT),
    ("https://hooks.example:25/", NO_PORT),
    ("https://hooks.example:80/", NO_PORT),
    ("https://hooks.example:0/", NO_PORT),
    ("https://hooks.example:1023/", NO_PORT),
    ("https://localhost/", NO_ADDRESS),
    ("https://LOCALHOST/", NO_ADDRESS),
    ("https://localhost./", NO_ADDRESS),
    ("https://hooks.localhost/", NO_ADDRESS),
    ("https://127.0.0.1/", NO_ADDRESS),
    ("https://127.255.255.254:8443/", NO_ADDRESS),
    ("https://0.0.0.0/", NO_ADDRESS),
    ("https://10.1.2.3/", NO_ADDRESS),
    ("https://172.16.0.1/", NO_ADDRESS),
    ("https://172.31.255.255/", NO_ADDRESS),
    ("https://192.168.0.1/", NO_ADDRESS),
    ("https://100.64.0.1/", NO_ADDRESS),
    ("https://100.100.100.200/", NO_ADDRESS),
    ("https://169.254.169.254/latest/meta-data/", NO_ADDRESS),
    ("https://168.63.129.16/", NO_ADDRESS),
    ("https://192.0.0.192/", NO_ADDRESS),
    ("https://192.0.2.1/", NO_ADDRESS),
    ("https://198.18.0.1/", NO_ADDRESS),
    ("https://224.0.0.1/", NO_ADDRESS),
    ("https://240.0.0.1/", NO_ADDRESS),
    ("https://255.255.255.255/", NO_ADDRESS),
    ("https://[::]/", NO_ADDRESS),
    ("https://[::1]/", NO_ADDRESS),
    ("https://[0:0:0:0:0:0:0:1]/", NO_ADDRESS),
    ("https://[::ffff:127.0.0.1]/", NO_ADDRESS),
    ("https://[::ffff:a00:1]/", NO_ADDRESS),
    ("https://[::ffff:169.254.169.254]/", NO_ADDRESS),
    ("https://[::10.0.0.1]/", NO_ADDRESS),
    ("https://[64:ff9b::a00:1]/", NO_ADDRESS),
    ("https://[64:ff9b::169.254.169.254]/", NO_ADDRESS),
    ("https://[64:ff9b:1::1]/", NO_ADDRESS),
    ("https://[2002:a00:1::]/", NO_ADDRESS),
    ("https://[2001::1]/", NO_ADDRESS),
    ("https://[fe80::1]/", NO_ADDRESS),
    ("https://[fec0::1]/", NO_ADDRESS),
    ("https://[fc00::1]/", NO_ADDRESS),
    ("https://[fd00:ec2::254]/", NO_ADDRESS),
    ("https://[ff0e::1]/", NO_ADDRESS),
    ("https://[100::1]/", NO_ADDRESS),
    ("https://[2001:db8::1]/", NO_ADDRESS),
    ("https://[3fff::1]/", NO_ADDRESS),
]


@pytest.mark.parametrize(("text", "words"), REFUSED)
async def test_a_url_that_is_no_place_to_send_to_is_refused_and_nobody_is_asked(text, words):
    resolver = FakeResolver(hooks_example=[[PUBLIC]])
    for ask in (webhooks(resolver).check, webhooks(resolver).destination):
        with pytest.raises(WebhookRefused, match=f"^{words}$"):
            await ask(text)
    assert resolver.asked == []


@pytest.mark.parametrize(
    "text",
    [
        f"https://{PUBLIC}/",
        f"https://[{PUBLIC_6}]:8443/x?y=z",
        f"https://[::ffff:{PUBLIC}]/",
        f"https://[64:ff9b::{PUBLIC}]/",
        "HTTPS://Hooks.Example:443/x/../y",
        "https://hooks.example.:1024/",
        "https://nowhere.example/",
        f"https://{'a' * 64}.example/",
    ],
)
async def test_other_urls_are_taken(text):
    await webhooks(FakeResolver(hooks_example=[[PUBLIC, PUBLIC_6]], hooks_example_=[[PUBLIC]])).check(text)


@pytest.mark.parametrize(
    "address",
    ["0.0.0.0", "10.0.0.1", "127.0.0.1", "169.254.1.1", "::1", "fe80::1%1", "fec0::1", "::ffff:10.0.0.1",
     "64:ff9b::7f00:1", "2002:7f00:1::1", "224.1.1.1", "ff02::1", "168.63.129.16", "::ffff:168.63.129.16"],
)  # fmt: skip
def test_addresses_that_are_not_of_the_internet(address):
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", [PUBLIC, PUBLIC_6, f"::ffff:{PUBLIC}", "2002:5db8:d70e::1", "64:ff9b::5db8:d70e"])
def test_addresses_that_are(address):
    assert is_public(ipaddress.ip_address(address))


# --- what its name leads to -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "addresses",
    [["10.0.0.1"], ["127.0.0.1"], ["::1"], ["fe80::1%2"], [PUBLIC, "10.0.0.1"], [PUBLIC_6, PUBLIC, "::ffff:a00:1"]],
)
async def test_one_address_that_is_not_allowed_is_enough(addresses):
    resolver = FakeResolver(hooks_example=[addresses])
    with pytest.raises(WebhookRefused, match=f"^{NO_ADDRESS}$"):
        await webhooks(resolver).check("https://hooks.example/x")


async def test_the_addresses_that_were_screened_are_those_to_connect_to():
    found = await webhooks(FakeResolver(hooks_example=[[PUBLIC, PUBLIC_6]])).destination("https://hooks.example:8443/x")
    assert found == Destination(url_from_text("https://hooks.example:8443/x"), (PUBLIC, PUBLIC_6))


async def test_a_name_that_leads_elsewhere_later_is_refused_then():
    screen = webhooks(FakeResolver(hooks_example=[[PUBLIC], ["127.0.0.1"]]))
    await screen.check("https://hooks.example/x")
    with pytest.raises(WebhookRefused):
        await screen.destination("https://hooks.example/x")


@pytest.mark.parametrize("resolver", [FakeResolver(), SilentResolver()], ids=["none", "too late"])
async def test_a_name_without_an_address_is_taken_at_first_and_not_sent_to(resolver):
    screen = webhooks(resolver, seconds=0.01)
    await screen.check("https://hooks.example/x")
    with pytest.raises(Unresolved):
        await screen.destination("https://hooks.example/x")


# --- what settings open -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("http://127.0.0.1:9/", None),
        ("http://127.0.0.1:9000/x", ("127.0.0.1",)),
        ("http://127.0.0.1/x", ("127.0.0.1",)),
        ("https://127.1.2.3/x", ("127.1.2.3",)),
        ("http://[::1]:9000/", ("::1",)),
        ("http://localhost:9000/", ("127.0.0.1", "::1")),
        ("http://10.0.0.1:9000/", None),
        ("http://hooks.example/", None),
        ("http://localhost.:9000/", None),
        ("https://[::ffff:127.0.0.1]/", None),
        ("https://inside.example/", None),
    ],
)
async def test_loopback_by_http_is_a_setting_and_opens_nothing_else(text, addresses):
    screen = webhooks(FakeResolver(inside_example=[["127.0.0.1"]]), loopback_http=True)
    if addresses is None:
        with pytest.raises(WebhookRefused):
            await screen.check(text)
    else:
        assert (await screen.destination(text)).addresses == addresses


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("https://hooks.inside/x", True),
        ("https://HOOKS.inside:8443/x", True),
        ("https://10.0.0.1/", True),
        ("https://[fd00::1]/", True),
        ("https://other.inside/x", False),
        ("https://xhooks.inside/", False),
        ("https://10.0.0.2/", False),
        ("http://hooks.inside/x", False),
        ("https://hooks.inside:22/x", False),
    ],
)
async def test_hosts_may_be_allowed_at_private_addresses(text, allowed):
    private = [["10.0.0.1"]]
    resolver = FakeResolver(hooks_inside=private, other_inside=private, xhooks_inside=private)
    screen = webhooks(resolver, allow_hosts=["Hooks.Inside", "10.0.0.1", "[FD00:0::1]"])
    if allowed:
        assert (await screen.destination(text)).addresses
    else:
        with pytest.raises(WebhookRefused):
            await screen.check(text)


@pytest.mark.parametrize("entry", ["", "*", "https://h", "h:8080", "h/x", "u@h", "10.1", "fd00::1", "h?x"])
def test_what_is_no_host_cannot_be_allowed(entry):
    with pytest.raises(ValueError, match="expected is a host"):
        webhooks(allow_hosts=[entry])


# --- the system's own look-up -----------------------------------------------------------------------------------------


@pytest.fixture
def resolver():
    with system_resolver() as resolver:
        yield resolver


async def test_the_systems_names_are_looked_up_with_all_their_addresses(monkeypatch, resolver):
    answers = [
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", (PUBLIC, 0)),
        (socket.AF_INET6, socket.SOCK_STREAM, 6, "", (PUBLIC_6, 0, 0, 0)),
    ]
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, port, **_: answers * 2 if host == "hooks.example" else [])
    assert await resolver.addresses("hooks.example") == (PUBLIC, PUBLIC_6)


@pytest.mark.parametrize("error", [socket.gaierror(), UnicodeError(), OSError()])
async def test_a_name_that_the_system_cannot_look_up_has_no_address(monkeypatch, resolver, error):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    assert await resolver.addresses("hooks.example") == ()


async def test_slow_names_hold_so_many_threads_and_no_more(monkeypatch, resolver):
    begun, release = queue.Queue(), threading.Event()

    def slow(host, *_, **__):
        begun.put(host)
        release.wait(10)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    async with anyio.create_task_group() as tasks:
        for number in range(LOOKUPS + 4):
            tasks.start_soon(resolver.addresses, f"{number}.example")
        for _ in range(LOOKUPS):
            await to_thread.run_sync(begun.get)
        tasks.cancel_scope.cancel()
    tail = asyncio.ensure_future(resolver.addresses("last.example"))
    await asyncio.sleep(0)
    assert begun.empty()
    release.set()
    assert await tail == ()
    assert [begun.get(), begun.empty()] == ["last.example", True]
