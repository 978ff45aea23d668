"""No mixture of types exceeds the leading one by more than is said."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from shuffledp import parse
from shuffledp.divergence import lead as leading
from shuffledp.divergence import swap
from shuffledp.divergence.lead import (
    Gap,
    Heights,
    ceiling_of_mixtures,
    leading_type,
    loss_of_leading,
    ranked_types,
)
from shuffledp.divergence.proposals.swap import SwapProposal
from shuffledp.divergence.slots import Slots
from shuffledp.divergence.swap import _Spectrum
from shuffledp.divergence.swap_integrand import Nodes
from shuffledp.divergence.tilt import tilt


def nodes_of(slots: Slots, n: int) -> tuple[Nodes, _Spectrum]:
    proposal = SwapProposal(slots.first, slots.types, slots.blanket_mass, n, 2e-3)
    first, *types = (tilt(law.scaled(proposal.theta), 1.0) for law in (slots.first, *slots.types))
    spectrum = _Spectrum(first, types, slots.blanket_mass, n, proposal)
    return spectrum.nodes, spectrum


def slots_of(text: str, epsilon: float) -> Slots:
    mechanism = parse(text)
    laws = mechanism.slot_laws(mechanism.neighbours()[0])
    assert laws is not None
    return Slots.of(laws.blanket, laws.backgrounds, epsilon)


def counts_of(rng: np.random.Generator, types: int, users: int) -> np.ndarray:
    """All of one type, a few or many of others, or anything."""
    shares = rng.dirichlet(np.full(types, rng.choice([0.05, 0.3, 1.0])))
    keep = rng.choice([0.0, 0.9, 0.99]) * np.eye(types)[rng.integers(types)]
    return rng.multinomial(users, (shares + 20 * keep) / (shares + 20 * keep).sum())


CASES = [
    ("blh(epsilon0=2)", 300, 0.3),
    ("krr(k=2, epsilon0=1)", 40, 0.3),
    ("krr(k=2, epsilon0=2)", 1000, 0.33),
    ("hadamard(epsilon0=1, domain_size=10)", 1000, 0.1),
    ("any_pure_ldp(epsilon0=1)", 1000, 0.13),
    ("any_pure_ldp(epsilon0=1)", 12, 0.3),
    ("matrix([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5], [0.3, 0.4, 0.3]])", 60, 0.3),
]


@pytest.mark.heavy
@pytest.mark.parametrize(("text", "n", "epsilon"), CASES, ids=lambda value: str(value)[:24])
def test_mixtures(text, n, epsilon):
    """Every number of users examined in vain has its own, arbitrary mixture."""
    nodes, spectrum = nodes_of(slots_of(text, epsilon), n)
    terms, log_ratio = min(spectrum.terms, n - 1), spectrum.log_rest - spectrum.top
    rng = np.random.default_rng(n)
    lead, types = leading_type(nodes), len(nodes.exponent)

    def total(counts: np.ndarray) -> float:
        return float((nodes.kernel * np.exp(counts @ nodes.exponent)).sum().real)

    for last in {0, 1, terms // 2, terms - 1}:
        loss = loss_of_leading(nodes, n - 1, last + 1, log_ratio, spectrum.gamma)
        weights = spectrum.gamma * np.exp(log_ratio * np.arange(last + 1))
        alone = [total((n - 1 - k) * np.eye(types)[lead]) for k in range(last + 1)]
        for _ in range(60):
            mixed = [total(counts_of(rng, types, n - 1 - k)) for k in range(last + 1)]
            assert weights @ mixed <= (weights @ alone + loss) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("text", "n", "epsilon"), [("blh(epsilon0=1)", 1000, 0.085), CASES[3], CASES[4]]
)
def test_often_nothing_is_lost(text, n, epsilon):
    nodes, spectrum = nodes_of(slots_of(text, epsilon), n)
    log_ratio = spectrum.log_rest - spectrum.top
    assert loss_of_leading(nodes, n - 1, spectrum.terms, log_ratio, spectrum.gamma) == 0


def test_lattices_lose():
    """One user of the other type breaks the lattice of binary response: no leading type."""
    nodes, spectrum = nodes_of(slots_of("krr(k=2, epsilon0=2)", 0.33), 1000)
    log_ratio = spectrum.log_rest - spectrum.top
    alone = float((nodes.kernel * np.exp(999 * nodes.exponent[0])).sum().real)
    assert loss_of_leading(nodes, 999, spectrum.terms, log_ratio, spectrum.gamma) > 0.5 * alone


def test_equal_types_have_no_leader():
    nodes, spectrum = nodes_of(slots_of("blh(epsilon0=2)", 0.3), 300)
    twice = replace(nodes, exponent=np.concatenate([nodes.exponent, nodes.exponent]))
    assert loss_of_leading(twice, 299, 1, -0.1, spectrum.gamma) == np.inf


@pytest.mark.parametrize(
    ("text", "n", "epsilon"),
    [
        ("subsample(discrete_laplace(epsilon0=2, bound=3), rate=0.5)", 2000, 0.1),
        ("discrete_laplace(epsilon0=1, bound=4)", 60, 0.3),
        CASES[5],
    ],
    ids=lambda value: str(value)[:24],
)
def test_mixtures_beyond_the_contenders(text, n, epsilon):
    """Whatever the shares: moving all to the contenders and the leader loses no more than said."""
    nodes, spectrum = nodes_of(slots_of(text, epsilon), n)
    log_ratio, rng = spectrum.log_rest - spectrum.top, np.random.default_rng(3)
    types, terms, lead = len(nodes.exponent), spectrum.terms, leading_type(nodes)
    order, contending = ranked_types(nodes, n - 1)
    assert order[0] == lead
    assert sorted(order) == list(range(types))
    for kept in (order[:contending], [lead], [lead, (lead + 1) % types]):
        ceiling, mixing = ceiling_of_mixtures(nodes, kept, n - 1, terms, log_ratio, spectrum.gamma)
        weights = spectrum.gamma * np.exp(log_ratio * np.arange(terms))
        left = n - 1 - np.arange(terms)

        def total(shares: np.ndarray, weights=weights, left=left) -> float:
            powers = np.exp(left[:, None] * (shares @ nodes.exponent))
            return float(weights @ (nodes.kernel * powers).sum(axis=1).real)

        for _ in range(60):
            shares = counts_of(rng, types, n - 1) / (n - 1)
            moved = np.where(np.isin(np.arange(types), kept), shares, 0.0)
            moved[lead] += 1 - moved.sum()
            assert total(shares) <= (max(total(moved), ceiling) + mixing) * (1 + 1e-12)


def test_allowances_by_products_are_sums_of_terms():
    """At nodes of all three forms: close to the leading type, far from it, or anything."""
    rng = np.random.default_rng(1)
    x, eta = rng.uniform(0, 9, (4, 90)), np.repeat([-1.0, 0.7, 2.0], 30)
    gap = Gap(x, eta, 0.3, 0.5)
    heights = Heights(30, 20, *(rng.uniform(0, top, 90) for top in (1.0, 0.1, 1.0)))
    allowed = gap.allowed(heights)
    growth = np.exp(-0.7) / 0.3
    gentle = heights.height * np.where(eta < 0, 1.0, np.where(eta < 1, growth, np.inf))
    few, many = heights.half * (1 + 30 * 0.5), 2 * heights.largest / -np.expm1(-0.5 * 20 * 0.3)
    forms = [gentle * x, few * x + many, heights.largest * np.maximum(1.59 * x, 2.17)]
    chosen = np.argmin([form.max(axis=0) for form in forms], axis=0)
    assert {*chosen.tolist()} == {0, 1, 2}
    assert allowed == pytest.approx(np.choose(chosen, forms))
    assert gap.sums(heights) == pytest.approx(allowed.sum(axis=1))


def test_what_a_block_allows(monkeypatch):
    """The largest of all types, rounded up."""
    monkeypatch.setattr(leading, "ROUND_UP", 1.5)
    rng = np.random.default_rng(2)
    x = rng.uniform(0, 1, (4, 30)) * np.array([[1.0], [2.0], [9.0], [4.0]])
    gap = Gap(x, np.repeat([-1.0, 0.7, 2.0], 10), 0.3, 0.5)
    heights = Heights(30, 20, *(rng.uniform(0, top, 30) for top in (1.0, 0.1, 1.0)))
    largest = max(terms.sum() for terms in gap.allowed(heights))
    assert leading._Block(0, 3, heights).allowance(gap) == pytest.approx(1.5 * largest)


def vague_nodes(count: int = 5) -> Nodes:
    """Four types, the third of which leads, at nodes that are off by a lot."""
    rng = np.random.default_rng(4)
    real = -rng.uniform(0.0, 0.04, (4, count))
    turns = rng.uniform(-0.1, 0.1, (4, count))
    real[:, 0], turns[:, 0] = [-0.02, -0.05, 0.0, -0.01], 0.0
    relative, kernel = rng.uniform(0, 3e-3, count), rng.normal(size=(count, 2)) @ [1, 1j]
    return Nodes(
        t=np.arange(float(count)),
        kernel=kernel,
        size=1.1 * np.abs(kernel),
        error=rng.uniform(0, 0.02, count),
        phase_error=rng.uniform(0, 0.02, count),
        exponent=real + 1j * turns,
        largest=np.minimum(real + relative, 0.0),
        relative=relative,
    )


def rough(monkeypatch) -> tuple[float, float]:
    """Make roundings show."""
    monkeypatch.setattr(leading, "ROUND_UP", 1.5)
    monkeypatch.setattr(leading, "UNIT", 1e-4)
    return 1.5, 1e-4


@pytest.mark.parametrize("power", [1, 30])
def test_sums_of_one_type_in_numbers(power, monkeypatch):
    """What every node adds, its errors, and a sum from below."""
    up, unit = rough(monkeypatch)
    nodes = vague_nodes()
    own = nodes.exponent[1]
    whole = power * own
    exact = nodes.kernel * np.exp(whole)
    vague = 2 * power * nodes.relative + nodes.phase_error
    vague = vague + 8 * unit * (8 + np.abs(whole.real) + np.abs(whole.imag))
    errors = (nodes.size * vague + nodes.error) * np.exp(whole.real)
    found = leading.terms_of_one(nodes, own, power)
    assert found[0] == pytest.approx(exact)
    assert found[1] == pytest.approx(errors)
    total = exact.sum().real - up * errors.sum() - 64 * unit * np.abs(exact).sum()
    assert leading._sum(nodes, own, power) == pytest.approx(total)


@pytest.mark.parametrize("kept", [[2], [2, 0], [3, 2]])
def test_gaps_in_numbers(kept):
    nodes = vague_nodes()
    own, rest = nodes.exponent[2], [v for v in range(4) if v not in kept]
    margins = [float(own[0].real - nodes.exponent[v, 0].real) for v in rest]
    away = [nodes.exponent[v] - own + margin for v, margin in zip(rest, margins, strict=True)]
    gap = Gap.of(nodes, kept)
    assert (gap.smallest, gap.largest) == pytest.approx((min(margins), max(margins)))
    pairs = list(zip(away, margins, strict=True))
    x = [(np.abs(one) + 2 * nodes.relative) / margin for one, margin in pairs]
    eta = [(one.real + 2 * nodes.relative) / margin for one, margin in pairs]
    assert gap.x == pytest.approx(np.array(x))
    assert gap.eta == pytest.approx(np.max(eta, axis=0))
    assert gap.worst == pytest.approx(np.max(x, axis=0))
    assert Gap.of(nodes, [0, 1, 2, 3]) is None
    assert Gap.of(nodes, [0, 1, 3]) is None  # the leading type does not fall short of itself


@pytest.mark.parametrize(("terms", "size"), [(1, 1), (60, 1), (101, 1), (60, 5), (3, 50)])
def test_blocks_in_numbers(terms, size):
    """Every k is in one block; the first of this size, twice as long each, up to a 16th."""
    nodes, others, kept = vague_nodes(), 100, [2, 0]
    top = np.minimum(nodes.exponent[kept].real.max(axis=0) + nodes.relative, 0.0)
    highest = np.minimum(nodes.exponent.real.max(axis=0) + nodes.relative, 0.0)
    assert (top < 0).any()
    first = 0
    for block in leading._blocks(nodes, kept, others, terms, size):
        assert block.first == first
        assert block.last == min(first + size, terms) - 1
        heights, least = block.heights, others - block.last
        assert (heights.most, heights.least) == (others, least)
        assert heights.height == pytest.approx(nodes.size * np.exp(least * top))
        assert heights.half == pytest.approx(nodes.size * np.exp(least * top / 2))
        assert heights.largest == pytest.approx(nodes.size * np.exp(least * highest))
        first, size = block.last + 1, min(2 * size, 7)
    assert first == terms


@pytest.mark.parametrize(
    ("first", "last", "log_ratio", "expected"),
    [
        (3, 7, -0.1, 5 * math.exp(-0.3)),
        (3, 7, 0.1, 5 * math.exp(0.7)),
        (0, 1, -math.inf, 2.0),
        (2, 3, -math.inf, 0.0),
    ],
)
def test_weights_of_blocks(first, last, log_ratio, expected, monkeypatch):
    up, _ = rough(monkeypatch)
    block = leading._Block(first, last, Heights(1, 1, *np.ones((3, 1))))
    assert block.weight(log_ratio, 0.3) == pytest.approx(0.3 * up * expected)


def test_losses_in_numbers(monkeypatch):
    """Between its ends the sum of a block is below its chord by an eighth of a second derivative.

    Blocks that lose nothing do not make up for others.
    """
    up, _ = rough(monkeypatch)
    nodes, others, log_ratio, gamma = vague_nodes(), 100, -0.01, 0.3
    own, gap = nodes.exponent[2], Gap.of(nodes, [2])
    blocks = list(leading._blocks(nodes, [2], others, 90, 50))
    middle = float(np.median([block.allowance(gap) for block in blocks]))
    for alone in (0.0, middle):  # what the leading type has more
        monkeypatch.setattr(leading, "_sum", lambda _, __, power, alone=alone: alone + power / 50)
        total, lost_something, reached = 0.0, set(), set()
        for block in blocks:
            reach = (block.last - block.first) * (np.abs(own) + nodes.relative)
            bent = np.minimum(reach**2 / 8, 2.0)
            least = alone + (others - block.last) / 50
            lost = block.allowance(gap) - least + up * float(block.heights.height @ bent)
            total += max(lost, 0.0) * block.weight(log_ratio, gamma)
            lost_something.add(lost > 0)
            reached.update((bent == 2.0).tolist())
        found = leading._loss_by_blocks(nodes, gap, blocks, others, log_ratio, gamma)
        assert found == pytest.approx(total)
        assert total > 0
    assert lost_something == reached == {False, True}
    wide = replace(gap, x=np.full_like(gap.x, np.nan))
    assert leading._loss_by_blocks(nodes, wide, blocks, others, log_ratio, gamma) == math.inf


@pytest.mark.parametrize("terms", [1, 2, 60, 101])
@pytest.mark.parametrize("log_ratio", [-0.05, 0.01, -math.inf])
def test_ceilings_in_numbers(terms, log_ratio, monkeypatch):
    """Block by block, and k by k what shares add; with no weight but that of k = 0, nothing."""
    up, _ = rough(monkeypatch)
    nodes, others, gamma, kept = vague_nodes(), 100, 0.3, [2, 0]
    gap = Gap.of(nodes, kept)
    ceiling = mixing = 0.0
    for block in leading._blocks(nodes, kept, others, terms):
        ceiling += block.allowance(gap) * block.weight(log_ratio, gamma)
        for k in range(max(block.first, 1), block.last + 1):
            share = min(k / (math.e * (others - k)), 1.0) if k < others else 1.0
            weight = gamma * math.exp(k * log_ratio)
            mixing += up * share * weight * float(block.heights.largest.sum())
    found = ceiling_of_mixtures(nodes, kept, others, terms, log_ratio, gamma)
    assert found == pytest.approx((ceiling, mixing))
    monkeypatch.setattr(leading, "_MAX_TERMS", terms - 1)
    assert ceiling_of_mixtures(nodes, kept, others, terms, log_ratio, gamma) == (math.inf,) * 2


@pytest.mark.parametrize("factor", [0.2, 1.0, 30.0])
def test_ranks(factor):
    """Types that the leading one leads least come first, by what they would add to A."""
    nodes, _ = nodes_of(slots_of("joint(krr(k=5, epsilon0=4), krr(k=3, epsilon0=1))", 1.5), 300)
    nodes = replace(nodes, kernel=factor * nodes.kernel, size=factor * nodes.size)
    lead, types = leading_type(nodes), len(nodes.exponent)
    own = nodes.exponent[lead]
    height, alone = nodes.size * np.abs(np.exp(299 * own)), (nodes.kernel * np.exp(299 * own)).sum()
    allowed = {lead: np.inf}
    for v in set(range(types)) - {lead}:
        margin = (own - nodes.exponent[v])[0].real
        allowed[v] = float(height @ np.abs(nodes.exponent[v] - own + margin)) / margin
    order, contending = ranked_types(nodes, 299)
    assert order[0] == lead
    assert [allowed[v] for v in order] == pytest.approx(sorted(allowed.values(), reverse=True))
    assert contending == sum(added >= 0.7 * alone.real for added in allowed.values())
    assert 1 < contending < types


def test_types_that_tie_come_first():
    """Only what is kept may tie with the leading type; then the others have a ceiling."""
    nodes, spectrum = nodes_of(slots_of(CASES[-1][0], 0.3), 60)
    alone, _ = ranked_types(nodes, 59)
    tied = replace(nodes, exponent=np.concatenate([nodes.exponent, nodes.exponent[alone[:1]]]))
    order, contending = ranked_types(tied, 59)
    assert set(order[:2]) == {alone[0], len(nodes.exponent)}
    assert order[2:] == alone[1:]
    assert contending >= 2
    terms = 59, spectrum.terms, spectrum.log_rest - spectrum.top, spectrum.gamma
    known = ceiling_of_mixtures(nodes, alone[:1], *terms)
    assert ceiling_of_mixtures(tied, order[:2], *terms) == pytest.approx(known)
    assert ceiling_of_mixtures(tied, order[:1], *terms) == (np.inf, np.inf)


def test_what_other_types_may_add_counts(monkeypatch):
    """However many types are looked at, up to five of seven."""
    asked = []

    def ceiling(nodes: Nodes, kept: list[int], *terms: float) -> tuple[float, float]:
        asked.append(kept)
        assert terms == (59, spectrum.terms, *ratio_and_mass)
        return 7.0 - len(kept), 0.5

    monkeypatch.setattr(swap, "ceiling_of_mixtures", ceiling)
    _, spectrum = nodes_of(slots_of("discrete_laplace(epsilon0=1, bound=2)", 0.3), 60)
    top = max(law.log_mgf for law in spectrum.types)
    ratio_and_mass = math.log1p(-spectrum.gamma) - top, spectrum.gamma
    order = list(range(len(spectrum.types)))
    assert len(order) == 7
    assert spectrum._mixed(spectrum._corners(order, 2), order) == 2.5
    assert asked == [order[:count] for count in (2, 3, 4, 5)]
    assert spectrum._mixed(spectrum._corners(order, 7), order) < 1  # nothing is left out


@pytest.mark.parametrize("text", ["krr(k=2, epsilon0=1)", CASES[-1][0]])
def test_cells_add_what_is_examined(text, monkeypatch):
    """At every node the variance is at most a third, times the largest terms of a corner."""
    monkeypatch.setattr(swap, "ROUND_UP", 1.5)
    nodes, spectrum = nodes_of(slots_of(text, 0.3), 40)
    spectrum.is_hopeless = True  # one cell is looked at
    points = spectrum._corners(list(range(len(nodes.exponent))), len(nodes.exponent))
    spread = spectrum.integrand.spread(nodes)
    added = spectrum._cover(points, spread, 0.0) - spectrum._cover(points)
    terms = spread.at(np.full(nodes.t.size, 1 / 3), points.height.max(axis=0))
    assert added == pytest.approx(1.5 * float(nodes.size @ terms))
