r"""What a class of one's own states, held against inputs at random before anything is answered.

A class that is not of this package states its laws, its levels and the inputs that matter; nobody
proved that here, and answers say so (:func:`shuffledp.mechanisms.finite.identity.stated_by`).
Mistakes are found all the same. All of it can be compared through hockey sticks :math:`E(G-t)_+` of
:math:`G=r_x-\lambda r_{x'}`, of which convex order asks that none exceeds the largest one of the
pairs that are named:

- those of the blankets of other neighbours, and of inputs that stay the same;
- those of concrete datasets, in which all other users hold one input;
- those of users who hold an input that is said to be like others.

Passing proves nothing: inputs are drawn at random, and small differences pass as rounding errors.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import numpy as np

from shuffledp.basics.arrays import FloatArray
from shuffledp.basics.balls import precision, total
from shuffledp.basics.errors import ClaimError
from shuffledp.decomposition import Decomposition
from shuffledp.mechanisms.base import LocalRandomizer
from shuffledp.mechanisms.finite.identity import is_foreign
from shuffledp.mechanisms.pair import Input, Pair

_PAIRS, _OTHERS = 20, 2  # how many are tried; of domains with few inputs all pairs
_FEW_INPUTS = 64  # all their pairs are tried
_MOST_NAMED = 300  # with more pairs than these, the others are not compared with all of them
_SHARES = (-0.5, 0.0, 0.25, 0.5, 0.9)  # epsilons, as shares of the level
_UNBOUNDED = 3.0  # stands for a level where there is none
_THRESHOLDS = 16  # at which two laws are compared
_RTOL, _ATOL = 1e-9, 1e-12  # what a class of your own may lose by its rounding


def check_claims(randomizer: LocalRandomizer) -> None:
    """Hold what classes of one's own state about a mechanism and its parts against random inputs.

    Once for each mechanism, and never for those of this package.

    Raises:
        ClaimError: if a pair of inputs, or a dataset, reveals more than is stated.
    """
    if is_foreign(randomizer):
        _check(randomizer)
    for part in randomizer.components:
        check_claims(part)


@lru_cache(maxsize=256)
def _check(mechanism: LocalRandomizer) -> None:
    named, rng = mechanism.neighbours(), np.random.default_rng(0)
    if mechanism.has_worst_pair and len(named) > 1:
        raise ClaimError(f"{mechanism} states one worst pair, but names {len(named)} pairs")
    pairs = list(_pairs(mechanism, rng))
    if any(_accepts(mechanism, pair) for pair in named):  # of the others it may give larger laws
        pairs = [pair for pair in pairs if _accepts(mechanism, pair)]
    _check_levels(mechanism, [*named[:_PAIRS], *pairs])
    if 0 < len(named) <= _MOST_NAMED:
        bound = _Bound(mechanism, [_blanket(mechanism, pair) for pair in named])
        for pair in pairs:
            bound.check(_blanket(mechanism, pair), f"{pair} reveals more than {_list(named)}")
        for pair, other, seen in _datasets(mechanism, [*named[:_PAIRS], *pairs], rng):
            _check_domain_level(mechanism, pair, other, seen)
            where = f"{pair}, if all others hold {other}, reveals more than {_list(named)}"
            bound.check(seen, where)
        _check_unchanged(mechanism, bound, named, rng)
    _check_types(mechanism, named[:_PAIRS], rng)


def _pairs(mechanism: LocalRandomizer, rng: np.random.Generator) -> Iterator[Pair]:
    """Yield some neighbours: all of a small domain."""
    domain = mechanism.input_domain
    if domain.size <= _FEW_INPUTS:
        found = list(domain.neighbours())
        yield from (found[i] for i in rng.permutation(len(found))[:_PAIRS])
        return
    for _ in range(_PAIRS):
        first = domain.random_input(rng)
        second = domain.random_change(first, rng)
        if domain.are_neighbours(first, second):
            yield Pair(first, second)


def _accepts(mechanism: LocalRandomizer, pair: Pair) -> bool:
    return mechanism.accepts(pair.first) and mechanism.accepts(pair.second)


def _datasets(
    mechanism: LocalRandomizer, pairs: Iterable[Pair], rng: np.random.Generator
) -> Iterator[tuple[Pair, Input, Decomposition]]:
    """Yield what is seen of some pairs, and of whom, if all other users hold some input."""
    for pair in pairs:
        if not _accepts(mechanism, pair):
            continue
        proposed = [*mechanism.common_inputs(pair)][:_OTHERS]
        proposed += (mechanism.input_domain.random_input(rng) for _ in range(_OTHERS))
        for other in dict.fromkeys(x for x in proposed if mechanism.accepts(x)):
            yield pair, other, _asked(mechanism, pair, other)


def _check_levels(mechanism: LocalRandomizer, pairs: Iterable[Pair]) -> None:
    """Compare the ratios of both inputs with the level."""
    for pair in pairs:
        found = _blanket(mechanism, pair).min_end
        if found > mechanism.epsilon0 * (1 + _RTOL) + _RTOL:
            raise ClaimError(
                f"what {mechanism} states is not true: its level is {mechanism.epsilon0:g}, but "
                f"some output tells {pair} apart by a factor of e^{found:g}"
            )


def _check_domain_level(
    mechanism: LocalRandomizer, pair: Pair, other: Input, seen: Decomposition
) -> None:
    """Compare the ratios to a third input with the level over all inputs."""
    level = mechanism.domain_epsilon0 * (1 + _RTOL) + _RTOL
    logs = [log for c in seen.components for log in (c.log0, c.log1)]
    apart = seen.is_singular or any(log is None or abs(log) > level for log in logs)
    if level < math.inf and apart:
        raise ClaimError(
            f"what {mechanism} states is not true: its level over all inputs is "
            f"{mechanism.domain_epsilon0:g}, but some output tells one of {pair} and {other} apart "
            "by more"
        )


def _check_unchanged(
    mechanism: LocalRandomizer, bound: _Bound, named: Sequence[Pair], rng: np.random.Generator
) -> None:
    """Compare inputs that stay the same, which matter where other attributes change."""
    if not mechanism.is_composable:
        return
    same = mechanism.unchanged()
    if not 0 < len(same) <= _MOST_NAMED:
        return
    stay = _Bound(mechanism, [_blanket(mechanism, pair) for pair in same])
    inputs = [pair.first for pair in same]
    inputs += (mechanism.input_domain.random_input(rng) for _ in range(_OTHERS))
    for x in dict.fromkeys(x for x in inputs if mechanism.accepts(x)):
        seen = _blanket(mechanism, Pair(x, x))
        stay.check(seen, f"{x}, if it stays the same, reveals more than {_list(same)}")
        if mechanism.has_worst_pair:
            bound.check(seen, f"{x}, if it stays the same, reveals more than {_list(named)}")


def _check_types(
    mechanism: LocalRandomizer, pairs: Sequence[Pair], rng: np.random.Generator
) -> None:
    """Compare inputs of other users with those that are said to stand for all."""
    for pair in pairs:
        types = mechanism.background_types(pair)
        if types is None:
            continue
        stand = _Bound(mechanism, [_asked(mechanism, pair, v) for v in types])
        for _, other, seen in _datasets(mechanism, [pair], rng):
            stand.check(
                seen, f"{pair} among users who hold {other} reveals more than among {types}"
            )


class _Bound:
    """The largest hockey sticks of some decompositions."""

    def __init__(self, mechanism: LocalRandomizer, named: Sequence[Decomposition]) -> None:
        self.mechanism = mechanism
        level = min(mechanism.epsilon0, 300.0)
        top = level if level < 300 else _UNBOUNDED
        self.epsilons = [share * top for share in _SHARES]
        self.thresholds = [_thresholds(named, epsilon) for epsilon in self.epsilons]
        self.largest = [
            np.max([_sticks(d.upper, epsilon, t) for d in named], axis=0)
            for epsilon, t in zip(self.epsilons, self.thresholds, strict=True)
        ]

    def check(self, seen: Decomposition, what: str) -> None:
        """Refuse a decomposition whose hockey sticks are larger."""
        for epsilon, t, most in zip(self.epsilons, self.thresholds, self.largest, strict=True):
            found = _sticks(seen, epsilon, t)
            worst = int(np.argmax(found - most * (1 + _RTOL) - _ATOL * (1 + np.abs(t))))
            if found[worst] > most[worst] * (1 + _RTOL) + _ATOL * (1 + abs(t[worst])):
                raise ClaimError(
                    f"what {self.mechanism} states is not true: {what}, for at epsilon = "
                    f"{epsilon:.3g} the mean of (G - {t[worst]:.3g})_+ is {found[worst]:.6g}, not "
                    f"at most {most[worst]:.6g}"
                )


def _thresholds(named: Sequence[Decomposition], epsilon: float) -> FloatArray:
    """Return 0 and some values that G takes."""
    values = np.unique(np.concatenate([d.upper.rough_gains(epsilon) for d in named]))
    chosen = values[np.linspace(0, values.size - 1, min(values.size, _THRESHOLDS)).astype(int)]
    return np.unique(np.append(chosen, 0.0)) if values.size else np.zeros(1)


def _sticks(d: Decomposition, epsilon: float, t: FloatArray) -> FloatArray:
    """Return E(G - t)_+ at every threshold."""
    over = np.maximum(d.rough_gains(epsilon)[:, None] - t, 0.0)
    apart = sum(max(float(a) - math.exp(epsilon) * float(b), 0.0) for a, b in d.singular)
    found: FloatArray = d.weight @ over + float(d.residual) * np.maximum(-t, 0.0) + apart
    return found


def _blanket(mechanism: LocalRandomizer, pair: Pair) -> Decomposition:
    return _asked(mechanism, pair, None)


def _asked(mechanism: LocalRandomizer, pair: Pair, other: Input | None) -> Decomposition:
    """Return a law of the class, which must have one for every pair of its inputs."""
    what = str(pair) if other is None else f"{pair} among {other}"
    try:
        found = mechanism.decomposition(pair, other)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ClaimError(f"{mechanism} cannot tell what {what} reveals: {error}") from error
    if not isinstance(found, Decomposition):
        raise ClaimError(
            f"{mechanism} must tell as a Decomposition what {what} reveals, got {found!r}"
        )
    for part in (found, found.upper):
        _check_law(f"what {mechanism} states of {what}", part)
    return found


def _check_law(what: str, law: Decomposition) -> None:
    """Refuse masses that are not those of laws: a and b sum to 1, c and the residual too.

    So the mean of G is 1 - e^epsilon.
    """
    with precision():
        parts = law.components
        sums = {
            "a": [c.weight * c.log0.exp() for c in parts if c.log0 is not None]
            + [s.a for s in law.singular],
            "b": [c.weight * c.log1.exp() for c in parts if c.log1 is not None]
            + [s.b for s in law.singular],
            "c and the residual": [*(c.weight for c in parts), law.residual],
        }
        for name, masses in sums.items():
            if not all(mass >= -_ATOL for mass in masses):
                raise ClaimError(f"{what} is no law: a mass of {name} is below 0")
            if not abs(total(masses) - 1) <= _RTOL:
                raise ClaimError(
                    f"{what} is no law: the masses of {name} must sum to 1, got "
                    f"{float(total(masses)):.15g}"
                )


def _list(pairs: Sequence[Pair]) -> str:
    shown = ", ".join(map(str, pairs[:2]))
    return shown if len(pairs) <= 2 else f"{shown} and the {len(pairs) - 2} others it names"
