"""What a caller may choose with a message: a preset for the session, and the model that answers in it."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from innkeeper.contract.errors import InnkeeperError
from innkeeper.contract.message import JSON
from innkeeper.contract.names import ID_GRAMMAR, ID_PATTERN
from innkeeper.contract.preset import Preset
from innkeeper.ports.store import Choice

log = logging.getLogger(__name__)

PRESET_KEYS: Final = ("agentPreset", "preset")
MODEL_KEYS: Final = ("model", "provider")

NAME_LENGTH: Final = 200
"""How long the name of a model or provider may be."""


class OverrideRefused(InnkeeperError):
    """An override that cannot be followed; the text names its key and is shown to the caller."""


@dataclass(frozen=True, slots=True)
class Overrides:
    """What a message asks for; None where it does not ask. ``preset_key`` is by which key it names the preset."""

    preset: str | None = None
    preset_key: str = "agentPreset"
    model: str | None = None
    provider: str | None = None

    def applied_to(self, before: Choice, presets: Iterable[Preset], *, opened: bool) -> Choice:
        """Return the session's choice from this message on; ``opened`` says that a message before has begun it.

        Model and provider are one choice: a message that names only one of them leaves the other to the agent.

        Raises:
            OverrideRefused: there is no preset of that id.
        """
        after = before
        if self.preset is not None and opened:
            log.info("preset %r ignored: the session has begun, with %s", self.preset, before.preset or "none")
        elif self.preset is not None:
            known = sorted(preset.id for preset in presets)
            if self.preset not in known:
                raise OverrideRefused(
                    f"{self.preset_key}: no preset {self.preset!r}; there are: {', '.join(known) or 'none'}"
                )
            after = replace(after, preset=self.preset)
        if self.model is not None or self.provider is not None:
            after = replace(after, model=self.model or "", provider=self.provider or "")
        return after


def overrides_from_metadata(metadata: Mapping[str, JSON]) -> Overrides | None:
    """Read what the message asks for; None if it asks for nothing.

    Raises:
        OverrideRefused: something that is asked for is not well-formed, or the two names of a preset disagree.
    """
    asked = {key: metadata[key] for key in (*PRESET_KEYS, *MODEL_KEYS) if metadata.get(key) is not None}
    if not asked:
        return None
    presets = {_preset(key, asked[key]): key for key in PRESET_KEYS if key in asked}
    if len(presets) > 1:
        raise OverrideRefused("agentPreset, preset: they name two different presets")
    preset, preset_key = next(iter(presets.items()), (None, "agentPreset"))
    return Overrides(
        preset,
        preset_key,
        **{key: _name(key, asked[key]) for key in MODEL_KEYS if key in asked},
    )


def _preset(key: str, value: JSON) -> str:
    if not isinstance(value, str) or not ID_PATTERN.fullmatch(value):
        raise OverrideRefused(f"{key}: {ID_GRAMMAR}")
    return value


def _name(key: str, value: JSON) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable() or len(value) > NAME_LENGTH:
        raise OverrideRefused(f"{key}: 1 to {NAME_LENGTH} printable characters, not all of them blank")
    return value
