"""Values and mechanisms that cannot be randomized."""

from __future__ import annotations

import numpy as np
import pytest

from shuffledp import (
    KRR,
    OUE,
    RAPPOR,
    Aggregator,
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

MATRIX = MatrixRandomizer([[0.5, 0.5], [0.25, 0.75], [0.1, 0.9]])
WHOLE: list[tuple[LocalRandomizer, int]] = [
    (KRR(k=10, epsilon0=1.0), 9),
    (BinaryLocalHash(epsilon0=1.0, domain_size=10), 9),
    (LocalHash(epsilon0=1.0), 2**61 - 2),
    (OUE(epsilon0=1.0, domain_size=10), 9),
    (RAPPOR(epsilon0=1.0, domain_size=3), 2),
    (UnaryEncoding(p=0.7, q=0.2, domain_size=3), 2),
    (HadamardResponse(epsilon0=1.0, domain_size=4), 3),
    (SubsetSelection(epsilon0=1.0, domain_size=4), 3),
    (DiscreteLaplace(epsilon0=1.0, bound=7), 7),
    (MATRIX, 2),
    (subsample(MATRIX, rate=0.5), 2),
    (parallel({KRR(k=4, epsilon0=1.0): 0.5, OUE(epsilon0=1.0, domain_size=4): 0.5}), 3),
]


@pytest.mark.parametrize(("randomizer", "largest"), WHOLE, ids=str)
def test_values_outside_the_domain(randomizer, largest):
    randomizer.randomize([0, largest])
    for bad in (largest + 1, -1):
        message = rf"values must be integers from 0 to {largest}, got {bad} at position 2"
        with pytest.raises(ValueError, match=message):
            randomizer.randomize([0, 1, bad, bad])


@pytest.mark.parametrize(("randomizer", "largest"), WHOLE, ids=str)
@pytest.mark.parametrize("values", [[0.0, 1.0], [True, False], ["0", "1"], [None, 1], [1 + 0j]])
def test_values_of_another_type(randomizer, largest, values):
    message = f"values must be integers from 0 to {largest}, got entries of type"
    with pytest.raises(TypeError, match=message):
        randomizer.randomize(values)


@pytest.mark.parametrize(
    "randomizer", [Laplace(epsilon0=1.0), Laplace(1.0, "interval"), Gaussian(sigma=1.0)], ids=str
)
@pytest.mark.parametrize("bad", [-0.001, 1.001, float("nan"), float("inf"), 7])
def test_numbers_outside_the_interval(randomizer, bad):
    message = r"values must be real numbers from 0 to 1, got .* at position 1"
    with pytest.raises(ValueError, match=message):
        randomizer.randomize([0, bad])


def test_numbers_between_zero_and_one():
    with pytest.raises(ValueError, match=r"values must be 0 or 1, got 0\.5 at position 1"):
        Laplace(epsilon0=1.0).randomize([0, 0.5])
    assert Laplace(1.0, "interval").randomize([0, 0.5]).shape == (2,)


@pytest.mark.parametrize("randomizer", [*(r for r, _ in WHOLE), Gaussian(sigma=1.0)], ids=str)
def test_no_values(randomizer):
    with pytest.raises(ValueError, match="values must hold at least one entry, got none"):
        randomizer.randomize([])


@pytest.mark.parametrize(
    "randomizer",
    [
        *(r for r, largest in WHOLE if largest < 100),
        Laplace(epsilon0=1.0),
        Gaussian(sigma=1.0),
        joint(MATRIX, KRR(k=3, epsilon0=1.0)),
        parallel({MATRIX: 1e-300, KRR(k=3, epsilon0=1.0): 1.0}),
    ],
    ids=str,
)
def test_a_batch_in_which_nobody_takes_part(randomizer):
    silent = subsample(randomizer, rate=1e-300)
    values = np.zeros((50, randomizer.attributes or 1), dtype=int)
    for inputs in (values[:1], values):
        shaped = inputs[:, 0] if randomizer.attributes is None else inputs
        reports = silent.randomize(shaped, np.random.default_rng(1))
        assert reports.shape == (len(inputs),)
        assert not reports["present"].any()
        aggregator = Aggregator(silent)
        aggregator.add(reports)
        assert aggregator.n == len(inputs)


@pytest.mark.parametrize("randomizer", [*(r for r, _ in WHOLE), Gaussian(sigma=1.0)], ids=str)
@pytest.mark.parametrize("values", [1, np.zeros((2, 2), dtype=int)])
def test_values_of_another_shape(randomizer, values):
    with pytest.raises(ValueError, match="values must be one-dimensional"):
        randomizer.randomize(values)


def test_ragged_values():
    with pytest.raises(TypeError, match="values must be integers from 0 to 9"):
        KRR(k=10, epsilon0=1.0).randomize([[1], [1, 2]])


@pytest.mark.parametrize(
    "randomizer",
    [
        OUE(epsilon0=1.0),
        RAPPOR(epsilon0=1.0),
        UnaryEncoding(p=0.7, q=0.2),
        HadamardResponse(epsilon0=1.0),
    ],
    ids=str,
)
def test_a_domain_size_is_needed(randomizer):
    for act in (lambda: randomizer.randomize([0]), lambda: randomizer.report_dtype):
        with pytest.raises(ValueError, match="stands for every domain; give its domain_size"):
            act()


def test_reports_that_are_too_long():
    for randomizer in (OUE(1.0, 2**40), SubsetSelection(1.0, 2**40)):
        with pytest.raises(ValueError, match=r"a report must have at most 2\*\*30 bytes to run"):
            randomizer.randomize([0])


def test_any_pure_ldp_cannot_run():
    randomizer = AnyPureLDP(epsilon0=1.0)
    for act in (lambda: randomizer.randomize([0]), lambda: randomizer.report_dtype):
        with pytest.raises(TypeError, match="stands for many mechanisms and cannot run"):
            act()


def test_noise_that_does_not_fit():
    with pytest.raises(ValueError, match=r"epsilon0/bound must be at least 2\*\*-40"):
        DiscreteLaplace(epsilon0=1e-12, bound=100).randomize([0])


def test_too_many_buckets():
    with pytest.raises(ValueError, match=r"runs with at most 2\*\*32"):
        LocalHash(epsilon0=30.0).randomize([0])


def test_constant_hash_functions_the_accounting_counts_on():
    with pytest.raises(ValueError, match="leave out domain_size"):
        BinaryLocalHash(epsilon0=200.0, domain_size=200).randomize([0])
    assert BinaryLocalHash(epsilon0=200.0).randomize([0]).shape == (1,)
    assert BinaryLocalHash(epsilon0=100.0, domain_size=200).randomize([0]).shape == (1,)


PAIR = joint(KRR(k=3, epsilon0=1.0), Laplace(epsilon0=1.0))


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ([0, 1, 2], ValueError, "values of joint must have 2 entries, got 3"),
        (np.zeros((5, 3), dtype=int), ValueError, "values of joint must have 2 entries, got 3"),
        (np.zeros(5, dtype=int), TypeError, "sequence of 2 arrays, one per attribute"),
        (7, TypeError, "sequence of 2 arrays, one per attribute"),
        (([0, 1], [0, 1, 1]), ValueError, r"must be of the same users, got \[2, 3\] entries"),
        (([0, 5], [0, 1]), ValueError, "attribute 0 of joint: values must be integers from 0 to 2"),
        (([0, 1], [0, 0.5]), ValueError, "attribute 1 of joint: values must be 0 or 1"),
        (([0.5, 1], [0, 1]), TypeError, "attribute 0 of joint: values must be integers"),
    ],
)
def test_values_of_a_joint_composition(values, error, message):
    with pytest.raises(error, match=message):
        PAIR.randomize(values)


