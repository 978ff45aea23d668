"""What makes two mechanisms the same: caches rely on it.

Answers are remembered for mechanisms that are equal. So whatever the law of a mechanism depends on
must be compared, and must not change.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import cached_property

from shuffledp.randomizers.base import LocalRandomizer


def check_identity(mechanism: LocalRandomizer, name: str) -> None:
    """Refuse a mechanism that could be taken for another one, or for what it was before.

    Its class must be a frozen dataclass, and whatever it keeps must be one of the fields that are
    compared, or a ``cached_property``, which follows from them.

    Raises:
        TypeError: if it is another one; the message names what is kept beside the fields.
    """
    kind = type(mechanism)
    if not _is_frozen(kind) or getattr(mechanism, "__hash__", None) is None:
        raise TypeError(f"{name} must be of a frozen dataclass, which {kind} is not")
    if hidden := sorted(_kept(mechanism) - _compared(kind) - _derived(kind)):
        raise TypeError(
            f"{name} must be of a frozen dataclass that compares all it keeps, but {kind} also "
            f"keeps {', '.join(hidden)}; make it a field, so that mechanisms that differ in it are "
            "not taken for each other"
        )


def _is_frozen(kind: type) -> bool:
    return bool(getattr(getattr(kind, "__dataclass_params__", None), "frozen", False))


def _compared(kind: type) -> set[str]:
    """Return the names of the fields that are compared."""
    return {field.name for field in fields(kind) if field.compare} if is_dataclass(kind) else set()


def _kept(mechanism: LocalRandomizer) -> set[str]:
    """Return the names of all attributes of an object itself."""
    slots = (name for kind in type(mechanism).__mro__ for name in vars(kind).get("__slots__", ()))
    return {*vars(mechanism), *(name for name in slots if hasattr(mechanism, name))}


def _derived(kind: type) -> set[str]:
    """Return the names of what is computed once, from other attributes."""
    return {
        name
        for base in kind.__mro__
        for name, value in vars(base).items()
        if isinstance(value, cached_property)
    }
