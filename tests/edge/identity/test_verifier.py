"""What a token must be: each row fails one check, and nothing after that check has happened."""

import contextlib
import json

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joserfc import jws
from joserfc.jwk import ECKey, OctKey, OKPKey

from innkeeper.contract.caller import Caller
from innkeeper.contract.errors import Unavailable
from innkeeper.edge.identity.allow_list import AllowList
from innkeeper.edge.identity.bearer import TokenRefused
from innkeeper.edge.identity.claims import ClaimRules
from innkeeper.edge.identity.key_sets import KeySets
from innkeeper.edge.identity.verifier import Verifier
from innkeeper.testing.tokens import ABSENT, IDENTITY_CLAIM, TENANT_CLAIM, Mint, base64url

pytestmark = pytest.mark.anyio

MINT = Mint("https://gw.example")

GOOD_IDENTITY = {"key": "k", "name": "n", "kind": "remote", "workspaceId": 7}

REFUSED_UNFETCHED = [
    ({"alg": "none"}, {}, "alg"),
    ({"alg": "HS256"}, {}, "alg"),
    ({"alg": "ES256"}, {}, "alg"),
    ({"alg": "RS256"}, {}, "alg"),
    ({"alg": "eddsa"}, {}, "alg"),
    ({"alg": "Ed448"}, {}, "alg"),
    ({"alg": ["EdDSA"]}, {}, "alg"),
    ({"alg": ABSENT}, {}, "alg"),
    ({"typ": "JOSE"}, {}, "typ"),
    ({"typ": "dpop+jwt"}, {}, "typ"),
    ({"typ": 1}, {}, "typ"),
    ({"crit": ["exp"]}, {}, "extensions"),
    ({"crit": []}, {}, "extensions"),
    ({"b64": False}, {}, "extensions"),
    ({"b64": True}, {}, "extensions"),
    ({"kid": ABSENT}, {}, "kid"),
    ({"kid": ""}, {}, "kid"),
    ({"kid": 1}, {}, "kid"),
    ({"jku": ABSENT}, {}, "RFC 7515"),
    ({"jku": ""}, {}, "not a URL"),
    ({"jku": "https://gw.example@evil.example/"}, {}, "not a URL"),
    ({"jku": "https://gw.example\\@evil.example/"}, {}, "not a URL"),
    ({"jku": "https://gw.ex\u0430mple/"}, {}, "not a URL"),
    ({"jku": "file:///etc/passwd"}, {}, "not a URL"),
    ({"jku": "https://gw.example.evil.example/"}, {}, "allowed gateway"),
    ({"jku": "https://evil.example/gw.example"}, {}, "allowed gateway"),
    ({"jku": "https://evilgw.example/"}, {}, "allowed gateway"),
    ({"jku": "https://sub.gw.example/"}, {}, "allowed gateway"),
    ({"jku": "https://gw.example:444/"}, {}, "allowed gateway"),
    ({"jku": "https://gw.example./"}, {}, "allowed gateway"),
    ({"jku": "http://gw.example/.well-known/jwks.json"}, {}, "allowed gateway"),
    ({"jku": "https://gw.example/redirect?to=evil"}, {}, "query"),
    ({"jku": "https://gw.example/#x"}, {}, "query"),
    ({}, {"iss": ABSENT}, "iss is not a URL"),
    ({}, {"iss": "gateway"}, "iss is not a URL"),
    ({}, {"iss": 7}, "iss is not a URL"),
    ({}, {"iss": "https://other.example"}, "iss is not at its jku"),
    ({}, {"iss": "https://gw.example/"}, "iss is not an origin"),
    ({}, {"iss": "https://gw.example/tenant"}, "iss is not an origin"),
    ({}, {"iss": "HTTPS://GW.EXAMPLE"}, "iss is not an origin"),
]


@pytest.mark.parametrize(("header", "claims", "reason"), REFUSED_UNFETCHED)
async def test_what_the_token_itself_gives_away_is_refused_before_any_connection(
    make_verifier, source, token, header, claims, reason
):
    with pytest.raises(TokenRefused, match=reason):
        await make_verifier().verify(token(header=header, claims=claims))
    assert source.fetched == []


