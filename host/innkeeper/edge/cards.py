"""Agent cards: built once, signed once, served as the same bytes each time (A2A v1.0 §4.4, §8)."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Final, final

import rfc8785
from a2a.types import a2a_pb2
from a2a.utils.constants import TransportProtocol
from a2a.utils.errors import InvalidParamsError
from a2a.utils.proto_utils import validate_proto_required_fields
from google.protobuf import json_format

from innkeeper.contract.agent import Agent, Skill
from innkeeper.contract.errors import StartFault
from innkeeper.contract.extension import Extension
from innkeeper.contract.json_values import plain
from innkeeper.edge.keys import SigningKeys
from innkeeper.edge.wire.bodies import json_bytes

PROTOCOL_VERSION: Final = "1.0"
RPC_PATH: Final = "/a2a"
AGENTS_PATH: Final = "/agents"
KEYS_PATH: Final = "/.well-known/jwks.json"

_TEXT: Final = ("text/plain",)


@dataclass(frozen=True, slots=True)
class SignedCard:
    """A card as served; ``etag`` is quoted."""

    body: bytes
    etag: str


@dataclass(frozen=True, slots=True)
class BearerScheme:
    """How to come in, as cards say it (A2A v1.0 §4.5): an HTTP bearer token, under the name of ``key``.

    Cards ask for it in any case; only where it is ``advertised`` they say what it is.
    """

    key: str
    format: str = ""
    advertised: bool = True

    def put_on(self, card: a2a_pb2.AgentCard) -> None:
        """Say it on a card."""
        if self.advertised:
            scheme = card.security_schemes[self.key].http_auth_security_scheme
            scheme.scheme, scheme.bearer_format = "Bearer", self.format
        card.security_requirements.add().schemes[self.key].SetInParent()


@dataclass(frozen=True, slots=True)
class _Signed:
    """What one set of keys has signed, and the set."""

    jwks: bytes
    stub: SignedCard
    by_path: Mapping[str, SignedCard]
    by_name: Mapping[str, SignedCard]


@final
class Cards:
    """Every card of a host, and the key set that verifies them. ``agents`` are the served ones by tenant id.

    ``public_url`` alone decides what URLs the cards have. ``scheme`` is None where everybody may come in. ``push`` is
    whether callers may be told by push.

    Raises:
        StartFault: a card would have an empty field where the specification requires one to be filled.
    """

    def __init__(
        self,
        keys: SigningKeys,
        public_url: str,
        agents: Mapping[str, Agent],
        *,
        name: str,
        description: str,
        scheme: BearerScheme | None = None,
        push: bool = False,
    ) -> None:
        base = public_url.rstrip("/")
        stub = stub_card(name, description, base)
        by_path = {tenant: tenant_card(agent, path_interfaces(base, tenant)) for tenant, agent in agents.items()}
        by_name = {tenant: tenant_card(agent, named_interfaces(base, tenant)) for tenant, agent in agents.items()}
        checked = {"[card]": stub} | {f"tenant {tenant!r}": card for tenant, card in by_path.items()}
        if faults := [f"{of}: its card needs {field}" for of, card in checked.items() for field in empty_fields(card)]:
            raise StartFault(*faults)

        for card in (stub, *by_path.values(), *by_name.values()):
            card.capabilities.push_notifications = push
            if scheme is not None:
                scheme.put_on(card)
        self._stub, self._by_path, self._by_name = stub, by_path, by_name
        self._jku = base + KEYS_PATH
        self._signed = self._signed_with(keys)

    def sign_with(self, keys: SigningKeys) -> None:
        """Sign every card anew; from one moment to the next these cards and these keys are served."""
        self._signed = self._signed_with(keys)

    def _signed_with(self, keys: SigningKeys) -> "_Signed":
        def signed(cards: Mapping[str, a2a_pb2.AgentCard]) -> Mapping[str, SignedCard]:
            return {tenant: sign_card(card, keys, self._jku) for tenant, card in cards.items()}

        stub = sign_card(self._stub, keys, self._jku)
        return _Signed(keys.jwks(), stub, signed(self._by_path), signed(self._by_name))

    def stub(self) -> SignedCard:
        """Return the card of the origin, which names no tenant."""
        return self._signed.stub

    def find_tenant_card(self, tenant_id: str, *, by_path: bool) -> SignedCard | None:
        """Return a tenant's card, for those who ask under its path or for those who name it in the request."""
        return (self._signed.by_path if by_path else self._signed.by_name).get(tenant_id)

    def jwks(self) -> bytes:
        """Return the public key set."""
        return self._signed.jwks


def named_interfaces(base: str, tenant_id: str = "") -> list[a2a_pb2.AgentInterface]:
    """Return the interfaces at which every request names its tenant."""
    return [
        _interface(base + RPC_PATH, TransportProtocol.JSONRPC, tenant_id),
        _interface(base + AGENTS_PATH, TransportProtocol.HTTP_JSON, tenant_id),
    ]


