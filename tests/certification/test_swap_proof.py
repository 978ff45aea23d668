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
from flint import acb, arb, ctx, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle.random_mechanisms import Generator
from oracle.truth import Truth

from shuffledp import ShuffleAccountant, parse
from shuffledp.accounting.swap_bound import SwapBound
from shuffledp.certification.backgrounds import Backgrounds
from shuffledp.certification.cases import Case
from shuffledp.certification.derivation import background
from shuffledp.certification.geometric import Examined
from shuffledp.certification.proof import Claim, prove_guarantee, prove_leak
from shuffledp.certification.slots import Slots, cases_of, slots_of
from shuffledp.certification.swap import bound_swap
from shuffledp.certification.swap_nodes import collect_nodes
from shuffledp.certification.swap_plan import Planner
from shuffledp.certification.tilt import tilt_by
from shuffledp.engine.balls import ball
from shuffledp.engine.progress import silent
from shuffledp.errors import NoAnswerError
from shuffledp.randomizers import Pair

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
    with ctx.workprec(128):
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


def case_of_first_rows(rows: list[list[float]]) -> Case:
    return Case(Pair(0, 1), tuple(range(len(rows))))


def slots(rows: list[list[float]], ratio: Fraction) -> Slots:
    found = slots_of(parse(f"matrix({rows})"), case_of_first_rows(rows), ball(ratio).log())
    assert found is not None
    return found


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize("ratio", RATIOS, ids=str)
@pytest.mark.parametrize("rows", ROWS, ids=range(len(ROWS)))
def test_truth_below_formula_below_balls(rows: list[list[float]], ratio: Fraction) -> None:
    """For every background of up to five users, in exact fractions."""
    exact = [[Fraction(p) for p in row] for row in rows]
    for n in (2, 4) if len(rows) > 2 else (2, 5):
        largest = Fraction(0)
        for others in combinations_with_replacement(range(len(rows)), n - 1):
            value = formula(exact, others, ratio)
            assert truth(exact, others, ratio) <= value
            largest = max(largest, value)
        found = bound_swap(slots(rows, ratio), n, 1e-2, silent)
        if found is not None:
            assert found.upper >= fmpq(largest.numerator, largest.denominator)
            assert found.upper <= 1.3 * float(largest) or ratio == 2


def test_the_formula_has_mass_one_and_its_reference_values() -> None:
    rows = [[Fraction(p) for p in row] for row in ROWS[1]]
    assert formula(rows, (0, 1, 2), Fraction(0)) == 1
    binary = [[Fraction(p) for p in row] for row in ROWS[0]]
    assert formula(binary, (0, 0, 1), Fraction(5, 4)) == Fraction(99, 512)
    assert formula(binary, (0, 0, 0), Fraction(5, 4)) == Fraction(387, 2048)


@settings(max_examples=40)
@given(
    tilt=st.floats(0.1, 6.0),
    tau=st.floats(0.02, 2.0),
    step=st.floats(0.05, 3.0),
    count=st.integers(1, 60),
    terms=st.integers(1, 6),
)
def test_no_parameters_make_it_unsound(
    tilt: float, tau: float, step: float, count: int, terms: int
) -> None:
    """Whatever tilt, smoothing, nodes and terms are chosen, the bound is above the formula."""
    rows, ratio, n = ROWS[1], Fraction(11, 10), 5
    own = slots(rows, ratio)
    plan = Planner(own, n, 1e-2).first_plan()
    assert plan is not None
    odd = replace(plan, theta=arb(tilt), tau=tau, step=step, count=count, terms=min(terms, n))
    first, *types = (tilt_by(law, odd.theta) for law in (own.first, *own.types))
    examined = Examined(own.blanket_mass, own.rest, n - 1, odd.terms, types[0].log_mgf.mid())
    nodes = collect_nodes(first, types, examined, odd)
    assert nodes is not None
    found = Backgrounds(nodes.kept, examined, len(types)).largest(0.1, silent)
    unit = ((n - 1) * examined.top + first.log_mgf + arb(tau) ** 2 / 2).exp() / (n * odd.theta)
    upper = (found.bound + nodes.left_out) * unit + examined.tail
    assert upper.upper() >= ball(LARGEST_OF_FIVE).lower()