NOW = 1_800_000_000

REFUSED_CLAIMS = [
    ({"aud": ABSENT}, "audience"),
    ({"aud": "http://127.0.0.1:8080/a2a/"}, "audience"),
    ({"aud": "HTTP://127.0.0.1:8080/a2a"}, "audience"),
    ({"aud": ["http://127.0.0.1:8080/"]}, "audience"),
    ({"aud": []}, "audience"),
    ({"aud": {"http://127.0.0.1:8080/a2a": 1}}, "audience"),
    ({"exp": ABSENT}, "no exp"),
    ({"exp": None}, "exp is not a number"),
    ({"exp": str(NOW + 60)}, "exp is not a number"),
    ({"exp": True}, "exp is not a number"),
    ({"exp": NOW - 30}, "expired"),
    ({"exp": NOW - 31}, "expired"),
    ({"exp": 0}, "expired"),
    ({"exp": -1e300}, "expired"),
    ({"nbf": NOW + 31}, "not valid yet"),
    ({"nbf": "0"}, "nbf is not a number"),
    ({"iat": NOW + 31, "exp": NOW + 60}, "not valid yet"),
    ({"iat": [NOW]}, "iat is not a number"),
    ({"iat": NOW, "exp": NOW + 901}, "too long"),
    ({"iat": NOW - 800, "exp": NOW + 101}, "too long"),
    ({"iat": ABSENT, "exp": NOW + 901}, "too long"),
    ({"exp": 1e30}, "too long"),
    ({"exp": NOW + 10 * 365 * 86400}, "too long"),
    ({IDENTITY_CLAIM: {"key": "x" * 513}}, "malformed key"),
    ({IDENTITY_CLAIM: {"key": "a\x00b"}}, "malformed key"),
]


@pytest.mark.parametrize(("claims", "reason"), REFUSED_CLAIMS)
async def test_claims_that_are_signed_and_wrong_are_refused(make_verifier, token, claims, reason):
    with pytest.raises(TokenRefused, match=reason):
        await make_verifier().verify(token(claims=claims))


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": NOW - 29, "iat": NOW - 100},
        {"nbf": NOW + 30},
        {"iat": NOW + 30},
        {"iat": NOW, "exp": NOW + 900},
        {"iat": ABSENT, "exp": NOW + 900.0},
        {"aud": ["https://other.example/", "http://127.0.0.1:8080/a2a"]},
        {"nbf": 0},
    ],
)
async def test_the_edges_of_what_is_allowed_are_inside(make_verifier, token, claims):
    assert (await make_verifier().verify(token(claims=claims))).tenant == "hello"


@pytest.mark.parametrize("header", [{}, {"alg": "Ed25519"}, {"typ": ABSENT}, {"typ": "jwt"}, {"own": "x" * 1000}])
async def test_a_good_token_says_who_calls_whom(make_verifier, token, source, header):
    verified = await make_verifier().verify(token(header=header))
    assert (verified.caller, verified.tenant) == (Caller("remote:1:ann", "Ann", "remote", 1), "hello")
    assert source.fetched == ["https://gw.example/.well-known/jwks.json"]


async def test_a_key_that_the_token_brings_along_is_not_looked_at(make_verifier, clock):
    thief = Mint("https://gw.example")
    brought = {"jwk": thief.public_jwk(), "x5c": ["AAAA"], "x5u": "https://evil.example/"}
    forged = thief.token("http://127.0.0.1:8080/a2a", "hello", clock.now, header=brought)
    with pytest.raises(TokenRefused, match="does not verify"):
        await make_verifier().verify(forged)


async def test_a_damaged_signature_does_not_verify(make_verifier, token):
    good = token()
    head, payload, signature = good.split(".")
    other = base64url(json.dumps({"x": 1}).encode())
    for damaged in (
        f"{head}.{payload}.{signature[:-4]}",
        f"{head}.{payload}.{signature[::-1]}",
        f"{head}.{other}.AAAA",
    ):
        with pytest.raises(TokenRefused):
            await make_verifier().verify(damaged)


