"""What of a plugin's configuration is secret: hidden where it is shown, and kept out of what is written later."""

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from pydantic import BaseModel, Secret, SecretBytes, SecretStr

from innkeeper.registry.secrets import HIDDEN, Secrets
from innkeeper.registry.shapes import Annotation, below, fields_of, may_hold_secret, members
from innkeeper.settings import Expansion

_NUMBERS: Final = (int, float)
_ONE_REFERENCE: Final = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")


def masked(kind: type[BaseModel], table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table for people: as it is written, without what may be a secret.

    That is what the plugin declares one. A key that it does not know may be a misspelt one, and so is hidden as well,
    unless the plugin takes any key and declares no secret at all.
    """
    shown: dict[str, Any] = _record(table, (kind,), open_ones=not may_hold_secret((kind,)))
    return shown


def _masked(value: Any, annotations: tuple[Annotation, ...], *, open_ones: bool) -> Any:
    if may_hold_secret(annotations):
        return HIDDEN
    if isinstance(value, Mapping):
        return _record(value, annotations, open_ones=open_ones)
    if isinstance(value, list | tuple):
        return [_masked(each, below(annotations, place), open_ones=open_ones) for place, each in enumerate(value)]
    return value


def _record(table: Mapping[str, Any], annotations: tuple[Annotation, ...], *, open_ones: bool) -> dict[str, Any]:
    known = _known(annotations)
    hides = known is not None and not (open_ones and any(map(_is_open, annotations)))
    return {
        key: HIDDEN
        if hides and key not in (known or ())
        else _masked(value, below(annotations, key), open_ones=open_ones)
        for key, value in table.items()
    }


def _known(annotations: Iterable[Annotation]) -> set[str] | None:
    """Return the keys that tables of these types may have; None if it is any."""
    fields = [fields_of(each) for annotation in annotations for each in members(annotation)]
    known = [each for each in fields if each is not None]
    return {key for each in known for key in each} if known else None


def _is_open(annotation: Annotation) -> bool:
    """Tell whether tables of a type may have more keys than those that it names."""
    return any(getattr(each, "model_config", {}).get("extra") == "allow" for each in members(annotation))


def remember_written(kind: type[BaseModel], table: Mapping[str, Any], expansion: Expansion, secrets: Secrets) -> None:
    """Remember the secrets in a table as it is written, and what it takes for them from the environment."""
    for text in _secret_leaves(table, (kind,), within=False):
        whole = _ONE_REFERENCE.fullmatch(text) is not None
        own = Expansion(expansion.environ)
        secrets.remember(own.expanded(text), text if whole else HIDDEN)
        for name, value in own.values.items():
            secrets.remember(value, f"${{{name}}}")


def _secret_leaves(value: Any, annotations: tuple[Annotation, ...], *, within: bool) -> Iterator[str]:
    """Find what may be a secret; ``within`` something of which only that is known."""
    secret = may_hold_secret(annotations) or (within and not annotations)
    known = _known(annotations) if isinstance(value, Mapping) else None
    if isinstance(value, Mapping):
        for key, each in value.items():
            misspelt = known is not None and key not in known
            yield from _secret_leaves(each, below(annotations, key), within=secret or misspelt)
    elif isinstance(value, list | tuple):
        for place, each in enumerate(value):
            yield from _secret_leaves(each, below(annotations, place), within=secret)
    elif secret:
        yield from _texts(value)


def remember_made(config: object, secrets: Secrets) -> None:
    """Remember the secrets that a configuration holds, as its validators have made them.

    What is written in the plugin's code as a default is none, such as "test".
    """
    for text in _made(config, set()):
        secrets.remember(text)


def _made(value: object, seen: set[int]) -> Iterator[str]:
    if isinstance(value, Secret | SecretStr | SecretBytes):
        yield from _texts(value.get_secret_value())
        return
    if id(value) in seen:
        return
    seen.add(id(value))
    parts: Iterable[object] = ()
    if isinstance(value, BaseModel):
        fields = type(value).model_fields
        parts = (
            each
            for name, each in {**value.__dict__, **(value.__pydantic_extra__ or {})}.items()
            if name in value.model_fields_set or name not in fields or fields[name].default_factory
        )
    elif dataclasses.is_dataclass(value):
        parts = [getattr(value, field.name, None) for field in dataclasses.fields(value)]
    elif isinstance(value, Mapping):
        parts = value.values()
    elif isinstance(value, list | tuple | set | frozenset):
        parts = value
    for part in parts:
        yield from _made(part, seen)


def _texts(value: object) -> Iterator[str]:
    """Return what may be written of a secret value."""
    if isinstance(value, bytes | bytearray):
        yield from (value.decode("utf-8", "backslashreplace"), repr(bytes(value))[2:-1])
    elif isinstance(value, Mapping):
        yield from (text for each in value.values() for text in _texts(each))
    elif isinstance(value, list | tuple | set | frozenset):
        yield from (text for each in value for text in _texts(each))
    elif isinstance(value, BaseModel):
        yield from _texts(value.__dict__)
    elif not isinstance(value, bool) and value is not None:
        yield str(value)
