"""Every setting: its type, default, unit and meaning."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    SecretStr,
    StrictBool,
    model_validator,
)
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from innkeeper.settings.values import (
    Attempts,
    BaseUrl,
    Binds,
    Bytes,
    Duration,
    HostHeaders,
    Id,
    Ids,
    Origins,
    PositiveDuration,
    Text,
    Texts,
    TurnCount,
    is_loopback,
    split_bind,
)

PluginTables = Annotated[Mapping[Id, Mapping[str, Any]], AfterValidator(MappingProxyType)]
"""Tables of plugins by name, as written: ``${NAME}`` in them is replaced when a plugin's context is made."""


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Host(_Table):
    """Where the host listens, and how it runs."""

    bind: Binds = Field(default=("127.0.0.1:8080",), description="Addresses to listen on, each host:port.")
    public_url: BaseUrl | None = Field(
        default=None,
        description="The base of every URL that the host tells. Default: the first bind, on loopback only.",
    )
    allowed_hosts: HostHeaders = Field(
        default=(), description="Host headers that are served, besides those of public_url and the binds."
    )
    allowed_origins: Origins = Field(default=(), description="Origins of browser pages that may change state.")
    data_dir: Path = Field(
        default=Path("innkeeper-data"), description="The folder of the database; made if it is missing."
    )
    on_broken_plugin: Literal["refuse", "quarantine"] = Field(
        default="refuse",
        description="What a plugin that cannot be served does: stop the start, or be left out and reported.",
    )
    shutdown_grace: Duration = Field(
        default=timedelta(seconds=10), description="How long running turns may take to end at stop."
    )
    log_level: Literal["debug", "info", "warning", "error", "critical"] = Field(
        default="info", description="The least severity that is logged."
    )
    log_format: Literal["text", "json"] = Field(
        default="text", description="One line of text, or one JSON object, per record."
    )


class Card(_Table):
    """The stub card of the origin."""

    name: Text = Field(default="Innkeeper", description="The name on the card of the origin.")
    description: Text = Field(default="A host of A2A agents.", description="The description on the card of the origin.")


class Auth(_Table):
    """Who may come in, and the key that signs for the host."""

    mode: Literal["gateway", "token", "open"] = Field(
        default="open",
        description=(
            "Who may come in. gateway: whom a trusted gateway has signed for; token: who has a token of this host; "
            "open: everybody, on loopback addresses only."
        ),
    )
    gateway_origins: Texts = Field(
        default=(), description='The trusted gateways, each by its origin, such as "https://gateway.example.com".'
    )
    audience: str = Field(
        default="", description="What gateways' tokens must name as their audience. Default: public_url + /a2a."
    )
    identity_claim: Text = Field(
        default="https://loopingai.org/identity", description="The claim of gateways' tokens that says who calls."
    )
    tenant_claim: Text = Field(
        default="https://loopingai.org/tenant", description="The claim of gateways' tokens that says who is called."
    )
    token_max_life: PositiveDuration = Field(
        default=timedelta(minutes=15), description="How long gateways' tokens may live."
    )
    token_overlap: Duration = Field(
        default=timedelta(hours=24), description="How long a rotated token of this host works beside the new one."
    )
    allow_loopback_http: bool = Field(
        default=False, description="Whether gateways may be at http:// on loopback, for tests and development."
    )
    advertise_security_schemes: bool | None = Field(
        default=None, description="Whether cards say how to come in. Default: in token mode only."
    )
    public_tenant_cards: bool | None = Field(
        default=None, description="Whether everybody may read the cards of tenants. Default: in open mode only."
    )
    signing_key_file: Path = Field(
        default=Path("signing-key.json"), description="The key that signs cards: a file with a JWK or a JWK Set."
    )
    signing_key: Annotated[SecretStr, Field(min_length=1)] | None = Field(
        default=None,
        description="The key that signs cards, as a JWK; in the environment only. It wins over signing_key_file.",
    )


class Turns(_Table):
    """The limits of turns."""

    turn_timeout: PositiveDuration = Field(default=timedelta(seconds=300), description="How long one attempt may take.")
    cancel_grace: Duration = Field(
        default=timedelta(seconds=5), description="How long an agent may take to stop once its turn is canceled."
    )
    max_attempts: Attempts = Field(
        default=3, description="How often a turn that is cut short by a crash is run at most."
    )
    max_concurrent_turns: TurnCount = Field(
        default=64, description="How many turns run at the same time: of the host, and each tenant's default."
    )
    queue_per_session: TurnCount = Field(default=32, description="How many turns may wait in one session.")
    queue_per_tenant: TurnCount = Field(default=1000, description="How many turns may wait at one tenant.")
    allow_overrides: StrictBool = Field(
        default=True, description="Whether callers may choose a preset, model and provider in a message's metadata."
    )


class Push(_Table):
    """Webhooks that callers are told by."""

    enabled: StrictBool = Field(
        default=False,
        description="Whether callers may name webhooks, and cards say so. They are kept; nothing is sent to them yet.",
    )
    required: StrictBool | None = Field(
        default=None,
        description="Whether SendMessage must name a webhook and a token. Default: in gateway mode, if enabled.",
    )
    allow_hosts: Texts = Field(
        default=(), description='Hosts whose webhooks may be at private addresses, such as "hooks.internal".'
    )
    allow_loopback_http: bool = Field(
        default=False, description="Whether webhooks may be on loopback, by http:// too, for tests and development."
    )

    @model_validator(mode="after")
    def _offers_what_it_requires(self) -> Self:
        if self.required and not self.enabled:
            raise ValueError("nobody can name the webhook that is required while enabled is false")
        return self


