"""What the annotations of a plugin's ``Config`` say of the values in its tables."""

import dataclasses
import functools
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, NewType, TypeAlias, TypeVar, Union, get_args, get_origin

from pydantic import AliasChoices, AliasPath, BaseModel, RootModel, Secret, SecretBytes, SecretStr
from pydantic.fields import FieldInfo

Annotation: TypeAlias = Any
Step: TypeAlias = int | str

_PLAIN: Final = (str, int, float, bool, Any)
_SECRETS: Final = (Secret, SecretBytes, SecretStr)


class Untold:
    """Stands for a type of which nothing is known; it may be that of a secret."""


def members(annotation: Annotation) -> tuple[Annotation, ...]:
    """Return the types that a value may be of, None left out; whatever only gives a type a name is looked through."""
    parts: tuple[Annotation, ...]
    if type(annotation) is type and annotation is not NoneType:
        return (annotation,)  # most are
    if aliased := getattr(annotation, "__value__", None) or getattr(_origin(annotation), "__value__", None):
        parts = (aliased,)
    elif isinstance(annotation, NewType):
        parts = (annotation.__supertype__,)
    elif isinstance(annotation, TypeVar):
        parts = annotation.__constraints__ or (annotation.__bound__ or Any,)
    elif _origin(annotation) is Annotated:
        parts = get_args(annotation)[:1]
    elif _origin(annotation) in (Union, UnionType):
        parts = get_args(annotation)
    elif _is_model(annotation) and issubclass(annotation, RootModel):
        parts = (annotation.model_fields["root"].annotation,)
    else:
        return () if annotation in (None, NoneType) else (annotation,)
    return tuple(each for part in parts for each in members(part))


def fields_of(kind: Annotation) -> Mapping[str, tuple[Annotation, ...]] | None:
    """Return the types of what a table may hold by key, each name of a field being one; None of what is no record.

    Of fields whose annotations cannot be looked at the type is ``Untold``.
    """
    record = _origin(kind) or kind
    return _fields_of(record) if isinstance(record, type) else None


@functools.lru_cache(maxsize=256)
def _fields_of(record: type) -> Mapping[str, tuple[Annotation, ...]] | None:
    fields = getattr(record, "model_fields" if _is_model(record) else "__pydantic_fields__", None)
    if not isinstance(fields, Mapping):
        if not (hasattr(record, "__total__") or dataclasses.is_dataclass(record)):
            return None
        return {name: (hint,) for name, hint in _hints(record).items()}
    found: dict[str, tuple[Annotation, ...]] = {}
    for name, info in fields.items():
        for key in keys_of(name, info):
            found[key] = (*found.get(key, ()), info.annotation)
    return found


def keys_of(name: str, info: FieldInfo) -> set[str]:
    """Return the keys of a table from which a field may take its value, or a part of it."""
    choices = info.validation_alias.choices if isinstance(info.validation_alias, AliasChoices) else ()
    aliases = (*choices, info.validation_alias, info.alias)
    paths = (alias.path[0] if isinstance(alias, AliasPath) else alias for alias in aliases)
    return {name, *(key for key in paths if isinstance(key, str))}


def may_hold_secret(annotations: Iterable[Annotation]) -> bool:
    """Tell whether a value of these types may have a secret anywhere in it."""
    return _may_hold_secret(annotations, set())


def _may_hold_secret(annotations: Iterable[Annotation], within: set[int]) -> bool:
    for each in (member for annotation in annotations for member in members(annotation)):
        if each in _PLAIN:
            continue
        record = _origin(each) or each
        if isinstance(record, str | typing.ForwardRef):
            return True  # nobody can tell
        if isinstance(record, type) and issubclass(record, (*_SECRETS, Untold)):
            return True
        if id(each) in within or _origin(each) is Literal:
            continue
        within.add(id(each))
        parts = [*get_args(each), *(part for parts in (fields_of(each) or {}).values() for part in parts)]
        if isinstance(record, type) and issubclass(record, tuple) and hasattr(record, "_fields"):
            parts += _hints(record).values()
        if _may_hold_secret(parts, within):
            return True
    return False


def below(annotations: Iterable[Annotation], step: Step) -> tuple[Annotation, ...]:
    """Return the types of what stands one step below values of these types; none if nothing is known of it."""
    return tuple(part for annotation in annotations for each in members(annotation) for part in _below(each, step))


def _below(kind: Annotation, step: Step) -> tuple[Annotation, ...]:
    arguments, origin = get_args(kind), _origin(kind)
    if isinstance(step, str):
        fields = fields_of(kind)
        if fields is not None:
            return fields.get(step, ())
        return arguments[1:] if isinstance(origin, type) and issubclass(origin, Mapping) else ()
    if isinstance(origin, type) and issubclass(origin, tuple) and arguments[-1:] != (...,):
        return arguments[step : step + 1]
    return arguments[:1] if isinstance(origin, type) and issubclass(origin, Iterable) else ()


def is_path(annotations: Iterable[Annotation]) -> bool:
    """Tell whether values of these types are files or folders, and nothing else."""
    kinds = [each for annotation in annotations for each in members(annotation)]
    return bool(kinds) and all(isinstance(each, type) and issubclass(each, Path) for each in kinds)


def path_of(kind: Annotation, written: Any, location: Sequence[Step]) -> tuple[Step, ...]:
    """Return where something is as its writer sees it: a location without the names of a union's members in it."""
    steps: list[Step] = []
    annotations: tuple[Annotation, ...] = (kind,)
    chosen = True
    for number, step in enumerate(location):
        several = sum(len(members(annotation)) for annotation in annotations) > 1
        if several and not chosen:
            annotations, chosen = _chosen(annotations, step), True
            continue
        last = number == len(location) - 1
        known = bool(below(annotations, step))
        if not (known or last or _has(written, step)):
            continue
        steps.append(step)
        annotations, chosen = below(annotations, step), False
        written = written[step] if _has(written, step) else None
    return tuple(steps)


def _chosen(annotations: Iterable[Annotation], label: Step) -> tuple[Annotation, ...]:
    """Return the member of a union which an error names by its tag or type; all of them if none is known by that."""
    kinds = [each for annotation in annotations for each in members(annotation)]
    named = [each for each in kinds if label in (*_tags(each), getattr(_origin(each) or each, "__name__", None))]
    return tuple(named or kinds)


def _tags(kind: Annotation) -> Iterator[object]:
    """Return what values of a type's fields tell it apart."""
    for parts in (fields_of(kind) or {}).values():
        for part in parts:
            for each in members(part):
                if _origin(each) is Literal:
                    yield from get_args(each)


def _has(written: Any, step: Step) -> bool:
    if isinstance(step, int):
        return isinstance(written, list | tuple) and step < len(written)
    return isinstance(written, Mapping) and step in written


def _origin(annotation: Annotation) -> Any:
    return get_origin(annotation)


def _is_model(record: Any) -> bool:
    return isinstance(record, type) and issubclass(record, BaseModel)


def _hints(record: Any) -> dict[str, Annotation]:
    try:
        return typing.get_type_hints(record, include_extras=True)
    except Exception:  # noqa: BLE001 - annotations are the plugin's, and may name what is not there
        return dict.fromkeys(getattr(record, "__annotations__", {}), Untold)
