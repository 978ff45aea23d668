"""Random local randomizers, compositions of them, and questions about them."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from shuffledp.mechanisms import (
    KRR,
    OUE,
    RAPPOR,
    BinaryLocalHash,
    DiscreteLaplace,
    HadamardResponse,
    LocalHash,
    LocalRandomizer,
    MatrixRandomizer,
    OneOf,
    Parallel,
    SubsetSelection,
    UnaryEncoding,
    joint,
    subsample,
)

levels = st.floats(math.log(0.05), math.log(5.0)).map(math.exp)
user_counts = st.one_of(st.integers(1, 10), st.floats(0, 12).map(lambda x: max(1, round(10.0**x))))
deltas = st.one_of(st.floats(math.log(1e-200), math.log(0.5)).map(math.exp), st.floats(1e-4, 0.5))


@st.composite
def ldp_matrices(
    draw: st.DrawFn, *, rows: int | None = None, columns: int | None = None
) -> tuple[NDArray[np.float64], float]:
    """A matrix and a level at which it is LDP: entries within [1, e^epsilon0] times a base law."""
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    shape = (rows or draw(st.integers(2, 4)), columns or draw(st.integers(2, 5)))
    epsilon0 = draw(st.floats(0.05, 5.0))
    extreme = draw(st.booleans())
    heights = rng.integers(0, 2, shape) if extreme else rng.random(shape)
    matrix = rng.random(shape[1]) * np.exp(epsilon0 * heights)
    matrix /= matrix.sum(axis=1, keepdims=True)
    return matrix, float(np.log(matrix.max(axis=0) / matrix.min(axis=0)).max())


@st.composite
def channels(draw: st.DrawFn, inputs: int, *, zeros: bool = False) -> NDArray[np.float64]:
    """Output probabilities without any promise of privacy."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    matrix = rng.random((inputs, draw(st.integers(1, 5))))
    if zeros:
        matrix[rng.random(matrix.shape) < 0.4] = 0.0
        matrix[:, 0] += 0.125
    return matrix / matrix.sum(axis=1, keepdims=True)


@st.composite
def mechanisms(draw: st.DrawFn) -> LocalRandomizer:
    """A mechanism of every kind whose law has few atoms."""
    level, domain = draw(levels), draw(st.sampled_from([None, 3, 5, 100]))
    kind = draw(st.integers(0, 8))
    if kind == 0:
        return KRR(k=draw(st.sampled_from([2, 3, 10])), epsilon0=level)
    if kind == 1:
        return SubsetSelection(level, 5, draw(st.integers(1, 4)))
    if kind == 2:
        return UnaryEncoding(p=draw(st.sampled_from([0.5, 0.75])), q=0.125, domain_size=domain)
    if kind == 3:
        return LocalHash(level, draw(st.sampled_from([2, 3, 8])), domain)
    if kind == 4:
        return DiscreteLaplace(level, draw(st.integers(1, 4)))
    return [BinaryLocalHash, RAPPOR, OUE, HadamardResponse][kind % 4](level, domain)


@st.composite
def compositions(draw: st.DrawFn) -> LocalRandomizer:
    """Two mechanisms in one, or one of which not everybody takes part."""
    first, second = draw(mechanisms()), draw(mechanisms())
    kind = draw(st.sampled_from(["joint", "mixture", "subsample"]))
    if kind == "joint":
        return joint(first, second, at_most=draw(st.sampled_from([None, 1])))
    share = draw(st.integers(1, 15)) / 16
    if kind == "mixture":  # of one value where the domains agree, else of two attributes
        shared = first.input_domain.meet(second.input_domain) is not None
        return (Parallel if shared else OneOf)((first, second), (share, 1 - share))
    return subsample(first, share)


@st.composite
def matrices(draw: st.DrawFn, *, zeros: bool = False) -> MatrixRandomizer:
    """Any finite randomizer; with ``zeros``, some outputs give some inputs away."""
    return MatrixRandomizer(draw(channels(draw(st.integers(2, 4)), zeros=zeros)))


any_mechanism = st.one_of(
    mechanisms(), compositions(), ldp_matrices().map(lambda case: MatrixRandomizer(case[0]))
)
