"""What is sampled is what is accounted: laws of whole reports."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from fit import assert_fits, assert_follows
from flint import arb
from report_laws import ReportLaw, exact, report_law
from scipy.special import ndtr

from shuffledp.basics.balls import ball, precision
from shuffledp.decomposition import Decomposition
from shuffledp.mechanisms import (
    KRR,
    OUE,
    RAPPOR,
    BinaryLocalHash,
    DiscreteLaplace,
    Gaussian,
    HadamardResponse,
    Input,
    Laplace,
    LocalHash,
    LocalRandomizer,
    MatrixRandomizer,
    Pair,
    SubsetSelection,
    UnaryEncoding,
    joint,
    one_of,
    parallel,
    subsample,
)

SUPPORT = [
    KRR(k=2, epsilon0=0.5),
    KRR(k=5, epsilon0=2.0),
    BinaryLocalHash(epsilon0=1.0, domain_size=4),
    LocalHash(epsilon0=1.0, domain_size=3),
    LocalHash(epsilon0=0.3, buckets=3, domain_size=4),
    RAPPOR(epsilon0=2.0, domain_size=4),
    OUE(epsilon0=1.0, domain_size=5),
    UnaryEncoding(p=0.7, q=0.2, domain_size=3),
    UnaryEncoding(p=0.1, q=0.6, domain_size=4),
    HadamardResponse(epsilon0=1.0, domain_size=3),
    HadamardResponse(epsilon0=0.5, domain_size=8),
    SubsetSelection(epsilon0=1.0, domain_size=6),
    SubsetSelection(epsilon0=0.2, domain_size=5, size=4),
    SubsetSelection(epsilon0=3.0, domain_size=20, size=2),
]
MATRICES = [
    MatrixRandomizer([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]),
    MatrixRandomizer([[0.25, 0.75, 0.0], [0.75, 0.0, 0.25], [0.1, 0.2, 0.7]]),
]
COMPOSITIONS = [
    joint(KRR(k=3, epsilon0=1.0), OUE(epsilon0=1.0, domain_size=2)),
    joint(MATRICES[0], HadamardResponse(epsilon0=1.0, domain_size=3), KRR(k=2, epsilon0=2.0)),
    parallel({KRR(k=4, epsilon0=1.0): 0.3, RAPPOR(epsilon0=1.0, domain_size=4): 0.7}),
    parallel({KRR(k=3, epsilon0=1.0): 0.1, SubsetSelection(epsilon0=2.0, domain_size=3): 0.9}),
    one_of({KRR(k=4, epsilon0=1.0): 0.3, RAPPOR(epsilon0=1.0, domain_size=2): 0.7}),
    subsample(KRR(k=4, epsilon0=1.0), rate=0.3),
    subsample(KRR(k=4, epsilon0=1.0), rate=1.0),
    subsample(
        joint(KRR(k=2, epsilon0=1.0), BinaryLocalHash(epsilon0=1.0, domain_size=3)), rate=0.6
    ),
    joint(subsample(KRR(k=3, epsilon0=1.0), rate=0.5), KRR(k=2, epsilon0=1.0)),
    parallel(
        {
            joint(KRR(k=2, epsilon0=1.0), KRR(k=2, epsilon0=1.0)): 0.25,
            joint(KRR(k=2, epsilon0=2.0), OUE(epsilon0=1.0, domain_size=2)): 0.75,
        }
    ),
]


def repeated(x: Input, n: int) -> object:
    """The inputs of n users who all hold x."""
    return tuple(repeated(entry, n) for entry in x) if isinstance(x, tuple) else np.full(n, x)


def split_reports(reports: np.ndarray) -> list[bytes]:
    raw, size = reports.tobytes(), reports.itemsize
    return [raw[i : i + size] for i in range(0, len(raw), size)]


@pytest.mark.heavy(keep=6)
@pytest.mark.parametrize("randomizer", [*SUPPORT, *MATRICES, *COMPOSITIONS], ids=str)
def test_reports_follow_the_law(randomizer):
    law = report_law(randomizer)
    number = {key: i for i, key in enumerate(law.reports)}
    rng = np.random.default_rng(len(number))
    for j in sorted({0, len(law.inputs) // 2, len(law.inputs) - 1}):
        reports = randomizer.randomize(repeated(law.inputs[j], 20_000), rng)
        assert reports.dtype == randomizer.report_dtype
        counts = np.zeros(len(number))
        for key, count in Counter(split_reports(reports)).items():
            counts[number[key]] = count
        assert_fits(counts, [float(row[j]) for row in law.reports.values()])


@pytest.mark.parametrize("randomizer", [*SUPPORT, *MATRICES, *COMPOSITIONS], ids=str)
def test_the_law_is_complete(randomizer):
    law = report_law(randomizer)
    for j in range(len(law.inputs)):
        assert sum(row[j] for row in law.reports.values()) == 1


def index_of(law: ReportLaw, x: Input) -> int:
    """The number of an input."""
    return law.inputs.index(x)


Atoms = dict[tuple[float, float], Fraction]


def atoms(law: ReportLaw, pair: Pair) -> Atoms:
    """The c-mass at each pair of ratios a/c, b/c, where c is the smallest probability."""
    first, second = index_of(law, pair.first), index_of(law, pair.second)
    found: Atoms = {}
    for row in law.reports.values():
        if c := min(row):
            key = _key(float(row[first] / c), float(row[second] / c))
            found[key] = found.get(key, Fraction(0)) + c
    return found


def _key(ratio0: float, ratio1: float) -> tuple[float, float]:
    return round(math.log(ratio0), 8) + 0.0, round(math.log(ratio1), 8) + 0.0


def accounted(decomposition: Decomposition) -> dict[tuple[float, float], arb]:
    found: dict[tuple[float, float], arb] = {}
    with precision():
        for log0, log1, weight in decomposition.components:
            key = round(float(log0), 8) + 0.0, round(float(log1), 8) + 0.0
            found[key] = found.get(key, arb(0)) + weight
    return found


@pytest.mark.parametrize("randomizer", SUPPORT, ids=str)
@pytest.mark.parametrize("equal", [False, True])
def test_masses_of_the_accounting_are_those_of_the_sampler(randomizer, equal):
    pair = randomizer.unchanged()[0] if equal else randomizer.neighbours()[0]
    blanket, sampled = randomizer.decomposition(pair), atoms(report_law(randomizer), pair)
    found = accounted(blanket)
    assert found.keys() == sampled.keys()
    error = 1e-30 + 1.01 * randomizer.law_error
    with precision():
        for key, mass in sampled.items():
            assert found[key].overlaps(ball(mass))
            assert abs(found[key] - ball(mass)) < ball(mass) * error
        rest = ball(1 - sum(sampled.values()))
        assert blanket.residual.overlaps(rest)
        assert abs(blanket.residual - rest) < error


@pytest.mark.parametrize("randomizer", [*MATRICES, *COMPOSITIONS], ids=str)
def test_decompositions_of_matrices_and_compositions(randomizer):
    law = report_law(randomizer)
    for pair in randomizer.neighbours()[:3]:
        sampled, found = atoms(law, pair), accounted(randomizer.decomposition(pair))
        for key, mass in sampled.items():
            near = [float(w) for k, w in found.items() if math.dist(k, key) < 1e-6]
            assert sum(near) == pytest.approx(float(mass), rel=1e-12), key


@pytest.mark.parametrize("randomizer", SUPPORT, ids=str)
def test_the_level_is_not_exceeded(randomizer):
    """Exactly, up to the digits beyond the 256th."""
    mp = mpmath.MPContext()
    mp.prec = 200
    worst = max(max(row) / min(row) for row in report_law(randomizer).reports.values())
    level = mp.log(mp.mpf(worst.numerator) / worst.denominator)
    assert -(2.0**-190) <= mp.mpf(randomizer.epsilon0) - level <= 2.0**-51 * level


@pytest.mark.parametrize("randomizer", SUPPORT, ids=str)
def test_support_probabilities(randomizer):
    """Every report is counted for the inputs that make it likely, and for no others."""
    law, (p, q) = report_law(randomizer), randomizer.support_probabilities
    own = other = Fraction(0)
    for key, row in law.reports.items():
        report = np.frombuffer(key, dtype=randomizer.report_dtype)
        supports = randomizer.support_counts(report).tolist()
        likely = {x for x, probability in enumerate(row) if probability == max(row)}
        if len(likely) < len(row):
            assert {x for x, count in enumerate(supports) if count} == likely
        own += row[0] * supports[0]
        other += row[0] * supports[1]
    assert p == pytest.approx(float(own), rel=1e-14)
    assert q == pytest.approx(float(other), rel=1e-14)
    assert randomizer.support_advantage == pytest.approx(float(own - other), rel=1e-14)


@pytest.mark.parametrize("randomizer", SUPPORT, ids=str)
def test_counts_of_support(randomizer):
    rng = np.random.default_rng(1)
    reports = randomizer.randomize(np.zeros(20_000, dtype=int), rng)
    counts = randomizer.support_counts(reports)
    assert counts.shape == (randomizer.inputs,)
    for x, count in enumerate(counts.tolist()):
        p = randomizer.support_probabilities[min(x, 1)]
        assert_fits([count, 20_000 - count], [p, 1 - p])
    chosen = [randomizer.inputs - 1, 0, 1, 0]
    assert randomizer.support_counts(reports, chosen).tolist() == counts[chosen].tolist()


@pytest.mark.parametrize("randomizer", SUPPORT, ids=str)
def test_decomposition_estimated_from_samples(randomizer):
    """Likelihood ratios of reports of input 0 occur as often as the blanket says."""
    law, pair = report_law(randomizer), randomizer.neighbours()[0]
    found = accounted(randomizer.decomposition(pair))
    masses = {k: float(w) * math.exp(k[0]) for k, w in found.items()}
    reports = randomizer.randomize(np.zeros(30_000, dtype=int), np.random.default_rng(2))
    counts = dict.fromkeys(masses, 0)
    for report, count in Counter(split_reports(reports)).items():
        row = law.reports[report]
        c = min(row)
        counts[_key(float(row[0] / c), float(row[1] / c))] += count
    total = sum(masses.values())
    assert total == pytest.approx(1, abs=1e-6)
    assert_fits(list(counts.values()), np.array(list(masses.values())) / total)


LEVELS = [1e-12, 0.1, 1.0, 5.0, 30.0, 300.0]


@pytest.mark.parametrize("epsilon0", LEVELS)
def test_single_decisions(epsilon0):
    """The sampler's probabilities are those of the definitions, to all 256 digits."""
    mp = mpmath.MPContext()
    mp.prec = 900
    e = mp.exp(mp.mpf(epsilon0))
    root = mp.exp(mp.mpf(epsilon0) / 2)
    true, other = RAPPOR(epsilon0=epsilon0, domain_size=2).one_probabilities
    half, noise = OUE(epsilon0=epsilon0, domain_size=2).one_probabilities
    subset = SubsetSelection(epsilon0=epsilon0, domain_size=10, size=3)
    for probability, value in [
        (KRR(k=10, epsilon0=epsilon0).truth_probability, e / (e + 9)),
        (HadamardResponse(epsilon0=epsilon0, domain_size=5).truth_probability, e / (e + 1)),
        (subset.truth_probability, 3 * e / (3 * e + 7)),
        (true, root / (root + 1)),
        (other, 1 / (root + 1)),
        (half, mp.mpf(1) / 2),
        (noise, 1 / (e + 1)),
    ]:
        assert probability.scaled(256) == int(mp.floor(value * 2**256))


