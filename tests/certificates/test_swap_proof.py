"""The swap bound in balls: against its formula in fractions, the truth, and double precision."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, combinations_with_replacement

import pytest
from agreement import log
from flint import arb
from oracle.random_mechanisms import Generator
from oracle.truth import Truth

from shuffledp import ShuffleAccountant, parse
from shuffledp.basics.balls import precision
from shuffledp.basics.errors import NoAnswerError
from shuffledp.bounds.swap.curve import Swapped
from shuffledp.certificates.cases import cases_to_swap
from shuffledp.certificates.derivation import background, blanket
from shuffledp.certificates.proof import Claim, prove_guarantee, prove_leak
from shuffledp.certificates.worst import Candidate
from shuffledp.engine.progress import silent
from shuffledp.engine.sums import Atom
from shuffledp.engine.sums import Law as SumLaw
from shuffledp.mechanisms import Pair
from shuffledp.mechanisms.base import SlotLaws

Law = dict[Fraction, Fraction]

ROWS = [
    [[0.75, 0.25], [0.25, 0.75]],
    [[0.5, 0.25, 0.25], [0.125, 0.5, 0.375], [0.25, 0.25, 0.5]],
    [[0.4375, 0.3125, 0.25], [0.3125, 0.375, 0.3125]],
    [[0.5, 0.5, 0.0], [0.25, 0.75, 0.0], [0.25, 0.5, 0.25]],
]
RATIOS = [Fraction(1), Fraction(11, 10), Fraction(5, 4), Fraction(2)]


@pytest.fixture(autouse=True)
def few_bits():
    with precision():
        yield


def slot(gain: list[Fraction], law: list[Fraction]) -> Law:
    """The law of g/R under R, divided by its mass."""
    found: Counter[Fraction] = Counter()
    for g, p in zip(gain, law, strict=True):
        if p:
            found[g / p] += p / sum(law)
    return dict(found)


def plus(x: Law, y: Law) -> Law:
    found: Counter[Fraction] = Counter()
    for a, p in x.items():
        for b, q in y.items():
            found[a + b] += p * q
    return dict(found)


def formula(rows: list[list[Fraction]], others: tuple[int, ...], ratio: Fraction) -> Fraction:
    """The right-hand side of the theorem for one background, all sets K spelt out."""
    gain = [a - ratio * b for a, b in zip(rows[0], rows[1], strict=True)]
    common = [min(column) for column in zip(*rows, strict=True)]
    gamma, found = sum(common), Fraction(0)
    for k in range(len(others) + 1):
        for examined in combinations(range(len(others)), k):
            law = slot(gain, common)
            for user, v in enumerate(others):
                if user not in examined:
                    law = plus(law, slot(gain, rows[v]))
            positive = sum((p * x for x, p in law.items() if x > 0), Fraction(0))
            found += gamma * (1 - gamma) ** k / math.comb(len(others), k) * positive
    return found / (len(others) + 1)


def truth(rows: list[list[Fraction]], others: tuple[int, ...], ratio: Fraction) -> Fraction:
    """Delta by its definition: all histograms of all reports."""
    laws: list[Counter[tuple[int, ...]]] = []
    for x in (0, 1):
        law: Counter[tuple[int, ...]] = Counter({(): Fraction(1)})
        for v in (x, *others):
            grown: Counter[tuple[int, ...]] = Counter()
            for reports, p in law.items():
                for y, q in enumerate(rows[v]):
                    grown[tuple(sorted((*reports, y)))] += p * q
            law = grown
        laws.append(law)
    return sum((max(p - ratio * laws[1][y], Fraction(0)) for y, p in laws[0].items()), Fraction(0))


def candidate(rows: list[list[float]]) -> Candidate:
    randomizer, pair = parse(f"matrix({rows})"), Pair(0, 1)
    others = tuple(background(randomizer, pair, v) for v in range(len(rows)))
    own = blanket(randomizer, pair)
    return Candidate(pair, own, SlotLaws(own, others))


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize("ratio", RATIOS, ids=str)
@pytest.mark.parametrize("rows", ROWS, ids=range(len(ROWS)))
def test_truth_below_formula_below_balls(rows: list[list[float]], ratio: Fraction) -> None:
    """For every background of up to five users, in exact fractions."""
    exact = [[Fraction(p) for p in row] for row in rows]
    for n in (2, 4) if len(rows) > 2 else (2, 5):
        largest = attained = Fraction(0)
        for others in combinations_with_replacement(range(len(rows)), n - 1):
            value, true = formula(exact, others, ratio), truth(exact, others, ratio)
            assert true <= value
            largest, attained = max(largest, value), max(attained, true)
        own, below = candidate(rows), max(math.log(ratio) - 1e-15, 0.0)
        swapped = Swapped(own.slots, n, 1e-3).above(below).log
        if swapped < math.inf:
            assert arb(swapped).exp() >= arb(largest.numerator) / largest.denominator
            assert math.exp(swapped) <= 1.3 * float(largest) or ratio == 2
        found = own.above(n, below, 1e-3)
        assert arb(found).exp() >= arb(attained.numerator) / attained.denominator
        assert swapped in (found, math.inf)


def test_the_formula_has_mass_one_and_its_reference_values() -> None:
    rows = [[Fraction(p) for p in row] for row in ROWS[1]]
    assert formula(rows, (0, 1, 2), Fraction(0)) == 1
    binary = [[Fraction(p) for p in row] for row in ROWS[0]]
    assert formula(binary, (0, 0, 1), Fraction(5, 4)) == Fraction(99, 512)
    assert formula(binary, (0, 0, 0), Fraction(5, 4)) == Fraction(387, 2048)


SUPPORT = [
    "krr(k=2, epsilon0=1)",
    "krr(k=4, epsilon0=1)",
    "blh(epsilon0=1, domain_size=4)",
    "olh(epsilon0=2, buckets=3, domain_size=4)",
    "rappor(epsilon0=2, domain_size=4)",
    "oue(epsilon0=1, domain_size=4)",
    "unary(p=0.7, q=0.2, domain_size=4)",
    "subset(epsilon0=1, domain_size=6)",
    "hadamard(epsilon0=1, domain_size=2)",
    "hadamard(epsilon0=1, domain_size=3)",
    "hadamard(epsilon0=1, domain_size=7)",
]


@pytest.mark.parametrize("text", SUPPORT)
def test_the_types_stand_for_all_inputs_and_the_pair_for_all_pairs(text: str) -> None:
    """Every input, seen from every pair, has the law of some type seen from the pair proved."""
    randomizer = parse(text)
    (case,) = cases_to_swap(randomizer, 9, 99)
    known = [balls(background(randomizer, case.pair, v).at(0.3).lower) for v in case.others]
    inputs = range(randomizer.input_domain.size)  # type: ignore[attr-defined]
    for x in inputs:
        for y in set(inputs) - {x}:
            for v in inputs:
                law = balls(background(randomizer, Pair(x, y), v).at(0.3).lower)
                assert any(
                    len(law) == len(other)
                    and all(
                        a.value.overlaps(b.value) and a.mass.overlaps(b.mass)
                        for a, b in zip(law, other, strict=True)
                    )
                    for other in known
                )


def balls(law: SumLaw) -> list[Atom]:
    return sorted(law.atoms, key=lambda atom: float(atom.value))


AGREEMENT = [
    ("krr(k=2, epsilon0=1)", 1000, 0.1267),
    ("krr(k=10, epsilon0=2)", 10**5, 0.022),
    ("blh(epsilon0=1)", 1000, 0.0848),
    ("olh(epsilon0=4, buckets=4)", 10**4, 0.295),
    ("rappor(epsilon0=1)", 1000, 0.0913),
    ("oue(epsilon0=2)", 10**4, 0.0744),
    ("unary(p=0.7, q=0.2)", 5000, 0.08),
    ("subset(epsilon0=2, domain_size=20)", 1000, 0.258),
    ("hadamard(epsilon0=2, domain_size=10)", 1000, 0.2692),
    ("hadamard(epsilon0=1)", 10**12, 2e-6),
    ("matrix([[0.75, 0.25], [0.25, 0.75]])", 2000, 0.1),
    ("laplace(epsilon0=1)", 1000, 0.11),
    ("joint(krr(k=3, epsilon0=1), krr(k=3, epsilon0=1))", 10**4, 0.07),
    ("subsample(krr(k=3, epsilon0=1), rate=0.1)", 10**4, 0.02),
]


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize(("text", "n", "epsilon"), AGREEMENT)
def test_proof_and_answer_agree(text: str, n: int, epsilon: float) -> None:
    randomizer = parse(text)
    accountant = ShuffleAccountant(randomizer, n, bound="best")
    answer, _ = accountant.proved_log_delta(epsilon)
    claim = Claim(randomizer, n, Decimal(epsilon), Decimal(math.exp(answer)), "swap")
    proof = prove_guarantee(claim, silent)
    assert float(log(proof.upper)) == pytest.approx(answer, abs=1e-2)
    assert proof.lower == 0
    blanket = replace(claim, bound="blanket")
    assert proof.upper < Decimal("1.001") * prove_guarantee(blanket, silent).upper
    datasets = accountant.delta_report(epsilon).datasets
    assert datasets is not None
    assert prove_leak(claim, datasets, silent).lower <= proof.upper


def judge(generator: Generator, count: int) -> None:
    """What is proved is above the truth of all datasets, in exact integers."""
    proved = 0
    for instance in generator.instances(count):
        randomizer, exact = parse(instance.text), Truth(instance.channel, instance.n)
        epsilon = Decimal(generator.epsilons(instance.channel, 2)[1])
        try:
            claim = Claim(randomizer, instance.n, epsilon, Decimal(1), "swap")
            proof = prove_guarantee(claim, silent)
        except NoAnswerError:
            continue
        proved += proof.upper < prove_guarantee(replace(claim, bound="blanket"), silent).lower
        assert exact.delta(Fraction(epsilon)).low <= Fraction(proof.upper), instance.text
    assert proved > 0


@pytest.mark.heavy
def test_proofs_are_above_the_truth() -> None:
    judge(Generator(71, (), effort=2_000), 16)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(7001, 7004))
def test_proofs_are_above_the_truth_in_many_cases(seed: int) -> None:
    judge(Generator(seed), 100)


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("krr(k=3, epsilon0=1)", 1),
        ("any_pure_ldp(epsilon0=1)", 1000),
        ("gaussian(sigma=0.3)", 1),
        ("discrete_laplace(epsilon0=1, bound=8)", 1000),
        ("matrix([[0.5, 0.5]])", 10),
    ],
)
def test_where_the_swap_bound_is_not_known(text: str, n: int) -> None:
    claim = Claim(parse(text), n, Decimal("0.1"), Decimal("0.1"), "swap")
    with pytest.raises(NoAnswerError, match=r"the swap bound of \d+ users .* is not known"):
        prove_guarantee(claim, silent)


def test_outputs_that_give_an_input_away_are_left_to_the_blanket() -> None:
    randomizer = parse("matrix([[0.5, 0.5, 0.0], [0.25, 0.5, 0.25]])")
    claim = Claim(randomizer, 100, Decimal("0.1"), Decimal("0.3"), "swap")
    assert prove_guarantee(claim, silent).upper >= Decimal("0.25")
