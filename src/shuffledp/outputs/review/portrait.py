"""A mechanism in plain words, and as a picture."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from shuffledp.basics.figures import Chart, Line
from shuffledp.basics.rounding import given_or_up, nearest
from shuffledp.basics.wording import counted, shorten
from shuffledp.mechanisms import (
    KRR,
    OUE,
    RAPPOR,
    AnyPureLDP,
    BinaryLocalHash,
    DiscreteLaplace,
    Gaussian,
    HadamardResponse,
    Joint,
    Laplace,
    LocalHash,
    LocalRandomizer,
    MatrixRandomizer,
    OneOf,
    Parallel,
    Subsample,
    SubsetSelection,
    SymmetricNoise,
    UnaryEncoding,
)

_DIGITS = 3
_MAX_CELLS = 16  # of a matrix that is drawn
_STEPS, _SPREAD = 120, 4  # points of a curve of noise, and how many standard deviations it shows


@dataclass(frozen=True)
class Portrait:
    """What a device does with a value.

    Attributes:
        words: what follows "a device".
        bars: probabilities to be drawn, each with its meaning.
        chart: curves to be drawn.
        parts: the mechanisms that it consists of, each with its role.
    """

    words: str
    bars: tuple[tuple[str, float], ...] = ()
    chart: Chart | None = None
    parts: tuple[tuple[str, Portrait], ...] = ()


def portrait(randomizer: LocalRandomizer) -> Portrait:
    """Return a mechanism in words and pictures.

    >>> from shuffledp import parse
    >>> portrait(parse("krr(k=64, epsilon0=2.66)")).words
    'tells the true value with probability 18.5%, else one of the other 63, all equally likely'
    """
    # Exactly these classes: one derived from them may state another law.
    paint = _PAINTERS.get(type(randomizer))
    if paint is None:
        return Portrait(f"runs {shorten(str(randomizer))}")
    return paint(randomizer)


def likely(share: float) -> str:
    """Return a probability in percent, about; never 0 or 100% where it is neither.

    >>> likely(0.5), likely(1 / 3), likely(1 - 1e-9), likely(1e-9)
    ('50%', '33.3%', 'more than 99.9%', 'less than 0.1%')
    """
    if 0.999 < share < 1:
        return "more than 99.9%"
    if 0 < share < 0.001:
        return "less than 0.1%"
    return f"{nearest(100 * share, _DIGITS)}%"


def _krr(one: KRR) -> Portrait:
    truth, lie = one.support_probabilities
    if one.k == 2:
        words = f"tells the true value with probability {likely(truth)}, else the other one"
    else:
        rest = f"one of the other {one.k - 1:,}, all equally likely"
        words = f"tells the true value with probability {likely(truth)}, else {rest}"
    return Portrait(words, (("the true value", truth), ("each other value", lie)))


def _unary(one: RAPPOR | OUE | UnaryEncoding) -> Portrait:
    own, other = one.support_probabilities
    bit = one.supporting_bit
    words = (
        f"sends one bit for each value: {bit} with probability {likely(own)} for the true value, "
        f"and with probability {likely(other)} for every other value"
    )
    bars = ((f"{bit} for the true value", own), (f"{bit} for any other value", other))
    return Portrait(words, bars)


def _hash(one: BinaryLocalHash | LocalHash) -> Portrait:
    own, other = one.support_probabilities
    words = (
        f"draws a function at random that sends every value to one of {one.hash_buckets:,} "
        f"buckets, and reports the function with the bucket of the true value, or, with "
        f"probability {likely(1 - own)}, with another bucket"
    )
    return Portrait(words, _fits(own, other))


def _hadamard(one: HadamardResponse) -> Portrait:
    own, other = one.support_probabilities
    outputs = "many" if one.outputs is None else f"{one.outputs:,}"
    words = (
        f"sends one of {outputs} codes, each of which stands for about half of the values: with "
        f"probability {likely(own)} one that stands for the true value"
    )
    return Portrait(words, _fits(own, other))


def _subset(one: SubsetSelection) -> Portrait:
    own, other = one.support_probabilities
    words = (
        f"sends {counted(one.subset_size, 'value')} of {one.domain_size:,}, chosen at random: with "
        f"probability {likely(own)} the true value is among them"
    )
    return Portrait(words, _fits(own, other))


def _fits(own: float, other: float) -> tuple[tuple[str, float], ...]:
    return (("the report fits the true value", own), ("it fits any other given value", other))


def _noise(one: SymmetricNoise) -> Portrait:
    kind = {Gaussian: "normal", Laplace: "Laplace", DiscreteLaplace: "two-sided geometric"}
    deviation, most = math.sqrt(one.noise_variance), one.largest_input
    numbers = f"a {'' if one.is_interval else 'whole '}number from 0 to {most:,}"
    words = (
        f"adds {kind[type(one)]} noise of standard deviation {nearest(deviation, _DIGITS)} to "
        f"{numbers}"
    )
    x = np.linspace(-_SPREAD * deviation, most + _SPREAD * deviation, _STEPS)
    if not one.is_interval:
        x = np.unique(np.round(x))
    peak = float(one.log_density(np.zeros(1))[0])
    lines = [
        Line(f"true value {value}", _floats(x), _floats(np.exp(log - peak)), "upper", str(value))
        for value in (0, most)
        for log in [one.log_density(x - value)]
    ]
    return Portrait(words, chart=Chart("", "report", "likelihood, to its peak", tuple(lines)))


def _floats(numbers: Any) -> tuple[float, ...]:
    return tuple(float(number) for number in numbers)


def _matrix(one: MatrixRandomizer) -> Portrait:
    rows, columns = one.matrix.shape
    words = f"sends one of {columns:,} outputs, with the probabilities of the true value's row"
    if one.matrix.size > _MAX_CELLS:
        return Portrait(words)
    bars = tuple(
        (f"output {y} for value {x}", float(one.matrix[x, y]))
        for x in range(rows)
        for y in range(columns)
    )
    return Portrait(words, bars)


def _any(one: AnyPureLDP) -> Portrait:
    return Portrait(
        "runs any randomizer that makes no report more than e^epsilon0 times as likely for one "
        f"value as for another one, epsilon0 = {given_or_up(one.epsilon0)}"
    )


def _joint(one: Joint) -> Portrait:
    parts = tuple((f"attribute {i}", portrait(part)) for i, part in enumerate(one.parts))
    words = f"sends one report for each of {counted(len(parts), 'attribute')}, all in one message"
    return Portrait(words, parts=parts)


def _parallel(one: Parallel) -> Portrait:
    return Portrait("does one of these, chosen at random", parts=_weighted(one))


def _one_of(one: OneOf) -> Portrait:
    words = "reports one of its attributes, chosen at random, and says which"
    return Portrait(words, parts=_weighted(one, "attribute "))


def _weighted(one: Parallel | OneOf, name: str = "choice ") -> tuple[tuple[str, Portrait], ...]:
    both = zip(one.weights, one.parts, strict=True)
    return tuple(
        (f"{name}{i}, with probability {likely(weight)}", portrait(part))
        for i, (weight, part) in enumerate(both)
    )


def _subsample(one: Subsample) -> Portrait:
    words = f"takes part with probability {likely(one.rate)}, and else says that it does not"
    return Portrait(words, parts=(("if it does", portrait(one.part)),))


_PAINTERS: dict[type[LocalRandomizer], Callable[[Any], Portrait]] = {
    KRR: _krr,
    RAPPOR: _unary,
    OUE: _unary,
    UnaryEncoding: _unary,
    BinaryLocalHash: _hash,
    LocalHash: _hash,
    HadamardResponse: _hadamard,
    SubsetSelection: _subset,
    Gaussian: _noise,
    Laplace: _noise,
    DiscreteLaplace: _noise,
    MatrixRandomizer: _matrix,
    AnyPureLDP: _any,
    Joint: _joint,
    Parallel: _parallel,
    OneOf: _one_of,
    Subsample: _subsample,
}