def test_unary_probabilities_are_the_given_doubles():
    p, q = UnaryEncoding(p=0.1, q=0.6, domain_size=2).one_probabilities
    assert (exact(p), exact(q)) == (Fraction(0.1), Fraction(0.6))


@pytest.mark.parametrize("bound", [1, 2, 5, 40])
@pytest.mark.parametrize("epsilon0", [0.5, 3.0])
def test_discrete_laplace(bound, epsilon0):
    randomizer, rng = DiscreteLaplace(epsilon0=epsilon0, bound=bound), np.random.default_rng(bound)
    alpha = math.exp(-epsilon0 / bound)
    for x in (0, bound):
        noise = randomizer.randomize(np.full(30_000, x), rng) - x
        cut = int(6 * bound / epsilon0) + 2
        z = np.arange(-cut, cut + 1)
        law = (1 - alpha) / (1 + alpha) * alpha ** np.abs(z)
        law[[0, -1]] = alpha**cut / (1 + alpha)
        assert_fits(np.bincount(np.clip(noise, -cut, cut) + cut, minlength=z.size), law)


@pytest.mark.parametrize("bound", [1, 2, 5, 40])
def test_discrete_laplace_ratios_occur_as_the_accounting_says(bound):
    randomizer = DiscreteLaplace(epsilon0=2.0, bound=bound)
    reports = randomizer.randomize(np.zeros(50_000, dtype=int), np.random.default_rng(3))
    law = randomizer.decomposition(Pair(0, bound))
    log_ratio = 2.0 / bound * (bound - 2 * np.clip(reports, 0, bound))
    counts, masses = [], []
    for log0, log1, weight in law.components:
        counts.append(int((np.abs(log_ratio - float(log0 - log1)) < 1e-9).sum()))
        masses.append(float(weight * log0.exp()))
    assert_fits(counts, masses)