async def test_the_public_key_is_no_shared_secret(make_verifier, mint):
    header = {"alg": "HS256", "kid": mint.kid, "typ": "JWT", "jku": mint.jku}
    shared = OctKey.import_key(mint.jwks())
    forged = jws.serialize_compact(header, b"{}", shared, algorithms=["HS256"])
    with pytest.raises(TokenRefused, match="alg"):
        await make_verifier().verify(forged)


def jwk_of(key, **more):
    return {**key.as_dict(private=False), **more}


@pytest.mark.parametrize(
    "spoil",
    [
        lambda jwk: {**jwk, "kid": "other"},
        lambda jwk: {name: value for name, value in jwk.items() if name != "kid"},
        lambda jwk: {**jwk, "use": "enc"},
        lambda jwk: {**jwk, "alg": "RS256"},
        lambda jwk: {**jwk, "key_ops": ["encrypt"]},
        lambda jwk: {**jwk, "crv": "X25519"},
        lambda jwk: {**jwk, "crv": "Ed448"},
        lambda jwk: {**jwk, "kty": "EC"},
        lambda jwk: {**jwk, "x": "AAAA"},
        lambda jwk: {**jwk, "x": None},
        lambda jwk: {**jwk, "d": "AAAA"},
        lambda jwk: jwk_of(OKPKey.generate_key("Ed448"), kid=jwk["kid"]),
        lambda jwk: jwk_of(ECKey.generate_key("P-256"), kid=jwk["kid"]),
        lambda jwk: "no key",
    ],
)
async def test_a_key_that_cannot_be_the_one_is_passed_over_and_spoils_no_other(
    make_verifier, source, mint, clock, token, spoil
):
    good = Mint("https://gw.example", "gw-2")
    source.documents[mint.jku] = json.dumps({"keys": [spoil(mint.public_jwk()), good.public_jwk()]}).encode()
    verifier = make_verifier()
    with pytest.raises(TokenRefused, match="no key of this kid"):
        await verifier.verify(token())
    assert await verifier.verify(good.token("http://127.0.0.1:8080/a2a", "hello", clock.now))


async def test_a_kid_that_two_keys_have_names_neither(make_verifier, source, mint, token):
    twin = Mint("https://gw.example")
    source.documents[mint.jku] = json.dumps({"keys": [mint.public_jwk(), twin.public_jwk()]}).encode()
    with pytest.raises(TokenRefused, match="no key of this kid"):
        await make_verifier().verify(token())


@pytest.mark.parametrize("document", [b"", b"<html>", b"[]", b"{}", b'{"keys":{}}', b'{"keys":[],"keys":[]}', b"\xff"])
async def test_a_document_that_is_no_key_set_is_none_at_all(make_verifier, source, mint, token, document):
    source.documents[mint.jku] = document
    with pytest.raises(Unavailable):
        await make_verifier().verify(token())


async def test_a_gateway_that_has_withdrawn_all_its_keys_is_believed(make_verifier, source, mint, token):
    source.documents[mint.jku] = b'{"keys":[]}'
    with pytest.raises(TokenRefused, match="no key"):
        await make_verifier().verify(token())


@pytest.mark.parametrize(
    ("claim", "caller"),
    [
        (GOOD_IDENTITY, Caller("k", "n", "remote", 7)),
        ({"key": "k"}, Caller("k")),
        ({**GOOD_IDENTITY, "workspaceId": None, "name": 3}, Caller("k", "", "remote")),
        ({**GOOD_IDENTITY, "workspaceId": True}, Caller("k", "n", "remote")),
        ({**GOOD_IDENTITY, "workspaceId": "7"}, Caller("k", "n", "remote")),
        (ABSENT, Caller("")),
        (None, Caller("")),
        ([GOOD_IDENTITY], Caller("")),
        ("k", Caller("")),
        ({"key": 3}, Caller("")),
        ({}, Caller("")),
    ],
)
async def test_an_identity_is_read_for_what_it_is(make_verifier, token, claim, caller):
    assert (await make_verifier().verify(token(claims={IDENTITY_CLAIM: claim}))).caller == caller


@pytest.mark.parametrize("claim", [ABSENT, None, "", 3, ["hello"], {"id": "hello"}])
async def test_a_tenant_that_is_no_text_is_none(make_verifier, token, claim):
    assert (await make_verifier().verify(token(claims={TENANT_CLAIM: claim}))).tenant == ""


