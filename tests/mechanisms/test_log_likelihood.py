"""The likelihood of a report, against the laws written out output by output."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest
from enumeration import (
    hadamard_matrix,
    krr_matrix,
    local_hash_matrix,
    subset_matrix,
    unary_matrix,
)
from scipy.stats import dlaplace, laplace, norm

from shuffledp import (
    KRR,
    OUE,
    RAPPOR,
    AnyPureLDP,
    BinaryLocalHash,
    DiscreteLaplace,
    Gaussian,
    HadamardResponse,
    Laplace,
    LocalHash,
    MatrixRandomizer,
    SubsetSelection,
    UnaryEncoding,
    joint,
    one_of,
    parallel,
    subsample,
)
from shuffledp.mechanisms import LocalRandomizer

ROWS = [[0.6, 0.4, 0.0], [0.1, 0.2, 0.7]]


def packed(randomizer: LocalRandomizer, rows) -> np.ndarray:
    bits = np.packbits(np.array(rows, dtype=np.uint8), axis=1, bitorder="little")
    return np.ascontiguousarray(bits).view(randomizer.report_dtype).ravel()


def unary(randomizer: LocalRandomizer, size: int, p: float, q: float):
    return (
        randomizer,
        packed(randomizer, list(product((0, 1), repeat=size))),
        unary_matrix(size, p, q),
    )


def hashed(randomizer: LocalRandomizer, size: int, buckets: int, epsilon0: float):
    outputs = list(product(product(range(buckets), repeat=size), range(buckets)))
    reports = np.zeros(len(outputs), dtype=randomizer.report_dtype)
    for report, (function, bucket) in zip(reports, outputs, strict=True):
        report["function"] = sum(y * buckets**x for x, y in enumerate(function))
        report["bucket"] = bucket
    return randomizer, reports, local_hash_matrix(size, buckets, epsilon0)


def subsets(randomizer: SubsetSelection):
    size, domain = randomizer.subset_size, randomizer.domain_size
    chosen = list(combinations(range(domain), size))
    rows = [[int(x in members) for x in range(domain)] for members in chosen]
    return randomizer, packed(randomizer, rows), subset_matrix(domain, size, randomizer.epsilon0)


def cases():
    yield KRR(k=4, epsilon0=1.5), np.arange(4, dtype=np.uint8), krr_matrix(4, 1.5)
    odds = math.exp(0.75)
    yield unary(RAPPOR(epsilon0=1.5, domain_size=4), 4, odds / (1 + odds), 1 / (1 + odds))
    yield unary(OUE(epsilon0=1.5, domain_size=9), 9, 0.5, 1 / (1 + math.exp(1.5)))
    yield unary(UnaryEncoding(p=0.7, q=0.2, domain_size=3), 3, 0.7, 0.2)
    yield unary(UnaryEncoding(p=0.2, q=0.7, domain_size=3), 3, 0.2, 0.7)
    yield hashed(BinaryLocalHash(epsilon0=1.5, domain_size=4), 4, 2, 1.5)
    yield hashed(LocalHash(epsilon0=1.5, buckets=3, domain_size=3), 3, 3, 1.5)
    outputs = np.arange(8, dtype=np.uint8)
    yield HadamardResponse(epsilon0=1.5, domain_size=5), outputs, hadamard_matrix(5, 1.5)
    yield subsets(SubsetSelection(epsilon0=1.5, domain_size=5, size=2))
    yield MatrixRandomizer(ROWS), np.arange(3, dtype=np.uint8), np.array(ROWS)


@pytest.mark.parametrize(
    ("randomizer", "reports", "matrix"), [pytest.param(*case, id=str(case[0])) for case in cases()]
)
def test_ratios_are_those_of_the_law(randomizer, reports, matrix):
    """Likelihoods miss a term of the report alone, which ratios to another input do not have."""
    with np.errstate(divide="ignore"):
        logs = np.log(matrix)
    for x, y in product(range(len(matrix)), repeat=2):
        if x != y:
            found = randomizer.log_likelihood(reports, x) - randomizer.log_likelihood(reports, y)
            np.testing.assert_allclose(found, logs[x] - logs[y], atol=1e-12)


def test_listed_subsets():
    randomizer = SubsetSelection(epsilon0=2.0, domain_size=1000, size=2)
    members = np.array([[3, 700], [0, 3], [5, 999]], dtype="<u2")
    reports = members.view(randomizer.report_dtype).ravel()
    assert randomizer.log_likelihood(reports, 3).tolist() == [2.0, 2.0, 0.0]
    assert randomizer.log_likelihood(reports, 999).tolist() == [0.0, 0.0, 2.0]


@pytest.mark.parametrize(
    ("randomizer", "law", "reports"),
    [
        (Laplace(epsilon0=2.0, grid=2**20), laplace(scale=0.5).logpdf, np.arange(-50, 51) << 17),
        (Gaussian(sigma=0.7, grid=2**20), norm(scale=0.7).logpdf, np.arange(-50, 51) << 17),
        (DiscreteLaplace(epsilon0=2.0, bound=5), dlaplace(0.4).logpmf, np.arange(-20, 21)),
    ],
    ids=["laplace", "gaussian", "discrete laplace"],
)
def test_noise(randomizer, law, reports):
    for x in (0, randomizer.largest_input):
        constant = randomizer.log_likelihood(reports, x) - law(reports * randomizer.unit - x)
        np.testing.assert_allclose(constant, constant[0], atol=1e-12)


def test_compositions():
    krr, oue = KRR(k=3, epsilon0=2.0), OUE(epsilon0=1.0, domain_size=3)
    both, either = joint(krr, oue), parallel({krr: 0.5, oue: 0.5})
    chosen = one_of({krr: 0.5, oue: 0.5})
    some = subsample(both, rate=0.5)
    rng, users = np.random.default_rng(1), 200
    columns = (np.arange(users) % 3, np.arange(users) % 2)

    reports = both.randomize(columns, rng)
    alone = krr.log_likelihood(reports["part0"], 2), oue.log_likelihood(reports["part1"], 1)
    assert (both.log_likelihood(reports, (2, 1)) == alone[0] + alone[1]).all()

    reports = some.randomize(columns, rng)
    present = reports["present"]
    expected = np.where(present, both.log_likelihood(reports["report"], (2, 1)), 0.0)
    assert 0 < present.sum() < users
    assert (some.log_likelihood(reports, (2, 1)) == expected).all()

    reports = chosen.randomize(columns, rng)
    found = chosen.log_likelihood(reports, (2, 1))
    for i, (part, own) in enumerate(zip(chosen.parts, chosen.reports_of(reports), strict=True)):
        assert found[reports["part"] == i].tolist() == part.log_likelihood(own, 2 - i).tolist()

    reports = either.randomize(columns[0], rng)
    found = either.log_likelihood(reports, 2)
    for i, (part, own) in enumerate(zip(either.parts, either.reports_of(reports), strict=True)):
        assert found[reports["part"] == i].tolist() == part.log_likelihood(own, 2).tolist()


def test_values_that_are_no_inputs():
    both = joint(KRR(k=3, epsilon0=1.0), KRR(k=3, epsilon0=1.0))
    reports = both.randomize(([0], [0]))
    with pytest.raises(TypeError, match="the inputs of joint are tuples, got 1"):
        both.log_likelihood(reports, 1)
    with pytest.raises(TypeError, match=r"value must be an integer, got 0\.5"):
        KRR(k=3, epsilon0=1.0).log_likelihood(np.zeros(1, dtype=np.uint8), 0.5)


def test_any_pure_ldp_has_no_likelihood():
    with pytest.raises(TypeError, match="cannot run"):
        AnyPureLDP(epsilon0=1.0).log_likelihood(np.zeros(1, dtype=np.uint8), 0)