@pytest.mark.parametrize("x", [0.0, 0.25, 1.0])
def test_continuous_noise(x):
    rng = np.random.default_rng(1)
    laplace, gaussian = Laplace(epsilon0=2.0, domain="interval"), Gaussian(sigma=3.0)
    noise = laplace.randomize(np.full(50_000, x), rng) * laplace.unit - x
    assert_follows(2 * noise, lambda t: np.where(t < 0, np.exp(t) / 2, 1 - np.exp(-t) / 2))
    noise = gaussian.randomize(np.full(50_000, x), rng) * gaussian.unit - x
    assert_follows(noise / 3, ndtr)


@pytest.mark.parametrize(
    "randomizer",
    [
        Laplace(epsilon0=0.7),
        Gaussian(sigma=2.5),
        DiscreteLaplace(epsilon0=1.0, bound=7),
        DiscreteLaplace(epsilon0=3.0, bound=1),
    ],
    ids=str,
)
def test_variance_of_the_noise(randomizer):
    noise = randomizer.randomize(np.zeros(200_000, dtype=int), np.random.default_rng(1))
    noise = noise * randomizer.unit
    assert noise.var() == pytest.approx(randomizer.noise_variance, rel=0.02)


EVERY: list[tuple[LocalRandomizer, object]] = [
    *((r, np.arange(500) % r.inputs) for r in SUPPORT),
    *((r, np.arange(500) % 2) for r in MATRICES),
    (BinaryLocalHash(epsilon0=1.0), np.arange(500) * 10**15),
    (LocalHash(epsilon0=1.0, domain_size=10**6), np.arange(500)),
    (Laplace(epsilon0=1.0), np.arange(500) % 2),
    (Gaussian(sigma=1.0), np.linspace(0, 1, 500)),
    (DiscreteLaplace(epsilon0=1.0, bound=10), np.arange(500) % 11),
    (COMPOSITIONS[0], np.ones((500, 2), dtype=int)),
    (COMPOSITIONS[2], np.arange(500) % 4),
    (COMPOSITIONS[7], [np.arange(500) % 2, np.arange(500) % 3]),
    (COMPOSITIONS[9], (np.arange(500) % 2, np.arange(500) % 2)),
]


