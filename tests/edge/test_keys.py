"""Signing keys: what is taken, what is refused and how, and what is ever shown of them."""

import json
import stat
from base64 import urlsafe_b64decode, urlsafe_b64encode
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from joserfc.jwk import ECKey, OKPKey

from innkeeper.contract.errors import StartFault
from innkeeper.edge.keys import (
    key_from_json,
    load_key_file,
    load_or_create_key_file,
    new_key,
    rotate_key,
    write_key,
)

NOW = datetime(2026, 3, 4, 5, 6, tzinfo=UTC)
KEY = new_key(NOW)
OTHER = new_key(NOW)


def without(key: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in key.items() if name not in names}


def decoded(segment: str) -> bytes:
    return urlsafe_b64decode(segment + "=" * (-len(segment) % 4))


def verify(public: dict[str, Any], payload: bytes, protected: str, signature: str) -> None:
    """RFC 7515 §5.2 by hand, from the published key alone."""
    signed = f"{protected}.{urlsafe_b64encode(payload).rstrip(b'=').decode()}".encode()
    Ed25519PublicKey.from_public_bytes(decoded(public["x"])).verify(decoded(signature), signed)


def test_a_new_key_is_a_private_one_of_its_own_and_its_kid_tells_the_date() -> None:
    assert (KEY["kty"], KEY["crv"], KEY["use"], KEY["alg"]) == ("OKP", "Ed25519", "sig", "EdDSA")
    assert KEY["kid"].startswith("2026-03-04-")
    assert KEY["kid"] != OTHER["kid"]
    assert KEY["d"] != OTHER["d"]


def test_a_signature_is_verified_by_the_published_key_and_no_other() -> None:
    keys = key_from_json(json.dumps(KEY))
    signed = keys.sign(b"payload", {"typ": "JOSE", "jku": "http://127.0.0.1:8080/.well-known/jwks.json"})
    assert json.loads(decoded(signed.protected)) == {
        "alg": "EdDSA",
        "kid": KEY["kid"],
        "typ": "JOSE",
        "jku": "http://127.0.0.1:8080/.well-known/jwks.json",
    }
    (public,) = json.loads(keys.jwks())["keys"]
    verify(public, b"payload", signed.protected, signed.signature)
    for key, payload in ((public, b"paylaod"), (OTHER, b"payload")):
        with pytest.raises(InvalidSignature):
            verify(key, payload, signed.protected, signed.signature)


def test_keys_sign_from_many_threads_without_a_warning_or_a_mix_up() -> None:
    keys = key_from_json(json.dumps(KEY))
    payloads = [str(number).encode() for number in range(50)]
    with ThreadPoolExecutor(8) as threads:
        signatures = list(threads.map(lambda payload: keys.sign(payload, {}), payloads))
    for payload, signed in zip(payloads, signatures, strict=True):
        verify(KEY, payload, signed.protected, signed.signature)


def test_the_published_set_has_no_private_member() -> None:
    assert json.loads(key_from_json(json.dumps({"keys": [KEY, OTHER]})).jwks()) == {
        "keys": [without(KEY, "d"), without(OTHER, "d")]
    }


def test_of_a_set_the_first_signs_and_the_others_need_no_private_half() -> None:
    keys = key_from_json(json.dumps({"keys": [KEY, without(OTHER, "d")]}))
    assert keys.kid == KEY["kid"]
    assert [key["kid"] for key in json.loads(keys.jwks())["keys"]] == [KEY["kid"], OTHER["kid"]]


