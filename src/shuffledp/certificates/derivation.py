"""From a randomizer to its exact decompositions in balls, compositions included."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction

from shuffledp.basics.errors import NoAnswerError
from shuffledp.certificates.channel import channel_decomposition
from shuffledp.certificates.noise import NOISE_LAWS, noise_decomposition
from shuffledp.certificates.support import (
    SUPPORT_LAWS,
    support_background,
    support_blanket,
)
from shuffledp.decomposition.decomposition import Decomposition
from shuffledp.decomposition.product import product_of
from shuffledp.mechanisms import (
    KRR,
    AnyPureLDP,
    Input,
    Joint,
    LocalRandomizer,
    MatrixRandomizer,
    OneOf,
    Pair,
    Parallel,
    Subsample,
)


def blanket(randomizer: LocalRandomizer, pair: Pair) -> Decomposition:
    """Return the optimal decomposition: c is the infimum of R over all inputs."""
    return _derive(randomizer, pair, None)


def background(randomizer: LocalRandomizer, pair: Pair, other: Input) -> Decomposition:
    """Return the decomposition with c = R(other): all other users hold ``other``."""
    return _derive(randomizer, pair, other)


def _derive(randomizer: LocalRandomizer, pair: Pair, other: Input | None) -> Decomposition:
    check_known(randomizer)
    return _LAWS[type(randomizer)](randomizer, pair, other)


def check_known(randomizer: LocalRandomizer) -> None:
    """Reject a mechanism whose law, or that of a part, is not written down in balls.

    Classes must be the very ones listed: a class derived from one may state another law.

    Raises:
        NoAnswerError: if it is one.
    """
    if type(randomizer) not in _LAWS:
        known = ", ".join(sorted(law.name for law in _LAWS))
        raise NoAnswerError(
            f"no certificate exists for {randomizer}: its exact law is not known to the prover, "
            f"which knows {known}; a finite mechanism can be given as a matrix"
        )
    for part in _parts(randomizer):
        check_known(part)


def _parts(randomizer: LocalRandomizer) -> tuple[LocalRandomizer, ...]:
    if isinstance(randomizer, Subsample):
        return (randomizer.part,)
    return randomizer.parts if isinstance(randomizer, Joint | Parallel | OneOf) else ()


def _subsample(randomizer: Subsample, pair: Pair, other: Input | None) -> Decomposition:
    """Mix the part with silence; the rate is exact."""
    rate = Fraction(randomizer.rate)
    part = _derive(randomizer.part, pair, other)
    if rate == 1:
        return part
    return Decomposition.mixture([rate, 1 - rate], [part, Decomposition.silent()])


def _joint(randomizer: Joint, pair: Pair, other: Input | None) -> Decomposition:
    """Multiply the decompositions of the parts."""
    return product_of(_decompositions(randomizer, pair, other))


def _mixture(randomizer: Parallel | OneOf, pair: Pair, other: Input | None) -> Decomposition:
    """Mix the decompositions of the parts; their weights are exact."""
    weights = [Fraction(w) for w in randomizer.weights]
    parts = _decompositions(randomizer, pair, other)
    return Decomposition.mixture([w / sum(weights) for w in weights], parts)


def _decompositions(
    randomizer: Joint | Parallel | OneOf, pair: Pair, other: Input | None
) -> list[Decomposition]:
    return [_derive(*own) for own in parts_with_inputs(randomizer, pair, other)]


def parts_with_inputs(
    randomizer: Joint | Parallel | OneOf, pair: Pair, other: Input | None
) -> Iterator[tuple[LocalRandomizer, Pair, Input | None]]:
    """Yield every part with what it reads: the same as all others, or an entry of its own."""
    parts = randomizer.parts
    if isinstance(randomizer, Parallel):
        yield from ((part, pair, other) for part in parts)
        return
    if not (isinstance(pair.first, tuple) and isinstance(pair.second, tuple)):
        raise TypeError(f"the inputs of {randomizer.name} are tuples, got {pair}")
    held = other if isinstance(other, tuple) else (None,) * len(parts)
    yield from zip(parts, map(Pair, pair.first, pair.second), held, strict=True)


def _any_pure_ldp(randomizer: AnyPureLDP, pair: Pair, other: Input | None) -> Decomposition:
    """Return that of k-ary randomized response, which is worst for its level."""
    k = 3 if 2 in (pair.first, pair.second, other) else 2
    worst = KRR(k=k, epsilon0=randomizer.epsilon0)
    return _support(worst, pair, other)


def _matrix(randomizer: MatrixRandomizer, pair: Pair, other: Input | None) -> Decomposition:
    return channel_decomposition(randomizer, pair, other)


def _support(randomizer: LocalRandomizer, pair: Pair, other: Input | None) -> Decomposition:
    if other is None:
        return support_blanket(randomizer, pair)
    return support_background(randomizer, pair, other)


#: What is known, by the exact class.
_LAWS: Mapping[type[LocalRandomizer], Callable[..., Decomposition]] = {
    **dict.fromkeys(SUPPORT_LAWS, _support),
    **dict.fromkeys(NOISE_LAWS, noise_decomposition),
    MatrixRandomizer: _matrix,
    AnyPureLDP: _any_pure_ldp,
    Joint: _joint,
    Parallel: _mixture,
    OneOf: _mixture,
    Subsample: _subsample,
}