async def test_a_claim_by_another_name_is_the_only_one_that_counts(make_verifier, token):
    verifier = make_verifier(tenant_claim="https://x.example/t", identity_claim="https://x.example/i")
    default = await verifier.verify(token())
    assert (default.caller, default.tenant) == (Caller(""), "")
    moved = await verifier.verify(token(claims={"https://x.example/t": "b", "https://x.example/i": {"key": "m"}}))
    assert (moved.caller, moved.tenant) == (Caller("m"), "b")


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "..",
        "a.b",
        "a.b.c.d",
        "a.b.c",
        "é.é.é",
        "a" * 20000,
        '{"payload":"","signatures":[]}',
        "e30.e30.",
        "e30..e30",
    ],
)
async def test_what_is_no_compact_token_is_malformed(make_verifier, source, text):
    with pytest.raises(TokenRefused, match=r"malformed|alg"):
        await make_verifier().verify(text)
    assert source.fetched == []


@pytest.mark.parametrize(
    "payload", [b"[]", b"3", b"null", b'{"exp":1,"exp":2}', b'{"exp":NaN}', b"\xff", b'{"a":"\\ud800"}']
)
async def test_a_payload_that_two_parsers_could_read_differently_is_malformed(make_verifier, source, mint, payload):
    header = json.dumps({"alg": "EdDSA", "kid": mint.kid, "jku": mint.jku}).encode()
    with pytest.raises(TokenRefused, match="malformed"):
        await make_verifier().verify(mint.signed(header, payload))
    assert source.fetched == []


async def test_a_verified_token_is_remembered_until_it_expires(make_verifier, token, clock):
    verifier, good = make_verifier(), token()
    first = await verifier.verify(good)
    assert await verifier.verify(good) is first
    clock.now += 149
    assert await verifier.verify(good) is first
    clock.now += 1
    with pytest.raises(TokenRefused, match="expired"):
        await verifier.verify(good)


async def test_a_remembered_token_is_forgotten_when_its_key_leaves_the_set(make_verifier, token, clock, source, mint):
    verifier, good = make_verifier(), token(claims={"exp": NOW + 900})
    await verifier.verify(good)
    source.documents[mint.jku] = Mint("https://gw.example", "gw-2").jwks()
    assert await verifier.verify(good)
    clock.now += 601
    with pytest.raises(TokenRefused, match="no key"):
        await verifier.verify(good)


async def test_so_many_tokens_are_remembered_and_no_more(make_verifier, token):
    verifier = make_verifier(kept=3)
    tokens = [token() for _ in range(5)]
    first = [await verifier.verify(each) for each in tokens]
    assert len(verifier._verified) == 3
    assert await verifier.verify(tokens[4]) is first[4]
    assert await verifier.verify(tokens[0]) is not first[0]


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
HEADERS = st.dictionaries(
    st.sampled_from(["alg", "kid", "jku", "typ", "crit", "b64", "jwk", "x5c", "zip"]), JSON_VALUES
)
CLAIMS = st.dictionaries(
    st.sampled_from(["iss", "aud", "exp", "nbf", "iat", "jti", "sub", IDENTITY_CLAIM, TENANT_CLAIM]), JSON_VALUES
)


class AnySource:
    """A key set with the mint's key, which says what it is for, and with something else."""

    def __init__(self, other):
        self.other = other

    async def fetch(self, url):
        return json.dumps({"keys": [{**MINT.public_jwk(), "use": self.other}, MINT.public_jwk(), self.other]}).encode()


@settings(max_examples=300, deadline=None)
@given(header=HEADERS, claims=CLAIMS, other=JSON_VALUES)
def test_a_token_of_any_content_is_verified_or_refused(header, claims, other):
    verifier = Verifier(
        AllowList([MINT.origin]), KeySets(AnySource(other), lambda: 0.0), ClaimRules("a"), lambda: float(NOW)
    )

    async def judged():
        with contextlib.suppress(TokenRefused):
            await verifier.verify(MINT.token("a", "t", NOW, header=header, claims=claims))

    anyio.run(judged)
