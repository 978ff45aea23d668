"""Batches, merging and files give the same sums as one pass; other reports are refused."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from cases import CASES, MATRIX, Case, leaves, skewed

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
    LocalHash,
    MatrixRandomizer,
    SubsetSelection,
    joint,
    parallel,
    shuffle,
)
from shuffledp.basics.sealed import seal


def reports_of(case: Case) -> np.ndarray:
    return case.randomizer.randomize(case.values, np.random.default_rng(4))


def whole(case: Case) -> Aggregator:
    aggregator = Aggregator(case.randomizer)
    aggregator.add(reports_of(case))
    return aggregator


def assert_same(first: Aggregator, second: Aggregator) -> None:
    """Sums of squares may differ by their rounding; all others are equal."""
    assert first.n == second.n
    pairs = zip(leaves(first.estimate()), leaves(second.estimate()), strict=True)
    for one, other in pairs:
        assert one.values == pytest.approx(other.values, rel=1e-12, abs=1e-12)
        assert one.standard_errors == pytest.approx(other.standard_errors, rel=1e-9)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_batches_merging_and_files(case, tmp_path):
    reports, once = reports_of(case), whole(case)
    assert once.n == reports.size
    in_batches = Aggregator(case.randomizer)
    for batch in np.array_split(reports, 7):
        in_batches.add(batch)
    assert_same(in_batches, once)
    halves = [Aggregator(case.randomizer) for _ in range(2)]
    for aggregator, half in zip(halves, np.array_split(reports, 2), strict=True):
        aggregator.add(half)
    path = tmp_path / "half"
    halves[1].save(path)
    loaded = Aggregator.load(path, case.randomizer)
    assert_same(loaded, halves[1])
    halves[0].merge(loaded)
    assert_same(halves[0], once)
    assert os.listdir(tmp_path) == ["half"]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_order_of_reports_does_not_matter(case):
    mixed = Aggregator(case.randomizer)
    mixed.add(shuffle(reports_of(case), np.random.default_rng(1)))
    assert_same(mixed, whole(case))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_reports_survive_a_file_of_bytes(case, tmp_path):
    reports = reports_of(case)
    reports.tofile(tmp_path / "reports")
    aggregator = Aggregator(case.randomizer)
    aggregator.add(np.fromfile(tmp_path / "reports", dtype=case.randomizer.report_dtype))
    assert_same(aggregator, whole(case))


def test_empty_batches_change_nothing():
    case = CASES[0]
    aggregator = whole(case)
    aggregator.add(reports_of(case)[:0])
    assert_same(aggregator, whole(case))


def test_candidates():
    values = skewed(50, 5000)
    rng = np.random.default_rng(1)
    for randomizer in (
        KRR(k=50, epsilon0=3.0),
        OUE(epsilon0=2.0, domain_size=50),
        LocalHash(epsilon0=2.0, domain_size=50),
        HadamardResponse(epsilon0=2.0, domain_size=50),
        SubsetSelection(epsilon0=3.0, domain_size=50),
        SubsetSelection(epsilon0=5.0, domain_size=50, size=1),
    ):
        reports = randomizer.randomize(values, rng)
        some, every = Aggregator(randomizer, candidates=[7, 0]), Aggregator(randomizer)
        some.add(reports)
        every.add(reports)
        assert some.estimate().values.tolist() == every.estimate().values[[7, 0]].tolist()


def test_domains_without_a_size():
    """Local hashing can run without a domain size and then needs candidates."""
    randomizer = LocalHash(epsilon0=4.0)
    values = np.array([10**18, 3, 3, 10**12] * 1000)
    with pytest.raises(ValueError, match="needs domain_size or candidates"):
        Aggregator(randomizer)
    candidates = [3, 10**12, 10**18, 5]
    aggregator = Aggregator(randomizer, candidates=candidates)
    aggregator.add(randomizer.randomize(values, np.random.default_rng(1)))
    estimate = aggregator.estimate()
    gap = estimate.values - [0.5, 0.25, 0.25, 0.0]
    assert (abs(gap) < 4 * estimate.standard_errors).all()
    assert estimate.standard_errors.max() < 0.02


def test_domains_too_large_to_list():
    for randomizer in (
        KRR(k=2**50, epsilon0=40.0),
        HadamardResponse(epsilon0=4.0, domain_size=2**50),
        LocalHash(epsilon0=4.0, domain_size=2**50),
        SubsetSelection(epsilon0=40.0, domain_size=2**50, size=3),
    ):
        with pytest.raises(ValueError, match="needs candidates to count support"):
            Aggregator(randomizer)
        aggregator = Aggregator(randomizer, candidates=[5, 2**49, 77])
        values = np.array([5, 5, 5, 2**49] * 500)
        aggregator.add(randomizer.randomize(values, np.random.default_rng(1)))
        estimate = aggregator.estimate()
        gap = np.abs(estimate.values - [0.75, 0.25, 0.0])
        assert (gap <= 4 * estimate.standard_errors + 1e-12).all()


def test_candidates_of_compositions():
    blh, krr = BinaryLocalHash(epsilon0=4.0), KRR(k=10, epsilon0=4.0)
    values, rng = skewed(10, 4000), np.random.default_rng(1)
    mixed = parallel({krr: 0.5, blh: 0.5})
    aggregator = Aggregator(mixed, candidates=range(10))
    aggregator.add(mixed.randomize(values, rng))
    truth = np.bincount(values) / 4000
    assert aggregator.estimate().confidence_interval(0.9999).covers(truth).all()
    both = joint(krr, blh)
    aggregator = Aggregator(both, candidates=[None, [0, 1]])
    aggregator.add(both.randomize((values, values), rng))
    sizes = [leaf.values.size for leaf in leaves(aggregator.estimate())]
    assert sizes == [10, 2]
    with pytest.raises(ValueError, match="one entry for each of 2 attributes, got 3"):
        Aggregator(both, candidates=[None, None, None])


@pytest.mark.parametrize(
    ("candidates", "error", "message"),
    [
        ([10], ValueError, "candidates must be integers from 0 to 9, got 10 at position 0"),
        ([0.5], TypeError, "candidates must be integers from 0 to 9, got entries of type float64"),
        ([], ValueError, "candidates must hold at least one entry"),
        (3, ValueError, "candidates must be one-dimensional"),
    ],
)
def test_bad_candidates(candidates, error, message):
    with pytest.raises(error, match=message):
        Aggregator(KRR(k=10, epsilon0=1.0), candidates=candidates)


def test_candidates_where_there_are_none():
    for randomizer in (MATRIX, Gaussian(sigma=1.0)):
        with pytest.raises(ValueError, match="candidates must be None for"):
            Aggregator(randomizer, candidates=[0])


def test_mechanisms_that_cannot_run():
    with pytest.raises(TypeError, match="randomizer must be a mechanism that can run"):
        Aggregator(AnyPureLDP(epsilon0=1.0))
    with pytest.raises(ValueError, match="give its domain_size to run it"):
        Aggregator(OUE(epsilon0=1.0))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_reports_of_another_type(case):
    aggregator = whole(case)
    other = np.zeros(3, dtype=[("x", "u1"), ("y", "u2")])
    for reports in (other, np.zeros(3, dtype="S7"), [0.5, 1], None):
        with pytest.raises(TypeError, match=r"reports of .* must be of type"):
            aggregator.add(reports)
    with pytest.raises(ValueError, match="reports must be one-dimensional"):
        aggregator.add(reports_of(case).reshape(2, -1))
    assert_same(aggregator, whole(case))


def test_integers_of_any_type():
    randomizer, wanted = KRR(k=300, epsilon0=1.0), Aggregator(KRR(k=300, epsilon0=1.0))
    wanted.add(np.array([0, 7, 299], dtype=np.uint16))
    for reports in (
        [0, 7, 299],
        (0, 7, 299),
        np.array([0, 7, 299]),
        np.array([0, 7, 299], dtype=np.uint64),
        np.array([0, 7, 299], dtype=">u2"),
    ):
        aggregator = Aggregator(randomizer)
        aggregator.add(reports)
        assert_same(aggregator, wanted)
    for reports, message in (
        ([0, -1], "must fit into uint16, got -1 at position 1"),
        (np.array([2**16 + 7]), "must fit into uint16, got 65543 at position 0"),
        (np.array([2**64 - 1], dtype=np.uint64), "must fit into uint16"),
        ([300], "reports must be below 300"),
    ):
        with pytest.raises(ValueError, match=message):
            Aggregator(randomizer).add(reports)
    noisy = Aggregator(DiscreteLaplace(epsilon0=1.0, bound=3))
    noisy.add([-4, 0, 9])
    assert noisy.n == 3


def test_reports_of_another_length():
    reports = OUE(epsilon0=1.0, domain_size=20).randomize([3, 4])
    with pytest.raises(TypeError, match=r"reports of oue.*must be of type \|V2, got \|V3"):
        Aggregator(OUE(epsilon0=1.0, domain_size=10)).add(reports)


def test_impossible_reports_are_refused_and_change_nothing():
    krr, oue = KRR(k=10, epsilon0=1.0), OUE(epsilon0=1.0, domain_size=10)
    blh = BinaryLocalHash(epsilon0=1.0, domain_size=1000)
    hashed = blh.randomize([0, 1])
    hashed["bucket"][1] = 2
    functions = blh.randomize([0, 1])
    functions["function"][1, 0] = 2**31 - 1
    mixed = parallel({krr: 0.5, oue: 0.5})
    part = mixed.randomize([0, 1])
    part["part"][0] = 2
    both = joint(oue, krr)
    second = both.randomize(([0, 1], [0, 1]))
    second["part1"][1] = 10
    noise = DiscreteLaplace(epsilon0=1.0, bound=3)
    for randomizer, reports, message in [
        (krr, np.array([0, 12], dtype=np.uint8), "reports must be below 10, got 12 at position 1"),
        (
            oue,
            np.array([0, 1 << 12], "<u2").view("V2"),
            "have 10 bits, got more at position 1",
        ),
        (blh, hashed, "must hold functions and buckets of blh"),
        (blh, functions, "must hold functions and buckets of blh"),
        (mixed, part, "must name one of 2 parts, got 2 at position 0"),
        (both, second, "reports must be below 10, got 10 at position 1"),
        (noise, np.array([2**60]), "must be below 2\\*\\*52 in size"),
        (noise, np.array([1, -(2**63)]), "at position 1"),
        (Gaussian(sigma=1.0), np.array([0, 2**52]), "at position 1"),
        (MATRIX, np.array([4], dtype=np.uint8), "reports must be below 4"),
    ]:
        aggregator = Aggregator(randomizer)
        with pytest.raises(ValueError, match=message):
            aggregator.add(reports)
        assert aggregator.n == 0
        with pytest.raises(ValueError, match="at least one report"):
            aggregator.estimate()


def test_sums_of_integers_are_exact():
    randomizer = DiscreteLaplace(epsilon0=1.0, bound=3)
    reports = np.array([2**51 + 1, -(2**51), 2**50 + 3, -(2**50), 5] * 1000)
    aggregator = Aggregator(randomizer)
    for batch in np.array_split(reports, 13):
        aggregator.add(batch)
    assert aggregator.estimate().values[0] == 9 / 5


def test_merging_other_mechanisms():
    first = Aggregator(KRR(k=10, epsilon0=1.0))
    for other in (
        Aggregator(KRR(k=10, epsilon0=1.5)),
        Aggregator(KRR(k=10, epsilon0=1.0), candidates=range(10)),
    ):
        with pytest.raises(ValueError, match=r"other must be for krr\(k=10, epsilon0=1\.0\)"):
            first.merge(other)
    with pytest.raises(TypeError, match="other must be an Aggregator"):
        first.merge(3)


def test_files_of_other_mechanisms(tmp_path):
    path = tmp_path / "sums"
    whole(CASES[0]).save(path)
    for other in (KRR(k=5, epsilon0=2.5), RAPPOR(epsilon0=2.0, domain_size=5)):
        with pytest.raises(ValueError, match=r"must be for .* got krr\(k=5, epsilon0=2\.0\)"):
            Aggregator.load(path, other)
    with pytest.raises(ValueError, match="the same candidates"):
        Aggregator.load(path, CASES[0].randomizer, candidates=[1])


def test_files_know_a_matrix_by_its_entries(tmp_path):
    entries = [[0.75, 0.25], [0.25, 0.75]]
    table = tmp_path / "table.csv"
    table.write_text("0.75,0.25\n0.25,0.75\n")
    read = MatrixRandomizer.from_file(table)
    aggregator = Aggregator(read)
    aggregator.add(read.randomize([0, 1, 1]))
    aggregator.save(tmp_path / "sums")
    assert Aggregator.load(tmp_path / "sums", MatrixRandomizer(entries)).n == 3
    table.write_text("0.5,0.5\n0.25,0.75\n")
    with pytest.raises(ValueError, match="must be for matrix"):
        Aggregator.load(tmp_path / "sums", MatrixRandomizer.from_file(table))


@pytest.mark.parametrize("case", [CASES[0], CASES[-1]], ids=str)
def test_damaged_files(case, tmp_path):
    """Every truncation and every changed byte is noticed."""
    path = tmp_path / "sums"
    whole(case).save(path)
    good = path.read_bytes()
    rng = np.random.default_rng(1)
    for cut in [0, 1, *rng.integers(2, len(good), 60).tolist(), len(good) - 1]:
        path.write_bytes(good[:cut])
        with pytest.raises(ValueError, match="does not hold sums of reports, or is damaged"):
            Aggregator.load(path, case.randomizer)
    for position in rng.integers(0, len(good), 300).tolist():
        broken = bytearray(good)
        broken[position] ^= 1 << int(rng.integers(0, 8))
        path.write_bytes(bytes(broken))
        try:
            loaded = Aggregator.load(path, case.randomizer)
        except ValueError:
            continue
        assert_same(loaded, whole(case))  # white space between the fields


@pytest.mark.parametrize("text", ["[]", "{}", "null", "3", '{"checksum": 1}', "[" * 100_000])
def test_other_files(text, tmp_path):
    path = tmp_path / "sums"
    path.write_text(text)
    with pytest.raises(ValueError, match="does not hold sums of reports"):
        Aggregator.load(path, CASES[0].randomizer)


def test_files_with_sums_of_another_shape(tmp_path):
    path = tmp_path / "sums"
    whole(CASES[0]).save(path)
    content = json.loads(path.read_text())
    del content["checksum"]
    for sums in ([[600]], [[600], [1, 2, 3]], [[600.5], [1, 2, 3, 4, 5]], [["a"], [1, 2, 3, 4, 5]]):
        content["sums"] = sums
        path.write_text(seal(content))
        with pytest.raises(ValueError, match="does not hold sums of reports"):
            Aggregator.load(path, CASES[0].randomizer)


def test_failed_writes_leave_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "sums"
    whole(CASES[0]).save(path)
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            Aggregator(CASES[0].randomizer).save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["sums"]
    with pytest.raises(FileNotFoundError):
        whole(CASES[0]).save(tmp_path / "absent" / "sums")
    with pytest.raises(FileNotFoundError):
        Aggregator.load(tmp_path / "absent", CASES[0].randomizer)


def test_noise_survives_files_exactly(tmp_path):
    case = next(c for c in CASES if str(c).startswith("gaussian"))
    aggregator = whole(case)
    aggregator.save(tmp_path / "sums")
    loaded = Aggregator.load(tmp_path / "sums", case.randomizer)
    assert loaded.estimate().values.tolist() == aggregator.estimate().values.tolist()