@pytest.mark.parametrize(("randomizer", "values"), EVERY, ids=str)
def test_secure_bits_and_generators(randomizer, values):
    reports = [randomizer.randomize(values) for _ in range(2)]
    assert all(x.shape == (500,) and x.dtype == randomizer.report_dtype for x in reports)
    assert reports[0].tobytes() != reports[1].tobytes()
    again = [randomizer.randomize(values, np.random.default_rng(5)) for _ in range(2)]
    assert again[0].tobytes() == again[1].tobytes()


def test_blocks_of_users_make_no_difference(monkeypatch):
    from shuffledp.mechanisms import base

    monkeypatch.setattr(base, "_MAX_ROWS", 1000)
    randomizer = joint(KRR(k=3, epsilon0=1.0), subsample(OUE(epsilon0=1.0, domain_size=3), 0.5))
    values = np.arange(10_500) % 3
    reports = randomizer.randomize((values, values), np.random.default_rng(1))
    assert reports.shape == (10_500,)
    truth = reports["part0"] == values
    p = float(exact(KRR(k=3, epsilon0=1.0).truth_probability))
    assert_fits([truth.sum(), (~truth).sum()], [p, 1 - p])


HASHES = [
    BinaryLocalHash(epsilon0=1.0, domain_size=10_000),
    BinaryLocalHash(epsilon0=1.0),
    LocalHash(epsilon0=2.0, domain_size=300),
    LocalHash(epsilon0=4.0, domain_size=300),
    LocalHash(epsilon0=9.0),
]


