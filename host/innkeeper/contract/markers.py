"""The marker a plugin puts on its hook implementations."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar, overload

F = TypeVar("F", bound=Callable[..., Any])

HOOKIMPL_ATTRIBUTE: Final = "innkeeper_hookimpl"
"""Where the marker leaves its options on a function; the registry hands them to pluggy."""


@dataclass(frozen=True, slots=True)
class HookOptions:
    """How one implementation wants to be called.

    ``tryfirst`` and ``trylast`` move it to the front or the back of the order; ``blocking`` runs a plain function in
    a worker thread instead of on the event loop.
    """

    tryfirst: bool = False
    trylast: bool = False
    blocking: bool = False


@overload
def hookimpl(function: F, /) -> F: ...
@overload
def hookimpl(*, tryfirst: bool = False, trylast: bool = False, blocking: bool = False) -> Callable[[F], F]: ...
def hookimpl(
    function: F | None = None, /, *, tryfirst: bool = False, trylast: bool = False, blocking: bool = False
) -> F | Callable[[F], F]:
    """Mark a function as the implementation of the hook of its name; used bare or with options.

    Raises:
        ValueError: both ``tryfirst`` and ``trylast`` are set.
    """
    if tryfirst and trylast:
        raise ValueError("a hook implementation is tryfirst or trylast, not both")
    options = HookOptions(tryfirst=tryfirst, trylast=trylast, blocking=blocking)

    def mark(marked: F) -> F:
        setattr(marked, HOOKIMPL_ATTRIBUTE, options)
        return marked

    return mark if function is None else mark(function)