class Wire(_Table):
    """The limits of requests."""

    body_bytes: Bytes = Field(default=1048576, description="The largest body of a request.")


class Watch(_Table):
    """What the host keeps an eye on."""

    slow_hook: PositiveDuration = Field(
        default=timedelta(milliseconds=250),
        description="How long a plugin may block the event loop before it is named in the log.",
    )


class TenantSettings(_Table):
    """A served agent; what is not set is the agent's own, or the host's."""

    agent: Id | None = Field(default=None, description="The agent to serve. Default: the one with the tenant's id.")
    name: Text | None = Field(default=None, description="The name on the card.")
    description: Text | None = Field(default=None, description="The description on the card.")
    version: Text | None = Field(default=None, description="The version on the card.")
    use: Ids | None = Field(
        default=None,
        description="The plugins of this tenant, in order; the agent's own is always in. Default: all, by name.",
    )
    turn_timeout: PositiveDuration | None = Field(default=None, description="How long one attempt may take.")
    resumable: StrictBool | None = Field(default=None, description="Whether a turn cut short by a crash is run again.")
    idempotent_messages: StrictBool | None = Field(
        default=None, description="Whether a message id seen before answers its task instead of starting a turn."
    )
    streaming: StrictBool | None = Field(default=None, description="Whether the card offers streaming.")
    session_scope: Literal["context", "caller"] | None = Field(
        default=None, description="Whether a history belongs to one context, or to all contexts of a caller."
    )
    max_concurrent_turns: TurnCount | None = Field(default=None, description="How many turns run at the same time.")
    queue_per_session: TurnCount | None = Field(default=None, description="How many turns may wait in one session.")
    queue_per_tenant: TurnCount | None = Field(default=None, description="How many turns may wait at this tenant.")
    allow_overrides: StrictBool | None = Field(
        default=None, description="Whether callers may choose a preset, model and provider."
    )
    plugins: PluginTables = Field(
        default_factory=dict, description="Tables for plugins at this tenant, over those of `[plugins.X]`."
    )


class Settings(BaseSettings):
    """Everything that can be set. Making one reads nothing: ``load_settings`` does."""

    model_config = SettingsConfigDict(
        frozen=True, extra="forbid", env_prefix="INNKEEPER_", env_nested_delimiter="__", validate_default=False
    )

    host: Host = Field(default=Host(), description="Where the host listens, and how it runs.")
    card: Card = Field(default=Card(), description="The stub card of the origin.")
    auth: Auth = Field(default=Auth(), description="Who may come in, and the key that signs for the host.")
    turns: Turns = Field(default=Turns(), description="The limits of turns.")
    push: Push = Field(default=Push(), description="Webhooks that callers are told by.")
    wire: Wire = Field(default=Wire(), description="The limits of requests.")
    plugins: PluginTables = Field(
        default_factory=dict, description="Tables for plugins by plugin name; each plugin knows its own keys."
    )
    watch: Watch = Field(default=Watch(), description="What the host keeps an eye on.")
    tenants: Annotated[Mapping[Id, TenantSettings], AfterValidator(MappingProxyType)] | None = Field(
        default=None, description="The served agents by tenant id. Default: every registered agent under its own id."
    )

    _folder: Path = PrivateAttr(default_factory=Path)

    @property
    def folder(self) -> Path:
        """Where relative paths in the settings begin: the folder of their file."""
        return self._folder

    def in_folder(self, folder: Path) -> Self:
        """Return the settings as those of a file in this folder."""
        settings = self.model_copy()
        settings._folder = folder  # noqa: SLF001 - a copy of ourselves
        return settings

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Take what is handed in, and nothing of the process's own environment."""
        return (init_settings,)

    @model_validator(mode="after")
    def _mode_has_what_it_needs(self) -> Self:
        if faults := mode_faults(self.auth.mode, self.host.bind, self.host.public_url, self.auth.gateway_origins):
            raise ValueError("\n".join(faults))
        return self


def mode_faults(mode: object, binds: tuple[str, ...], public_url: object, gateway_origins: object) -> tuple[str, ...]:
    """Say what does not go with the way in: one that is open to others than this machine, or lacks what it checks."""
    exposed = [bind for bind in binds if not is_loopback(split_bind(bind)[0])]
    if mode == "open":
        return tuple(
            f'host.bind = {bind!r}: not a loopback address, but auth.mode is "open", which lets everybody in'
            for bind in exposed
        )
    faults: list[str] = []
    if not public_url and (mode == "gateway" or (mode == "token" and exposed)):
        why = "tokens are made for it" if mode == "gateway" else f"{exposed[0]!r} is no name that others know it by"
        faults.append(f"host.public_url: required, as {why}")
    if mode == "gateway" and not gateway_origins:
        faults.append('auth.gateway_origins: required, as auth.mode is "gateway"; name the gateways that are trusted')
    return tuple(faults)
