"""The mechanisms of several curves: what each user runs at a point."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from shuffledp.basics.wording import shorten
from shuffledp.mechanisms import LocalRandomizer, as_family, as_randomizer

#: What may stand for a mechanism; where epsilon0 varies, a text without it or a function of it.
Mechanism = LocalRandomizer | str | Callable[[float], LocalRandomizer]

#: By name, what each user runs at a point; it only varies along epsilon0.
Families = Mapping[str, Callable[[float], LocalRandomizer]]

_NAME_LENGTH = 72


def read_families(mechanisms: Mechanism | Iterable[Mechanism], against: str) -> Families:
    """Return one or several mechanisms by name.

    >>> list(read_families(["krr(k=10)", "blh()"], "epsilon0"))
    ['krr(k=10)', 'blh()']

    Raises:
        ValueError: if a text cannot be read, a mechanism is given twice, or there is none.
        TypeError: if something is no mechanism.
    """
    listed: list[Mechanism] = (
        [mechanisms]
        if isinstance(mechanisms, LocalRandomizer | str) or not isinstance(mechanisms, Iterable)
        else list(mechanisms)
    )
    if not listed:
        raise ValueError("mechanisms must hold at least one mechanism, got none")
    found: dict[str, Callable[[float], LocalRandomizer]] = {}
    known: list[object] = []
    for mechanism in listed:
        make, identity, name = _read(mechanism, varies=against == "epsilon0")
        name = shorten(name, _NAME_LENGTH)
        if identity in known:
            given = mechanism.strip() if isinstance(mechanism, str) else name
            raise ValueError(f"{shorten(given, _NAME_LENGTH)!r} is given twice")
        known.append(identity)
        found[name if name not in found else f"{name} ({len(known)})"] = make
    return found


def _read(
    mechanism: Mechanism, *, varies: bool
) -> tuple[Callable[[float], LocalRandomizer], object, str]:
    """Return a mechanism as a function of epsilon0, what equal ones share, and its name."""
    if not varies:
        randomizer = as_randomizer(mechanism, "mechanisms")
        return (lambda _: randomizer), randomizer, str(randomizer)
    make = as_family(mechanism, "mechanisms")
    if isinstance(mechanism, str):
        return make, (make(1.0), make(2.0)), mechanism.strip()
    return make, mechanism, getattr(mechanism, "__name__", repr(mechanism))
