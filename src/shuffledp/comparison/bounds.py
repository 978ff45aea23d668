"""Every bound by its name, ours and the published ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from shuffledp.basics.wording import closest, did_you_mean
from shuffledp.comparison.published import BASELINES
from shuffledp.mechanisms import LocalRandomizer, Relation


@dataclass(frozen=True)
class Bound:
    """What a bound is called, on which side of the truth it claims to be, and whether it is."""

    title: str
    kind: Literal["upper", "lower"]
    sound: bool = True

    @property
    def label(self) -> str:
        """The title, with a mark at what is no bound."""
        return self.title if self.sound else f"{self.title} (unsound)"


#: All bounds by the names that programs use, ours first.
BOUNDS: Mapping[str, Bound] = MappingProxyType(
    {
        "guarantee": Bound("guarantee", "upper"),
        "blanket": Bound("optimal blanket", "upper"),
        "lower_bound": Bound("lower bound", "lower"),
        **{
            name: Bound(analysis.title, analysis.kind, analysis.sound)
            for name, analysis in BASELINES.items()
        },
    }
)


#: The names of our own bounds.
OURS = ("guarantee", "blanket", "lower_bound")


def relation_of(bound: str, randomizer: LocalRandomizer) -> Relation:
    """Return how the datasets differ that a bound of a mechanism is about.

    Ours are about what the mechanism says. Published ones that know a level alone are about the
    whole input, and so hold for whatever changes less.

    >>> from shuffledp import parse
    >>> limited = parse("joint(krr(k=3, epsilon0=2), krr(k=4, epsilon0=2), at_most=1)")
    >>> for bound in ("guarantee", "standard_clone"):
    ...     print(relation_of(bound, limited))
    change at most 1 of 2 attributes of one user
    replace the input of one user
    """
    return randomizer.relation if bound in OURS else BASELINES[bound].relation(randomizer)


def bound_names(wanted: str | Iterable[str]) -> tuple[str, ...]:
    """Return names of bounds in the order of :data:`BOUNDS`, each once; "all" stands for all.

    >>> bound_names(["erlingsson", "guarantee", "erlingsson"])
    ('guarantee', 'erlingsson')

    Raises:
        ValueError: if a name is unknown, or there is none.
    """
    names = (wanted,) if isinstance(wanted, str) else tuple(wanted)
    if not names:
        raise ValueError("bounds must name at least one bound, got none")
    for name in names:
        if name not in BOUNDS and name != "all":
            known = ", ".join([*BOUNDS, "all"])
            meant = did_you_mean(closest(str(name), BOUNDS))
            raise ValueError(f"bounds must be among {known}, got {name!r}{meant}")
    return tuple(name for name in BOUNDS if name in names or "all" in names)
