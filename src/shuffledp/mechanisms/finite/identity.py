"""What makes two mechanisms the same: caches rely on it.

Answers are remembered for mechanisms that are equal. So whatever the law of a mechanism depends on
must be compared, and must not change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from functools import cached_property

from shuffledp.mechanisms.base import LocalRandomizer


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


def is_foreign(randomizer: LocalRandomizer) -> bool:
    """Whether its class is not of this package, so that what it states is not proved."""
    return not type(randomizer).__module__.startswith("shuffledp.")


def foreign_classes(randomizer: LocalRandomizer) -> tuple[type[LocalRandomizer], ...]:
    """Return the classes of a mechanism and its parts that are not of this package.

    What such a class says of its laws, levels and worst inputs is stated by it and not proved.

    >>> from shuffledp import KRR, joint
    >>> foreign_classes(joint(KRR(3, 1.0), KRR(3, 1.0)))
    ()
    """
    found = [type(randomizer)] if is_foreign(randomizer) else []
    found += (inner for part in randomizer.components for inner in foreign_classes(part))
    return tuple(dict.fromkeys(found))


def stated_by(kinds: Sequence[type[LocalRandomizer]]) -> str:
    """Return in words whom a claim is from.

    >>> from shuffledp import KRR
    >>> stated_by([KRR])
    'stated by the class KRR'
    """
    names = " and ".join(kind.__name__ for kind in kinds)
    return f"stated by the {'class' if len(kinds) == 1 else 'classes'} {names}"


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
