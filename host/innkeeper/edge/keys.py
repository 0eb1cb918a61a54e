"""The host's Ed25519 keys: made, kept where nobody else reads, used to sign, published (RFC 7517, RFC 8037)."""

import json
import os
import secrets
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, final

from joserfc import jws
from joserfc.errors import JoseError, UnsupportedAlgorithmError
from joserfc.jwk import OKPKey
from joserfc.jws import JWSRegistry

from innkeeper.contract.errors import StartFault

ALGORITHM: Final = "EdDSA"
"""As it is written in headers and key sets: RFC 9864 prefers "Ed25519", but verifiers of cards know this one."""

MAKE_ONE: Final = "make a key with: innkeeper keys new"

Jwk = dict[str, Any]
"""A JSON Web Key."""


@dataclass(frozen=True, slots=True)
class DetachedSignature:
    """A flattened JWS without its payload (RFC 7515 §7.2.2, appendix F); both members are base64url."""

    protected: str
    signature: str


@final
class SigningKeys:
    """One key that signs, the first, and ``published``: the public halves of all."""

    def __init__(self, keys: Sequence[OKPKey]) -> None:
        self._signing = keys[0]
        self._kid: str = self._signing.kid or ""
        published = [{**key.as_dict(private=False), "use": "sig", "alg": ALGORITHM} for key in keys]
        self._jwks = json.dumps({"keys": published}, separators=(",", ":")).encode()
        self.published: Sequence[Jwk] = published

    @property
    def kid(self) -> str:
        """The id of the key that signs."""
        return self._kid

    def sign(self, payload: bytes, header: Mapping[str, str]) -> DetachedSignature:
        """Sign; ``alg`` and ``kid`` are put before the rest of the protected header."""
        protected = {"alg": ALGORITHM, "kid": self._kid, **header}
        signed = jws.serialize_json({"protected": protected}, payload, self._signing, registry=_REGISTRY)
        return DetachedSignature(signed["protected"], signed["signature"])

    def jwks(self) -> bytes:
        """Return the key set to publish: JSON without any private member."""
        return self._jwks


class _EdDSAOnly(JWSRegistry):
    """EdDSA and nothing else, and without joserfc's warning at each use of the name."""

    def get_alg(self, name: str) -> Any:
        if name != ALGORITHM:
            raise UnsupportedAlgorithmError(f"Algorithm of '{name}' is not allowed")
        return self.algorithms[name]


_REGISTRY: Final = _EdDSAOnly()


def new_key(now: datetime) -> Jwk:
    """Make a private key; its kid begins with the date, so that an operator can tell keys apart."""
    kid = f"{now:%Y-%m-%d}-{secrets.token_hex(4)}"
    key = OKPKey.generate_key("Ed25519", parameters={"kid": kid, "use": "sig", "alg": ALGORITHM})
    return dict(key.as_dict(private=True))


def write_key(path: Path, key: Jwk) -> None:
    """Write a key to a new file that only its owner can read; it is there whole or not at all.

    Raises:
        StartFault: the file exists, or cannot be written.
    """
    try:
        with _draft(path, key) as draft:
            os.link(draft, path)  # unlike a rename this never replaces a key
    except FileExistsError:
        raise StartFault(f"{path}: there is a key already; remove it first, or name another file") from None
    except OSError as error:
        raise _unwritable(path, error) from None


def rotate_key(path: Path, key: Jwk) -> SigningKeys:
    """Let a new key sign from now on; of the keys before, that which signed stays published.

    The file is the old one or the new one, whole, at every moment.

    Raises:
        StartFault: as ``load_key_file``, or the file cannot be written.
    """
    signed_before = load_key_file(path).published[0]
    try:
        with _draft(path, {"keys": [key, signed_before]}) as draft:
            draft.replace(path)
    except OSError as error:
        raise _unwritable(path, error) from None
    return load_key_file(path)