def test_columns_and_sequences_are_the_same():
    table = np.array([[0, 1], [2, 0], [1, 1]])
    rng = [np.random.default_rng(1) for _ in range(3)]
    first = PAIR.randomize(table, rng[0])
    assert first.tobytes() == PAIR.randomize((table[:, 0], table[:, 1]), rng[1]).tobytes()
    assert first.tobytes() == PAIR.randomize([[0, 2, 1], [1, 0, 1]], rng[2]).tobytes()


def test_one_of_has_one_entry_per_part():
    """A joint composition beside a single mechanism: one entry for each."""
    own = one_of({PAIR: 0.5, KRR(k=4, epsilon0=1.0): 0.5})
    assert own.attributes == 2
    reports = own.randomize((([0, 1, 2], [0, 1, 1]), [3, 3, 3]), np.random.default_rng(1))
    assert reports.shape == (3,)
    with pytest.raises(ValueError, match="values of one_of must have 2 entries, got 3"):
        own.randomize(([0], [0], [3]))


def test_inputs_are_not_changed():
    values = np.arange(1000) % 10
    for randomizer in (KRR(k=10, epsilon0=1.0), OUE(epsilon0=1.0, domain_size=10), MATRIX):
        used = values % 3
        randomizer.randomize(used)
        assert (used == values % 3).all()
    frozen = values.copy()
    frozen.setflags(write=False)
    KRR(k=10, epsilon0=1.0).randomize(frozen)
