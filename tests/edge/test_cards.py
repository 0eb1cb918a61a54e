"""Cards: what they say, and that every verifier finds the signature good and a changed card bad."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from a2a.types import a2a_pb2
from a2a.utils.proto_utils import validate_proto_required_fields
from a2a.utils.signing import InvalidSignaturesError, create_signature_verifier
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from google.protobuf.json_format import MessageToDict, ParseDict
from jwt import PyJWK

from innkeeper.contract.agent import Agent, Provider, Skill
from innkeeper.contract.errors import StartFault
from innkeeper.contract.turn import Turn
from innkeeper.edge.cards import Cards, SignedCard, canonical_payload, path_interfaces, sign_card, tenant_card
from innkeeper.edge.keys import key_from_json, new_key

KEYS = key_from_json(json.dumps(new_key(datetime(2026, 3, 4, tzinfo=UTC))))
(PUBLIC,) = json.loads(KEYS.jwks())["keys"]
JKU = "https://agents.test/.well-known/jwks.json"


async def greet(turn: Turn) -> str:
    """Greet whoever speaks.

    Nobody else.
    """
    return turn.text


PLAIN = Agent("hello", greet)
RICH = Agent(
    "weather",
    greet,
    name="Café ☂ 😀",
    description='e\u0301 is not é; \u2028 \u0085 </script> "quoted" \\ \x7f \x01',
    version="2.1.0",
    skills=(
        Skill("ﬀ", name="😀 before \ufb00", tags=("été", ""), examples=("Wie wird's?", "")),
        Skill("now", description="Says what the sky looks like."),
    ),
    input_modes=("text/plain", "application/json"),
    streaming=False,
    provider=Provider("Météo", "https://meteo.test"),
    documentation_url="https://meteo.test/docs",
    icon_url="https://meteo.test/icon.png",
)
CARDS = Cards(
    KEYS,
    "https://agents.test/",
    {"hello": PLAIN, "weather": RICH},
    name="Innkeeper",
    description="A host of A2A agents.",
)


def served(card: SignedCard | None) -> dict[str, Any]:
    assert card is not None
    parsed: dict[str, Any] = json.loads(card.body)
    return parsed


def every_card() -> dict[str, SignedCard]:
    named = {
        f"{tenant} by {'path' if by_path else 'name'}": CARDS.find_tenant_card(tenant, by_path=by_path)
        for tenant in ("hello", "weather")
        for by_path in (True, False)
    }
    return {"stub": CARDS.stub()} | {name: card for name, card in named.items() if card is not None}


def odd_card() -> a2a_pb2.AgentCard:
    """A card with what later cards will have: keys whose order depends on how one sorts, numbers, empty values."""
    card = tenant_card(RICH, path_interfaces("https://agents.test", "weather"))
    for name in ("\ufb00", "😀", "é", "e\u0301", "z", "Z", "\U00010000"):
        card.security_schemes[name].http_auth_security_scheme.scheme = "Bearer"
    card.security_schemes["empty"].mtls_security_scheme.SetInParent()
    card.security_requirements.add().schemes["😀"].SetInParent()
    card.capabilities.extensions.add(uri="https://x.test", required=False).params.update(
        {"zero": 0, "whole": 3, "half": 0.5, "huge": 1e300, "tiny": 1e-7, "big": 2**53 - 1, "no": False, "in": [{}, ""]}
    )
    return card


def canonical(value: Any) -> str:
    """RFC 8785 once more, from its text: keys by UTF-16 code units, as few escapes as can be, numbers as ECMAScript."""
    if isinstance(value, dict):
        members = sorted(value.items(), key=lambda member: [*member[0].encode("utf-16-be")])
        return "{" + ",".join(f"{canonical(key)}:{canonical(item)}" for key, item in members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, float):
        return ECMASCRIPT[value]
    return json.dumps(value)


ECMASCRIPT = {
    0.0: "0",
    3.0: "3",
    0.5: "0.5",
    1e300: "1e+300",
    1e-7: "1e-7",
    float(2**53 - 1): "9007199254740991",
}
"""Number::toString of the numbers above, worked out by hand."""


def pruned(value: Any) -> Any:
    """What is left of a document when everything empty has gone, inside first."""
    if isinstance(value, dict):
        return {key: kept for key, item in value.items() if (kept := pruned(item)) not in ("", None, [], {})}
    if isinstance(value, list):
        return [kept for item in value if (kept := pruned(item)) not in ("", None, [], {})]
    return value


def verify_by_hand(body: bytes) -> None:
    """Verify a served card with nothing but its bytes, the key set and this file."""
    document = json.loads(body)
    (signature,) = document.pop("signatures")
    payload = urlsafe_b64encode(canonical(pruned(document)).encode()).rstrip(b"=").decode()
    assert set(signature) == {"protected", "signature"}
    signed = f"{signature['protected']}.{payload}".encode()
    Ed25519PublicKey.from_public_bytes(decoded(PUBLIC["x"])).verify(decoded(signature["signature"]), signed)


def decoded(segment: str) -> bytes:
    return urlsafe_b64decode(segment + "=" * (-len(segment) % 4))


def verify_by_sdk(body: bytes) -> None:
    def key(kid: str | None, jku: str | None) -> PyJWK:
        assert (kid, jku) == (KEYS.kid, JKU)
        return PyJWK(PUBLIC)

    create_signature_verifier(key, ["EdDSA"])(ParseDict(json.loads(body), a2a_pb2.AgentCard()))


def test_the_stub_card_tells_of_the_host_and_of_no_tenant() -> None:
    card = served(CARDS.stub())
    assert {key: value for key, value in card.items() if key not in ("signatures", "version")} == {
        "name": "Innkeeper",
        "description": "A host of A2A agents.",
        "supportedInterfaces": [
            {"url": "https://agents.test/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
            {"url": "https://agents.test/agents", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
        ],
        "capabilities": {"streaming": True, "pushNotifications": False, "extendedAgentCard": True},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "host", "name": "Innkeeper", "description": "A host of A2A agents.", "tags": ["host"]}],
    }
    assert b"hello" not in CARDS.stub().body


def test_a_tenants_card_advertises_the_way_it_was_asked_for() -> None:
    rpc = {"protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    rest = {"protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"}
    by_path = served(CARDS.find_tenant_card("hello", by_path=True))
    by_name = served(CARDS.find_tenant_card("hello", by_path=False))
    assert by_path.pop("supportedInterfaces") == [
        rpc | {"url": "https://agents.test/agents/hello"},
        rest | {"url": "https://agents.test/agents/hello"},
    ]
    assert by_name.pop("supportedInterfaces") == [
        rpc | {"url": "https://agents.test/a2a", "tenant": "hello"},
        rest | {"url": "https://agents.test/agents", "tenant": "hello"},
    ]
    del by_path["signatures"], by_name["signatures"]
    assert by_path == by_name


def test_an_agent_that_says_little_gets_a_full_card_all_the_same() -> None:
    card = served(CARDS.find_tenant_card("hello", by_path=True))
    assert (card["name"], card["description"], card["version"]) == ("hello", "Greet whoever speaks.", "0.1.0")
    assert card["skills"] == [
        {"id": "hello", "name": "hello", "description": "Greet whoever speaks.", "tags": ["hello"]}
    ]


def test_an_agent_that_says_much_has_all_of_it_on_its_card() -> None:
    card = served(CARDS.find_tenant_card("weather", by_path=True))
    assert card["name"] == "Café ☂ 😀"
    assert card["capabilities"]["streaming"] is False
    assert card["provider"] == {"organization": "Météo", "url": "https://meteo.test"}
    assert card["documentationUrl"] == "https://meteo.test/docs"
    assert card["iconUrl"] == "https://meteo.test/icon.png"
    assert card["defaultInputModes"] == ["text/plain", "application/json"]
    assert [skill["name"] for skill in card["skills"]] == ["😀 before \ufb00", "now"]


def test_an_unknown_tenant_has_no_card() -> None:
    assert CARDS.find_tenant_card("nobody", by_path=True) is None
    assert CARDS.find_tenant_card("nobody", by_path=False) is None


@pytest.mark.parametrize("card", [pytest.param(card, id=name) for name, card in every_card().items()])
def test_every_card_is_verified_by_the_sdk_and_by_hand_and_has_no_empty_required_field(card: SignedCard) -> None:
    verify_by_sdk(card.body)
    verify_by_hand(card.body)
    validate_proto_required_fields(ParseDict(json.loads(card.body), a2a_pb2.AgentCard()))


def test_a_card_with_every_oddity_is_verified_by_the_sdk_and_by_hand() -> None:
    card = sign_card(odd_card(), KEYS, JKU)
    verify_by_sdk(card.body)
    verify_by_hand(card.body)


def test_keys_are_sorted_by_utf16_and_not_by_code_point() -> None:
    payload = canonical_payload(odd_card()).decode()  # U+1F600 is a pair beginning with D83D, which is before FB00
    assert payload.index('"😀":') < payload.index('"\ufb00":')


def test_the_protected_header_has_what_verifiers_need() -> None:
    (signature,) = served(CARDS.stub())["signatures"]
    assert json.loads(decoded(signature["protected"])) == {
        "alg": "EdDSA",
        "kid": KEYS.kid,
        "typ": "JOSE",
        "jku": JKU,
    }


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Café", "Cafe"),
        ("is not é", "is not e\u0301"),
        ("2.1.0", "2.1.1"),
        ("/agents/weather", "/agents/weathes"),
        ('"streaming":false', '"streaming":true'),
        ("0.5", "3.0"),
        ('"Z":', '"Y":'),
    ],
)
def test_a_card_that_was_changed_is_found_out_by_both(old: str, new: str) -> None:
    body = sign_card(odd_card(), KEYS, JKU).body
    assert old.encode() in body
    changed = body.replace(old.encode(), new.encode(), 1)
    with pytest.raises(InvalidSignaturesError):
        verify_by_sdk(changed)
    with pytest.raises(InvalidSignature):
        verify_by_hand(changed)


@pytest.mark.parametrize(
    "card", [*(pytest.param(card, id=name) for name, card in every_card().items()), sign_card(odd_card(), KEYS, JKU)]
)
def test_a_served_card_read_and_written_again_is_the_same_document(card: SignedCard) -> None:
    document = json.loads(card.body)
    assert MessageToDict(ParseDict(document, a2a_pb2.AgentCard())) == document


def test_signing_leaves_the_card_as_it_was_and_gives_the_same_bytes_each_time() -> None:
    card = odd_card()
    once, twice = sign_card(card, KEYS, JKU), sign_card(card, KEYS, JKU)
    assert once == twice
    assert not card.signatures


def test_an_etag_is_quoted_and_changes_with_the_card() -> None:
    tags = {card.etag for card in every_card().values()}
    assert len(tags) == len(every_card())
    assert all(tag[0] == tag[-1] == '"' and tag[1:-1].isalnum() for tag in tags)


def test_every_empty_required_field_of_every_card_is_named_in_one_start_fault() -> None:
    agents = {
        "a": replace(PLAIN, version="", input_modes=()),
        "b": PLAIN,
        "c": replace(PLAIN, output_modes=(), provider=Provider("", "https://x.test")),
    }
    with pytest.raises(StartFault) as refused:
        Cards(KEYS, "https://agents.test", agents, name="", description="d")
    assert set(refused.value.faults) >= {
        "[card]: its card needs name",
        "tenant 'a': its card needs version",
        "tenant 'a': its card needs default_input_modes",
        "tenant 'c': its card needs default_output_modes",
        "tenant 'c': its card needs provider.organization",
    }
    assert not any("'b'" in fault for fault in refused.value.faults)


def test_the_key_set_is_that_of_the_keys() -> None:
    assert CARDS.jwks() == KEYS.jwks()