@contextmanager
def _draft(path: Path, content: Jwk) -> Iterator[Path]:
    """Write a file beside the one that is meant, for its owner only and on the disk; it is gone at the end."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(json.dumps(content, indent=2) + "\n")
            file.flush()
            os.fsync(file.fileno())
        yield draft
    finally:
        draft.unlink(missing_ok=True)


def _unwritable(path: Path, error: OSError) -> StartFault:
    return StartFault(f"{path}: the key cannot be written: {error.strerror}")


def load_key_file(path: Path) -> SigningKeys:
    """Read a JWK or a JWK Set, of which the first key signs.

    Raises:
        StartFault: there is no such file, others may read it, or what it holds is not an Ed25519 key.
    """
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            content = file.read()
    except FileNotFoundError:
        raise StartFault(f"{path}: there is no such signing key; {MAKE_ONE}") from None
    except OSError as error:
        raise StartFault(f"{path}: the signing key cannot be read: {error.strerror}") from None
    if mode & 0o077:
        raise StartFault(f"{path}: the signing key may be read by others (mode {mode:04o}); run: chmod 600 {path}")
    return key_from_json(content.decode("utf-8", "replace"), str(path))


def load_or_create_key_file(path: Path, now: datetime | None = None) -> SigningKeys:
    """Read the key file; where there is none, make one first, dated ``now`` (None: today).

    Raises:
        StartFault: as ``load_key_file`` and ``write_key``.
    """
    if not path.exists():
        write_key(path, new_key(now or datetime.now(UTC)))
    return load_key_file(path)


def key_from_json(text: str, source: str = "the signing key") -> SigningKeys:
    """Read a JWK or a JWK Set, of which the first key signs and the others are published too.

    Raises:
        StartFault: naming ``source`` and what is wrong with it, never the key itself.
    """
    try:
        parsed = json.loads(text)
    except ValueError:
        raise StartFault(f"{source}: not JSON; a JWK or a JWK Set is expected; {MAKE_ONE}") from None
    members = parsed.get("keys", [parsed]) if isinstance(parsed, dict) else [parsed]
    if not isinstance(members, list) or not members:
        raise StartFault(f"{source}: a JWK Set without a key; {MAKE_ONE}")
    keys = [
        _key(member, source if len(members) == 1 else f"{source}, key {number}", signs=number == 1)
        for number, member in enumerate(members, 1)
    ]
    if len({key.kid for key in keys}) < len(keys):
        raise StartFault(f"{source}: two keys have the same kid")
    return SigningKeys(keys)


def _key(jwk: object, source: str, *, signs: bool) -> OKPKey:
    if not isinstance(jwk, dict):
        raise StartFault(f"{source}: not a JWK; {MAKE_ONE}")
    if (jwk.get("kty"), jwk.get("crv")) != ("OKP", "Ed25519"):
        raise StartFault(f"{source}: not an Ed25519 key (kty OKP, crv Ed25519); {MAKE_ONE}")
    if not isinstance(jwk.get("kid"), str) or not jwk["kid"]:
        raise StartFault(f"{source}: it has no kid, which verifiers need to find the key")
    if signs and "d" not in jwk:
        raise StartFault(f"{source}: a public key (no d) cannot sign; {MAKE_ONE}")
    needed: Jwk = {name: jwk[name] for name in ("kty", "crv", "x", "d", "kid") if name in jwk}
    try:
        raw = OKPKey.import_key(needed).raw_value
        key = OKPKey.import_key(raw, {"kid": jwk["kid"]})  # made anew, so that its x is worked out and not believed
        matches = key.as_dict(private=False)["x"] == jwk["x"].rstrip("=")
    except (JoseError, ValueError, TypeError, AttributeError, KeyError):
        raise StartFault(f"{source}: x or d is missing or damaged; {MAKE_ONE}") from None
    if not matches:
        raise StartFault(f"{source}: x is not the public half of d")
    return key