def test_a_key_without_the_optional_members_is_as_good() -> None:
    assert key_from_json(json.dumps(without(KEY, "use", "alg"))).jwks() == key_from_json(json.dumps(KEY)).jwks()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "not JSON"),
        ("-----BEGIN PRIVATE KEY-----", "not JSON"),
        ('"text"', "not a JWK"),
        ("null", "not a JWK"),
        ({"keys": []}, "without a key"),
        ({"keys": {}}, "without a key"),
        ({"keys": [KEY, 5]}, "key 2: not a JWK"),
        (ECKey.generate_key("P-256").as_dict(private=True) | {"kid": "k"}, "not an Ed25519 key"),
        (OKPKey.generate_key("X25519").as_dict(private=True) | {"kid": "k"}, "not an Ed25519 key"),
        (without(KEY, "kid"), "no kid"),
        (KEY | {"kid": ""}, "no kid"),
        (KEY | {"kid": 5}, "no kid"),
        (without(KEY, "d"), "public key (no d)"),
        ({"keys": [without(KEY, "d"), OTHER]}, "key 1: a public key (no d)"),
        (without(KEY, "x"), "x or d is missing or damaged"),
        (KEY | {"x": 5}, "x or d is missing or damaged"),
        (KEY | {"d": "c2hvcnQ"}, "x or d is missing or damaged"),
        (KEY | {"d": "§"}, "x or d is missing or damaged"),
        (KEY | {"d": None}, "x or d is missing or damaged"),
        (KEY | {"x": OTHER["x"]}, "x is not the public half of d"),
        ({"keys": [KEY, OTHER | {"kid": KEY["kid"]}]}, "same kid"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_signing_key_is_refused_by_name_without_showing_it(content: Any, reason: str) -> None:
    text = content if isinstance(content, str) else json.dumps(content)
    with pytest.raises(StartFault) as refused:
        key_from_json(text, "INNKEEPER_AUTH__SIGNING_KEY")
    (fault,) = refused.value.faults
    assert fault.startswith("INNKEEPER_AUTH__SIGNING_KEY")
    assert reason in fault
    assert KEY["d"] not in fault


def test_a_written_key_is_for_its_owner_only_and_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "signing-key.json"
    write_key(path, KEY)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load_key_file(path).kid == KEY["kid"]
    assert list(tmp_path.iterdir()) == [path]


def test_a_key_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "signing-key.json"
    write_key(path, KEY)
    with pytest.raises(StartFault, match="there is a key already"):
        write_key(path, OTHER)
    assert load_key_file(path).kid == KEY["kid"]
    assert list(tmp_path.iterdir()) == [path]


def test_of_many_writers_at_once_one_wins(tmp_path: Path) -> None:
    path = tmp_path / "signing-key.json"

    def write(number: int) -> bool:
        try:
            write_key(path, new_key(NOW))
        except StartFault:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(write, range(16))) == 1
    load_key_file(path)


def test_a_key_that_cannot_be_written_says_why(tmp_path: Path) -> None:
    with pytest.raises(StartFault, match=r"absent/key\.json: the key cannot be written: No such file"):
        write_key(tmp_path / "absent" / "key.json", KEY)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o620, 0o601])
def test_a_key_file_that_others_may_touch_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "key.json"
    write_key(path, KEY)
    path.chmod(mode)
    with pytest.raises(StartFault, match=rf"mode {mode:04o}\); run: chmod 600"):
        load_key_file(path)


def test_a_missing_key_file_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(StartFault, match=r"key\.json: there is no such signing key; .*innkeeper keys new"):
        load_key_file(tmp_path / "key.json")


def test_a_key_file_that_is_a_folder_or_not_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StartFault, match="cannot be read: Is a directory"):
        load_key_file(tmp_path)
    path = tmp_path / "key.json"
    path.touch(0o600)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(StartFault, match=r"key\.json: not JSON"):
        load_key_file(path)


def test_a_key_is_made_where_there_is_none_and_kept_where_there_is_one(tmp_path: Path) -> None:
    path = tmp_path / "key.json"
    made = load_or_create_key_file(path, NOW)
    assert made.kid.startswith("2026-03-04-")
    assert load_or_create_key_file(path, NOW).kid == made.kid


def test_a_rotated_key_signs_and_the_one_before_stays_published_without_its_private_half(tmp_path: Path) -> None:
    path = tmp_path / "key.json"
    write_key(path, KEY)
    rotated = rotate_key(path, OTHER)
    assert rotated.kid == OTHER["kid"] == load_key_file(path).kid
    published = json.loads(rotated.jwks())["keys"]
    assert [key["kid"] for key in published] == [OTHER["kid"], KEY["kid"]]
    assert KEY["d"] not in path.read_text()
    assert (stat.S_IMODE(path.stat().st_mode), list(tmp_path.iterdir())) == (0o600, [path])
    signed = rotated.sign(b"payload", {})
    verify(published[0], b"payload", signed.protected, signed.signature)


def test_only_the_key_that_signed_last_stays_published(tmp_path: Path) -> None:
    path = tmp_path / "key.json"
    write_key(path, KEY)
    third = new_key(NOW)
    rotate_key(path, OTHER)
    assert [key["kid"] for key in rotate_key(path, third).published] == [third["kid"], OTHER["kid"]]


def test_a_key_that_others_may_read_is_not_rotated(tmp_path: Path) -> None:
    path = tmp_path / "key.json"
    write_key(path, KEY)
    path.chmod(0o644)
    with pytest.raises(StartFault, match="may be read by others"):
        rotate_key(path, OTHER)
    assert KEY["kid"] in path.read_text()