EXACT_ROWS = [[Fraction(p) for p in row] for row in ROWS[1]]
LARGEST_OF_FIVE = max(
    formula(EXACT_ROWS, others, Fraction(11, 10))
    for others in combinations_with_replacement(range(3), 4)
)


@pytest.mark.parametrize("terms", [1, 2, 7])
@pytest.mark.parametrize("logs", [(-0.1 + 0.3j, -0.4 - 0.2j, -0.1 + 0.35j), (0.2j, 0.2j, -2 + 1j)])
def test_sums_over_who_is_examined(terms: int, logs: tuple[complex, ...]) -> None:
    """Against all sets K: central terms, bounds on moduli, and what averages differ from them."""
    others, top = 6, 0.05
    examined = Examined(arb(0.3), arb(1) - arb(0.3), others, terms, arb(top))
    exact = [acb(x.real, x.imag) for x in logs]
    square = arb(max(abs(x - y) ** 2 for x in logs for y in logs))
    largest, lowest = (f(x.real for x in logs) for f in (max, min))
    spread = examined.spread(arb(largest), arb(lowest), square)
    for counts in [(6, 0, 0), (3, 3, 0), (2, 2, 2), (1, 0, 5)]:
        users = [v for v, count in enumerate(counts) for _ in range(count)]
        mean = sum((exact[v] for v in users), acb(0)) / others
        central, average = acb(0), acb(0)
        for k in range(terms):
            weight = arb(0.3) * (1 - arb(0.3)) ** k * (-k * arb(top)).exp()
            central += weight * ((others - k) * mean).exp()
            sets = list(combinations(range(others), others - k))
            for kept in sets:
                sum_of_kept = sum((exact[users[j]] for j in kept), acb(0))
                average += weight * sum_of_kept.exp() / len(sets)
        height = examined.bound(mean.real)
        assert (examined.at(mean) - central).abs_lower() < 1e-30
        assert examined.at(mean).abs_lower() <= height
        variance = arb(1) - max(counts) / others
        assert (average - central).abs_lower() <= spread.at(variance, height)


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
    (case,) = cases_of(randomizer)
    known = [background(randomizer, case.pair, v, "upper").at(arb(0.3)) for v in case.others]
    inputs = range(randomizer.input_domain.size)  # type: ignore[attr-defined]
    for x in inputs:
        for y in set(inputs) - {x}:
            for v in inputs:
                law = background(randomizer, Pair(x, y), v, "upper").at(arb(0.3))
                assert any(
                    len(law.atoms) == len(other.atoms)
                    and all(
                        a.value.overlaps(b.value) and a.weight.overlaps(b.weight)
                        for a, b in zip(law.atoms, other.atoms, strict=True)
                    )
                    for other in known
                )


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
def test_proof_and_double_precision_agree(text: str, n: int, epsilon: float) -> None:
    randomizer = parse(text)
    accountant = ShuffleAccountant(randomizer, n, bound="best")
    double = max(
        SwapBound(randomizer, n).log_delta(p, epsilon) for p in randomizer.pairs_to_swap() or ()
    )
    claim = Claim(randomizer, n, Decimal(epsilon), Decimal(math.exp(double)), "swap")
    proof = prove_guarantee(claim, silent)
    assert log(proof.upper) == pytest.approx(double, abs=5e-3)
    assert proof.lower == 0
    assert proof.methods["upper"]["name"] == "swap"
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
        proved += proof.methods["upper"]["name"] == "swap"
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
        ("gaussian(sigma=3)", 1000),
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
    assert slots_of(randomizer, Case(Pair(0, 1), (0, 1)), arb(0.1)) is None
    claim = Claim(randomizer, 100, Decimal("0.1"), Decimal("0.3"), "swap")
    assert prove_guarantee(claim, silent).upper >= Decimal("0.25")