def path_interfaces(base: str, tenant_id: str) -> list[a2a_pb2.AgentInterface]:
    """Return the interfaces whose URL names the tenant, for clients that know nothing of tenants."""
    url = f"{base}{AGENTS_PATH}/{tenant_id}"
    return [_interface(url, TransportProtocol.JSONRPC), _interface(url, TransportProtocol.HTTP_JSON)]


def stub_card(name: str, description: str, base: str) -> a2a_pb2.AgentCard:
    """Build the card of the origin: a host that shows its agents' cards to those who may ask for them.

    The specification wants a skill on every card, so it has one that says what the card says.
    """
    return a2a_pb2.AgentCard(
        name=name,
        description=description,
        version=version("innkeeper"),
        supported_interfaces=named_interfaces(base),
        capabilities=_capabilities(streaming=True),
        default_input_modes=_TEXT,
        default_output_modes=_TEXT,
        skills=[_skill(Skill("host", name=name, description=description))],
    )


def tenant_card(agent: Agent, interfaces: Sequence[a2a_pb2.AgentInterface]) -> a2a_pb2.AgentCard:
    """Build an agent's card as it looks to those who ask at one of these interfaces."""
    card = a2a_pb2.AgentCard(
        name=agent.name,
        description=agent.description,
        version=agent.version,
        supported_interfaces=interfaces,
        capabilities=_capabilities(streaming=agent.streaming, extensions=map(_extension, agent.extensions)),
        default_input_modes=agent.input_modes,
        default_output_modes=agent.output_modes,
        skills=[_skill(skill) for skill in agent.skills],
    )
    if agent.provider is not None:
        card.provider.organization = agent.provider.organization
        card.provider.url = agent.provider.url
    if agent.documentation_url is not None:
        card.documentation_url = agent.documentation_url
    if agent.icon_url is not None:
        card.icon_url = agent.icon_url
    return card


def empty_fields(card: a2a_pb2.AgentCard) -> list[str]:
    """Name the fields that the specification requires and that are empty.

    Verifiers disagree about whether such a field is part of what was signed, so no card may have one.
    """
    try:
        validate_proto_required_fields(card)
    except InvalidParamsError as error:
        return [fault["field"] for fault in (error.data or {}).get("errors", ())]
    return []


def sign_card(card: a2a_pb2.AgentCard, keys: SigningKeys, jku: str) -> SignedCard:
    """Sign a card and encode it, once (A2A v1.0 §8.4: a detached JWS over the canonical card)."""
    signature = keys.sign(canonical_payload(card), {"typ": "JOSE", "jku": jku})
    signed = a2a_pb2.AgentCard()
    signed.CopyFrom(card)
    signed.signatures.add(protected=signature.protected, signature=signature.signature)
    body = json_bytes(json_format.MessageToDict(signed))
    return SignedCard(body, f'"{hashlib.sha256(body).hexdigest()[:32]}"')


def canonical_payload(card: a2a_pb2.AgentCard) -> bytes:
    """Return what a signature of this card covers: its JSON without signatures and empty values, as RFC 8785 has it."""
    laid = json_format.MessageToDict(card)
    laid.pop("signatures", None)
    return rfc8785.dumps(_without_empty(laid))


def _without_empty(value: Any) -> Any:
    """Drop empty strings, nulls, lists and objects at every depth, and what became empty by that."""
    if isinstance(value, dict):
        kept = {key: _without_empty(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if item not in _EMPTY}
    if isinstance(value, list):
        return [item for item in map(_without_empty, value) if item not in _EMPTY]
    return value


_EMPTY: Final[tuple[Any, ...]] = ("", None, [], {})


def _interface(url: str, binding: str, tenant_id: str = "") -> a2a_pb2.AgentInterface:
    return a2a_pb2.AgentInterface(
        url=url, protocol_binding=binding, protocol_version=PROTOCOL_VERSION, tenant=tenant_id
    )


def _capabilities(*, streaming: bool, extensions: Iterable[a2a_pb2.AgentExtension] = ()) -> a2a_pb2.AgentCapabilities:
    return a2a_pb2.AgentCapabilities(
        streaming=streaming, push_notifications=False, extended_agent_card=True, extensions=extensions
    )


def _extension(extension: Extension) -> a2a_pb2.AgentExtension:
    card = a2a_pb2.AgentExtension(uri=extension.uri, description=extension.description, required=extension.required)
    if extension.params:
        card.params.update(plain(extension.params))
    return card


def _skill(skill: Skill) -> a2a_pb2.AgentSkill:
    return a2a_pb2.AgentSkill(
        id=skill.id, name=skill.name, description=skill.description, tags=skill.tags, examples=skill.examples
    )