@pytest.mark.parametrize("randomizer", HASHES, ids=str)
def test_polynomial_hashing_supports_inputs_as_accounted(randomizer):
    """Which of three inputs a report of the first one supports: the masses of the accounting."""
    rng, n, named = np.random.default_rng(1), 30_000, (7, 250, 31)
    reports = randomizer.randomize(np.full(n, named[0]), rng)
    supported = np.zeros((n, 3), dtype=int)
    family = randomizer.hash_family
    for i, x in enumerate(named):
        supported[:, i] = family.apply(reports["function"], np.full(n, x)) == reports["bucket"]
    assert supported.sum(axis=0).tolist() == randomizer.support_counts(reports, named).tolist()
    patterns = np.array([[i >> 2, i >> 1 & 1, i & 1] for i in range(8)])
    masses = [
        float(randomizer.support_mass(int(p.sum()), 3)) * math.exp(randomizer.epsilon0 * p[0])
        for p in patterns
    ]
    assert_fits(np.bincount(supported @ [4, 2, 1], minlength=8), masses)


@pytest.mark.parametrize(
    ("randomizer", "size"),
    [
        (BinaryLocalHash(epsilon0=1.0, domain_size=8), 2),
        (BinaryLocalHash(epsilon0=1.0, domain_size=64), 9),
        (LocalHash(epsilon0=1.0, domain_size=1000), 13),
        (LocalHash(epsilon0=4.0, domain_size=1000), 25),
        (LocalHash(epsilon0=1.0), 25),
        (OUE(epsilon0=1.0, domain_size=1000), 125),
        (SubsetSelection(epsilon0=1.0, domain_size=1000), 125),
        (SubsetSelection(epsilon0=6.0, domain_size=1000), 4),
        (HadamardResponse(epsilon0=1.0, domain_size=255), 1),
        (HadamardResponse(epsilon0=1.0, domain_size=256), 2),
        (KRR(k=256, epsilon0=1.0), 1),
        (KRR(k=257, epsilon0=1.0), 2),
        (joint(KRR(k=2, epsilon0=1.0), OUE(epsilon0=1.0, domain_size=9)), 3),
        (one_of({KRR(k=2, epsilon0=1.0): 0.5, OUE(epsilon0=1.0, domain_size=9): 0.5}), 3),
        (subsample(KRR(k=257, epsilon0=1.0), rate=0.5), 3),
    ],
    ids=str,
)
def test_bytes_per_report(randomizer, size):
    assert randomizer.report_dtype.itemsize == size
