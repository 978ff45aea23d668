"""Many swap bounds at once: their formula in exact rationals, and single bounds."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest
from test_lead import CASES, nodes_of, slots_of
from test_swap import random_rows, swap_bound
from tiers import examples

from shuffledp import parse
from shuffledp.decomposition import Decomposition, LawRows
from shuffledp.divergence import lead as single_leads
from shuffledp.divergence import row_lead, row_mixtures, row_swap
from shuffledp.divergence.lead import leading_type, loss_of_leading, terms_of_one
from shuffledp.divergence.proposals.swap import share_of_cells
from shuffledp.divergence.row_lead import RowLeads, RowNodes
from shuffledp.divergence.row_selection import Selection, select_nodes
from shuffledp.divergence.slots import SlotRows, Slots
from shuffledp.divergence.swap import _Spectrum, swap_log_delta
from shuffledp.divergence.swap_integrand import Nodes

Rows = list[list[Fraction]]


def swap_log_deltas(
    slots: SlotRows, users: np.ndarray, tolerance: float, ceiling: float = math.inf
) -> list[float | None]:
    return row_swap.swap_log_deltas(slots, users, tolerance, np.full(users.size, ceiling))


EPSILONS = np.array([0.0, 0.02, 0.1])


def decompositions(rows: Rows) -> tuple[Decomposition, list[Decomposition]]:
    first, second = ([float(p) for p in row] for row in rows[:2])
    common = [float(min(column)) for column in zip(*rows, strict=True)]
    blanket = Decomposition.from_coefficients(first, second, common)
    parts = [[float(p) for p in row] for row in rows]
    return blanket, [Decomposition.from_coefficients(first, second, part) for part in parts]


def worst(rows: Rows, n: int, epsilon: float) -> float:
    """The largest swap bound of a background, computed in fractions."""
    ratio = Fraction(math.exp(epsilon))
    others = combinations_with_replacement(range(len(rows)), n - 1)
    return float(max(swap_bound(rows, own, ratio) for own in others))


def check_exactly(rows: Rows, n: int) -> int:
    """No bound is below the largest exact one; return how many there are."""
    slots = SlotRows.of(*decompositions(rows), EPSILONS)
    found = swap_log_deltas(SlotRows.joined([slots]), np.full(EPSILONS.size, n), 1e-3)
    for epsilon, bound in zip(EPSILONS.tolist(), found, strict=True):
        if bound is not None and bound < math.inf:
            assert worst(rows, n, epsilon) * (1 - 1e-12) <= math.exp(bound)
    return sum(bound is not None and bound < math.inf for bound in found)


def few_users_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer also where mixtures add much, and where hardly anybody is a blanket user."""
    monkeypatch.setattr(row_swap, "share_of_cells", lambda _: math.inf)
    monkeypatch.setattr("shuffledp.divergence.proposals.row_swap.FEWEST_BLANKET_USERS", 0.0)


def test_all_backgrounds_are_covered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Among few users mixtures matter; what they may add is in the bound, however much it is."""
    few_users_count(monkeypatch)
    answered = 0
    for seed in range(examples(28)):
        rng = np.random.default_rng(seed)
        inputs, n = int(rng.integers(2, 4)), int(rng.integers(3, 6))
        answered += check_exactly(random_rows(rng, inputs, 2 if inputs == 3 else 3), n)
    assert answered > examples(28)


def test_ceilings_until_something_is_below(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then there is none. What is given up stays above its ceiling, also where that is above 0."""
    blanket, types = decompositions(random_rows(np.random.default_rng(1), 2, 3))
    slots = SlotRows.joined([SlotRows.of(blanket, types, np.full(3, 0.1))])
    asked: list[list[float]] = []
    answers = iter(
        [
            row_swap._Found(
                np.array([-5.0, -3.0, 0.5]), np.ones(3), np.array([False, False, True])
            ),
            row_swap._Found(np.array([-4.0, -4.5]), np.ones(2), np.array([False, True])),
            row_swap._Found(np.array([-6.0]), np.zeros(1), np.array([False])),
        ]
    )

    def found(self: row_swap._Bounds, rows: np.ndarray, limits: np.ndarray) -> row_swap._Found:
        asked.append(limits.tolist())
        return next(answers)

    monkeypatch.setattr(row_swap._Bounds, "_found", found)
    bounds = row_swap._Bounds(slots, np.full(3, 50), 2e-3)
    assert bounds.is_sound.all()
    ceilings = np.array([-4.5, -3.5, 0.5])
    first, second, third = bounds.log_deltas(ceilings)
    assert asked == [[-4.5, -3.5, 0.5], [math.inf, -3.5], [math.inf]]
    assert first == -6.0
    assert [second, third] == np.nextafter(ceilings[1:], math.inf).tolist()


@pytest.mark.parametrize("inputs", [2, 3])
def test_bounds_with_ceilings_cover_all_backgrounds(
    inputs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is given up early holds as well; below its ceiling a bound is the one without it."""
    monkeypatch.setattr("shuffledp.divergence.proposals.row_swap.FEWEST_BLANKET_USERS", 0.0)
    given_up = kept = 0
    for seed in range(examples(21)):
        rows = random_rows(np.random.default_rng(seed), inputs, 5 - inputs)
        slots = SlotRows.joined([SlotRows.of(*decompositions(rows), EPSILONS)])
        users = np.full(EPSILONS.size, 4)
        exact = np.array([worst(rows, 4, epsilon) for epsilon in EPSILONS.tolist()])
        whole = swap_log_deltas(slots, users, 1e-3)
        for above in (-1.0, -0.01, 0.01, 1.0):
            with np.errstate(divide="ignore"):
                ceilings = np.log(exact) + above
            found = row_swap.swap_log_deltas(slots, users, 1e-3, ceilings)
            for row, bound in enumerate(found):
                if bound is not None and bound < math.inf:
                    assert exact[row] * (1 - 1e-12) <= math.exp(bound)
                    assert bound > ceilings[row] or bound == pytest.approx(whole[row], abs=1e-9)
                    given_up += bool(bound > ceilings[row])
                    kept += bool(bound <= ceilings[row])
    assert given_up > 0
    assert kept > 0 or inputs == 3  # of three types among so few users all is left to others


def test_any_proposal_is_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tilts, smoothing, steps, ends and numbers of users examined: the bound still holds."""
    rng = np.random.default_rng(7)
    tilts, proposals = row_swap.choose_tilts, row_swap.RowSwapProposals

    def other_tilts(slots: SlotRows, users: np.ndarray) -> row_swap.RowTilts:
        found = tilts(slots, users)
        return replace(
            found,
            theta=found.theta * rng.uniform(0.5, 1.8, users.size),
            lead=rng.integers(len(slots.types), size=users.size),
        )

    class Others(proposals):
        def __init__(self, *args: object) -> None:
            super().__init__(*args)
            self.tau = self.tau * rng.uniform(0.3, 8.0, self.tau.size)
            self.terms = np.ceil(self.terms * rng.uniform(0.3, 1.0, self.terms.size))

        def grids(self, rows: np.ndarray) -> row_swap.RowGrids:
            found = super().grids(rows)
            step = found.step * rng.uniform(0.5, 1.5, rows.size)
            count = np.ceil(found.count * rng.uniform(0.5, 1.5, rows.size)).astype(np.int64)
            return replace(found, step=step, count=count)

    monkeypatch.setattr(row_swap, "choose_tilts", other_tilts)
    monkeypatch.setattr(row_swap, "RowSwapProposals", Others)
    few_users_count(monkeypatch)
    answered = 0
    for seed in range(examples(35)):
        answered += check_exactly(random_rows(np.random.default_rng(seed), 2, 3), 4)
    assert answered > examples(35)


MECHANISMS = [
    "krr(k=10, epsilon0=2)",
    "oue(epsilon0=2)",
    "hadamard(epsilon0=1, domain_size=100)",
    "blh(epsilon0=3)",
    "joint(krr(k=10, epsilon0=1), oue(epsilon0=1))",
    "matrix([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5], [0.3, 0.4, 0.3]])",
]


@pytest.mark.heavy(keep=3)
@pytest.mark.parametrize("text", MECHANISMS)
def test_rows_are_as_good_as_single_bounds(text: str) -> None:
    mechanism = parse(text)
    laws = mechanism.slot_laws(mechanism.neighbours()[0])
    assert laws is not None
    users = np.array([50, 10**3, 10**3, 10**5, 10**5, 10**9, 10**12])
    level = mechanism.epsilon0
    epsilons = level * np.array([0.4, 0.1, 0.2, 0.01, 0.03, 2e-4, 3e-6])
    slots = SlotRows.joined([SlotRows.of(laws.blanket, laws.backgrounds, epsilons)])
    found = swap_log_deltas(slots, users, 2e-3)
    answered = 0
    for n, epsilon, bound in zip(users.tolist(), epsilons.tolist(), found, strict=True):
        single = swap_log_delta(Slots.of(laws.blanket, laws.backgrounds, epsilon), n, 2e-3)
        if bound is not None:
            answered += 1
            assert (
                bound == pytest.approx(single, abs=4e-4) if single < math.inf else bound == single
            )
    assert answered >= 3


def test_laws_of_any_size_stand_together() -> None:
    """Bounds of mechanisms with laws of other sizes get atoms of no weight, and stay the same."""
    parts, users = [], []
    for text in ("krr(k=10, epsilon0=1)", "oue(epsilon0=1)"):
        mechanism = parse(text)
        laws = mechanism.slot_laws(mechanism.neighbours()[0])
        assert laws is not None
        parts.append(SlotRows.of(laws.blanket, laws.backgrounds, np.array([0.05, 0.06])))
        users += [5000, 5000]
    alone = [
        bound
        for part in parts
        for bound in swap_log_deltas(SlotRows.joined([part]), np.array([5000, 5000]), 2e-3)
    ]
    together = swap_log_deltas(SlotRows.joined(parts), np.array(users), 2e-3)
    assert None not in together
    assert together == pytest.approx(alone, abs=1e-9)


def test_what_is_not_for_rows_is_left_to_others() -> None:
    """Mixtures of three types; few blanket users, huge values and blankets of mass 1."""
    mechanism = parse("joint(krr(k=2, epsilon0=2), krr(k=2, epsilon0=2))")
    laws = mechanism.slot_laws(mechanism.neighbours()[0])
    assert laws is not None
    slots = SlotRows.of(laws.blanket, laws.backgrounds, np.array([0.33, 0.33]))
    slots = SlotRows.joined([slots])
    assert swap_log_deltas(slots, np.array([1000, 2]), 2e-3) == [None, math.inf]
    huge = replace(slots, first=replace(slots.first, values=slots.first.values * 1e150))
    assert swap_log_deltas(huge, np.array([1000, 1000]), 2e-3) == [None, None]
    whole = replace(slots, blanket_mass=np.ones(2))
    assert swap_log_deltas(whole, np.array([1000, 1000]), 2e-3) == [None, None]


@pytest.mark.parametrize("name", ["first", "types"])
def test_errors_of_values_raise_the_bound(name: str) -> None:
    """Values that may be larger by d: the bound is at least that for values larger by d."""
    mechanism = parse("krr(k=10, epsilon0=1)")
    laws = mechanism.slot_laws(mechanism.neighbours()[0])
    assert laws is not None
    slots = SlotRows.of(laws.blanket, laws.backgrounds, np.array([0.05]))
    error = 1e-3 if name == "first" else 1e-6

    def moved(shift: float, error: float) -> SlotRows:
        def change(law: LawRows) -> LawRows:
            error_of_values = law.value_error + error
            return replace(law, values=law.values + shift, value_error=error_of_values)

        if name == "first":
            return replace(slots, first=change(slots.first))
        return replace(slots, types=tuple(change(law) for law in slots.types))

    [vague] = swap_log_deltas(SlotRows.joined([moved(0.0, error)]), np.array([3000]), 2e-3)
    [larger] = swap_log_deltas(SlotRows.joined([moved(error, 0.0)]), np.array([3000]), 2e-3)
    [exact] = swap_log_deltas(SlotRows.joined([slots]), np.array([3000]), 2e-3)
    assert vague is not None
    assert larger is not None
    assert exact is not None
    assert exact < larger - 1e-5
    assert larger <= vague + 1e-4


def krr_slots(epsilon: float = 0.05) -> SlotRows:
    mechanism = parse("krr(k=10, epsilon0=1)")
    laws = mechanism.slot_laws(mechanism.neighbours()[0])
    assert laws is not None
    return SlotRows.joined([SlotRows.of(laws.blanket, laws.backgrounds, np.array([epsilon]))])


def bound_of(slots: SlotRows, n: int = 3000) -> float:
    [found] = swap_log_deltas(slots, np.array([n]), 2e-3)
    assert found is not None
    return found


@pytest.mark.parametrize("kind", range(4))
def test_errors_of_any_slot_count(kind: int) -> None:
    """Weights or values of one slot alone are vague; of a type n times, of slot 0 once."""
    slots = krr_slots()
    exact = bound_of(slots)
    weight, value = (3e-6, 1e-7) if kind < 3 else (1e-3, 1e-3)
    for own in ("weight_error", "value_error"):
        laws = [*slots.types, slots.first]
        size = weight if own == "weight_error" else value
        laws[kind] = replace(laws[kind], **{own: getattr(laws[kind], own) + size})
        vague = bound_of(replace(slots, types=tuple(laws[:-1]), first=laws[-1]))
        assert exact + 1e-6 < vague < exact + 0.5


@pytest.mark.parametrize("share", [0.0, 1.0, 1e4, 1e7])
def test_what_is_skipped_is_counted(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The more nodes may be skipped, the larger is the bound; it is never below that of all."""
    slots = krr_slots()
    monkeypatch.setattr("shuffledp.divergence.row_selection._SHARE_OF_STRETCH", 0.0)
    whole = bound_of(slots)
    monkeypatch.setattr("shuffledp.divergence.row_selection._SHARE_OF_STRETCH", share)
    monkeypatch.setattr("shuffledp.divergence.row_selection.main_lobes", few_nodes)
    assert bound_of(slots) >= whole - 1e-11


def few_nodes(sigma: np.ndarray, step: np.ndarray) -> np.ndarray:
    return np.ceil(1.5 / (sigma * step)).astype(np.int64)


def test_the_end_of_the_nodes_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    slots, grids = krr_slots(), row_swap.RowSwapProposals.grids
    whole = bound_of(slots)

    def shorter(own: row_swap.RowSwapProposals, rows: np.ndarray) -> row_swap.RowGrids:
        found = grids(own, rows)
        return replace(found, count=found.count // 3)

    monkeypatch.setattr(row_swap.RowSwapProposals, "grids", shorter)
    assert bound_of(slots) > whole + 1e-9


def test_less_smoothing_is_tried_where_it_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    slots = krr_slots()
    fine = bound_of(slots)
    monkeypatch.setattr("shuffledp.divergence.proposals.row_swap.first_tau", lambda _: 0.3)
    assert bound_of(slots) == pytest.approx(fine, abs=2e-3)
    monkeypatch.setattr(row_swap, "shrink_of", lambda *_: 1.0)
    assert bound_of(slots) > fine + 5e-3


def test_nodes_are_evaluated_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    slots = krr_slots()
    whole = bound_of(slots)
    monkeypatch.setattr(row_swap, "_CHUNK", 7)
    assert bound_of(slots) == pytest.approx(whole, abs=1e-12)


def test_useless_nodes_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """If rounding made all but a few nodes useless, they would be bounded instead."""
    slots = krr_slots()
    whole = bound_of(slots)
    monkeypatch.setattr("shuffledp.divergence.swap_integrand._VAGUE", 5e-13)
    [found] = swap_log_deltas(slots, np.array([3000]), 2e-3)
    assert found is None or found > whole + 1e-9


def test_rounding_of_sums_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    slots = krr_slots()
    whole = bound_of(slots)
    monkeypatch.setattr(row_mixtures, "UNIT", 1e-7)
    assert bound_of(slots) > whole + 64e-7


MANY_USERS = [
    ("blh(epsilon0=2)", 60_000, 0.004),
    ("krr(k=3, epsilon0=5)", 100_000, 0.02),
    ("krr(k=10, epsilon0=6)", 60_000, 0.1),
]


def several_of(nodes: Nodes, spectrum: _Spectrum, terms: list[int]) -> tuple[RowLeads, RowNodes]:
    """One sum several times, each time over another number of users who are examined."""
    lead, rows, count = leading_type(nodes), len(terms), nodes.t.size
    several = RowNodes(
        nodes.chosen(np.tile(np.arange(count), rows)),
        np.repeat(np.arange(rows), count),
        np.tile(nodes.exponent[lead], rows),
    )
    own = nodes.exponent[lead, 0].real - nodes.exponent[:, 0].real
    leads = RowLeads(
        np.full(rows, lead),
        np.tile(own[:, None], rows),
        np.full(rows, float(spectrum.others)),
        np.array(terms, dtype=np.float64),
        np.full(rows, spectrum.log_rest - spectrum.top),
        np.full(rows, spectrum.gamma),
    )
    return leads, several


@pytest.mark.parametrize("vague", [0.0, 0.02, 0.2])
@pytest.mark.parametrize(
    ("text", "n", "epsilon"), [*MANY_USERS, *CASES], ids=lambda value: str(value)[:24]
)
def test_losses_are_those_of_single_bounds(
    text: str, n: int, epsilon: float, vague: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where nodes have errors that count, and sums are rounded up by as much."""
    nodes, spectrum = nodes_of(slots_of(text, epsilon), n)
    log_ratio = spectrum.log_rest - spectrum.top
    terms = [1, min(2, spectrum.terms), spectrum.terms]
    size = vague / n * np.linspace(0.5, 1.0, nodes.t.size)
    nodes = replace(nodes, relative=nodes.relative + size, error=nodes.error + size * nodes.size)
    for module in (single_leads, row_lead):
        monkeypatch.setattr(module, "ROUND_UP", 1 + 1e-9 + vague)
    leads, several = several_of(nodes, spectrum, terms)
    for k, loss in zip(terms, leads.losses(several).tolist(), strict=True):
        single = loss_of_leading(nodes, n - 1, k, log_ratio, spectrum.gamma)
        assert loss == pytest.approx(single, rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("sign", [1, -1])
def test_sums_of_leading_types_are_rounded_down(sign: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the errors of all nodes and by those of adding them up, here with a large unit."""
    unit, up, k = 1e-5, 1.5, 3
    nodes, spectrum = nodes_of(slots_of("blh(epsilon0=2)", 0.3), 300)
    nodes = replace(nodes, error=nodes.error + 1e-4 * nodes.size, kernel=sign * nodes.kernel)
    leads, several = several_of(nodes, spectrum, [1, 5])
    values, errors = terms_of_one(nodes, nodes.exponent[leading_type(nodes)], 299.0 - k)
    monkeypatch.setattr(row_lead, "UNIT", unit)
    monkeypatch.setattr(row_lead, "ROUND_UP", up)
    expected = float(values.real.sum()) - up * float(errors.sum())
    expected -= (values.size + 64) * unit * float(np.abs(values).sum())
    found = leads._alone(several, np.full(2, float(k)))
    assert found.tolist() == pytest.approx([expected, expected], rel=1e-9)


@pytest.mark.parametrize("log_ratio", [-0.4, -0.01, 0.0, 0.01, 0.4])
def test_weights_of_blocks_are_above_their_sum(log_ratio: float) -> None:
    one = np.ones(1)
    leads = RowLeads(
        np.zeros(1, dtype=np.int64), one[None, :], 50 * one, 9 * one, log_ratio * one, 0.3 * one
    )
    for first, last in ((0, 0), (0, 3), (2, 2), (2, 8)):
        [weight] = leads._weights(first * one, last * one).tolist()
        terms = [0.3 * math.exp(k * log_ratio) for k in range(first, last + 1)]
        assert sum(terms) <= weight <= len(terms) * max(terms) * (1 + 1e-8)


def test_types_that_do_not_fall_short_have_no_leader() -> None:
    nodes, spectrum = nodes_of(slots_of("blh(epsilon0=2)", 0.3), 300)
    twice = replace(
        nodes,
        exponent=np.concatenate([nodes.exponent, nodes.exponent]),
        largest=np.concatenate([nodes.largest, nodes.largest]),
    )
    lead = leading_type(twice)
    own = twice.exponent[lead, 0].real - twice.exponent[:, 0].real
    leads = RowLeads(
        np.array([lead]),
        own[:, None],
        np.array([299.0]),
        np.array([1.0]),
        np.array([-0.1]),
        np.array([spectrum.gamma]),
    )
    rows = np.zeros(twice.t.size, dtype=np.int64)
    assert leads.losses(RowNodes(twice, rows, twice.exponent[lead])).tolist() == [math.inf]


def test_laws_with_singular_components_are_refused() -> None:
    """Outputs that no other user can have would be left out of the bound."""
    whole = Decomposition.from_coefficients([0.5, 0.5], [0.4, 0.6], [0.4, 0.5])
    torn = Decomposition.from_coefficients([0.5, 0.5, 0.0], [0.4, 0.5, 0.1], [0.2, 0.3, 0.0])
    for blanket, background in ((whole, torn), (torn, whole)):
        with pytest.raises(ValueError, match="singular"):
            Slots.of(blanket, [background], 0.1)
        with pytest.raises(ValueError, match="singular"):
            SlotRows.of(blanket, [background], np.array([0.1]))


# -- each term of the bound -----------------------------------------------------------------------


def sums_of(slots: SlotRows, n: int = 3000) -> row_swap._Sums:
    with np.errstate(all="ignore"):
        bounds = row_swap._Bounds(slots, np.array([n]), 2e-3)
        return row_swap._Sums(bounds, np.arange(1))


def log_mgf_of(law: LawRows, theta: float, weights: np.ndarray | None = None) -> float:
    used = law.weights[0] if weights is None else weights
    return math.log1p(float(used @ np.expm1(theta * law.values[0])))


def tilted_up(law: LawRows, error: float) -> np.ndarray:
    """Weights that are off by no more than the error and favour positive values; they sum to 1."""
    weights, up = law.weights[0], law.values[0] > 0
    size = error * min(float(weights[up].sum()), float(weights[~up].sum()))
    sign = np.where(up, 1 / weights[up].sum(), -1 / weights[~up].sum())
    return weights * (1 + size * sign)


@pytest.mark.parametrize("kind", range(4))
def test_errors_of_the_transforms_are_in_the_scale(kind: int) -> None:
    """Weights of one slot are moved by their errors: K of slot 0 counts once, of a type n - 1."""
    slots, n, error = krr_slots(), 3000, 1e-5
    laws = [*slots.types, slots.first]
    laws[kind] = replace(
        laws[kind],
        weight_error=laws[kind].weight_error + error,
        value_error=laws[kind].value_error + error,
    )
    scale = sums_of(replace(slots, types=tuple(laws[:-1]), first=laws[-1]), n).scale
    theta, times = float(np.asarray(scale.theta)[0]), n - 1 if kind < 3 else 1
    own = laws[kind]
    moved = log_mgf_of(own, theta, tilted_up(own, error)) - log_mgf_of(own, theta)
    assert moved > 1e-8
    assert float(np.asarray(scale.log_mgf_error)[0]) >= times * moved
    assert float(np.asarray(scale.value_shift)[0]) >= times * theta * error


def test_losses_are_weighed_with_who_is_examined() -> None:
    """Where mixtures matter: what is lost, with weights from the laws themselves."""
    epsilon, n = 0.33, 1000
    mechanism = parse("krr(k=2, epsilon0=2)")
    laws = mechanism.slot_laws(mechanism.neighbours()[0])
    assert laws is not None
    slots = SlotRows.joined([SlotRows.of(laws.blanket, laws.backgrounds, np.array([epsilon]))])
    sums = sums_of(slots, n)
    theta = float(np.asarray(sums.scale.theta)[0])
    gamma, terms = float(slots.blanket_mass[0]), int(np.asarray(sums.integrand.terms)[0])
    log_ratio = math.log(1 - gamma) - max(log_mgf_of(law, theta) for law in slots.types)
    expected = loss_of_leading(sums.nodes.nodes, n - 1, terms, log_ratio, gamma)
    assert terms > 3
    assert expected > 0
    assert sums.leads.losses(sums.nodes).tolist() == pytest.approx([expected], rel=1e-6)


@pytest.mark.parametrize("step", [0.02, 0.3, 1.7])
def test_stretches_are_above_all_their_nodes(step: float) -> None:
    """With nodes at any distance: what the largest type adds at each of them, added up."""
    slots, n = krr_slots(), 300
    sums = sums_of(slots, n)
    sums.integrand = replace(sums.integrand, step=np.array([step]))
    integrand = sums.integrand.of(np.zeros(1, dtype=np.int64))
    theta = float(np.asarray(sums.scale.theta)[0])
    rises = 0
    for start in range(1, 120, 7):
        for size in (1, 2, 5):
            where = (np.array([start]), np.array([size]))
            [[bound]] = sums._bound_stretches(np.zeros(1, dtype=np.int64), *where).tolist()
            t = step * np.arange(start, start + size)
            moduli = []
            for law in slots.types:
                x = theta * law.values[0]
                mean = (law.weights[0] * np.exp(x)) @ np.exp(1j * np.outer(x, t))
                moduli.append(np.abs(mean) / math.exp(log_mgf_of(law, theta)))
            most = np.minimum(np.max(moduli, axis=0), 1.0)
            heights = np.array([float(integrand.height(np.log(own))[0]) for own in most])
            tau = float(np.asarray(integrand.tau)[0])
            added = step / math.pi * heights * np.exp(-((tau * t) ** 2) / 2) / (1 + t**2)
            assert float(added.sum()) <= bound * (1 + 1e-6)
            rises += bool(added[-1] > 2 * size * added[0])
    assert rises > 0 or step < 0.3


def test_sums_over_nodes_are_rounded_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors of the nodes and of adding them up, with units that are large enough to see."""
    unit, up = 1e-6, 3.0
    sums = sums_of(krr_slots())
    nodes = sums.nodes.nodes
    integrand = sums.integrand.of(sums.nodes.row)
    lead = int(sums.bounds.lead[0])
    height = integrand.height(nodes.largest[lead])
    values, rounding = integrand.at(nodes, nodes.exponent[lead], height)
    monkeypatch.setattr(row_mixtures, "UNIT", unit)
    monkeypatch.setattr(row_mixtures, "ROUND_UP", up)
    sums.nodes = replace(sums.nodes, nodes=replace(nodes, error=nodes.error + 1e-5 * nodes.size))
    more = 1e-5 * float((nodes.size * height).sum())
    [upper] = sums.of_leading()[0].tolist()
    expected = float(values.real.sum()) + up * (float(rounding.sum()) + more)
    expected += (values.size + 64) * unit * float(np.abs(values).sum())
    assert upper == pytest.approx(expected, rel=1e-9)


def test_what_useless_nodes_may_add_is_rounded_up(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = sums_of(krr_slots()).left_out[0]
    monkeypatch.setattr("shuffledp.divergence.swap_integrand._VAGUE", 5e-13)
    once = sums_of(krr_slots()).left_out[0] - whole
    monkeypatch.setattr(row_swap, "ROUND_UP", 3.0)
    thrice = sums_of(krr_slots()).left_out[0] - whole
    assert once > 0
    assert thrice == pytest.approx(3 * once, rel=1e-6)


@pytest.mark.parametrize("kind", range(4))
def test_a_single_huge_value_is_left_to_others(kind: int, monkeypatch: pytest.MonkeyPatch) -> None:
    slots = krr_slots()
    laws = [*slots.types, slots.first]
    values = laws[kind].values.copy()
    values[0, -1] = -1e150
    laws[kind] = replace(laws[kind], values=values)
    asked: list[int] = []
    monkeypatch.setattr(row_swap, "_Bounds", lambda *_: asked.append(kind))
    slots = replace(slots, types=tuple(laws[:-1]), first=laws[-1])
    assert swap_log_deltas(slots, np.array([3000]), 2e-3) == [None]
    assert not asked


# -- rows that stand together ---------------------------------------------------------------------

Case = tuple[str, int, float]
OF_TWO: list[Case] = [
    ("krr(k=2, epsilon0=0.5)", 20_000, 0.01),
    ("krr(k=2, epsilon0=1)", 40, 0.3),
    ("krr(k=2, epsilon0=2)", 1000, 0.33),
]
OF_THREE: list[Case] = [
    ("krr(k=10, epsilon0=1)", 3000, 0.05),
    ("krr(k=4, epsilon0=2)", 800, 0.3),
    ("matrix([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5], [0.3, 0.4, 0.3]])", 60, 0.3),
]
BOTH = pytest.mark.parametrize("cases", [OF_TWO, OF_THREE], ids=["two types", "three types"])
TAUS = [1.0, 0.8, 0.9]  # times what is proposed


def parts_of(cases: list[Case]) -> list[SlotRows]:
    """The slots of all cases; in the second one the types stand in reverse."""
    parts = []
    for place, (text, _, epsilon) in enumerate(cases):
        mechanism = parse(text)
        laws = mechanism.slot_laws(mechanism.neighbours()[0])
        assert laws is not None
        types = laws.backgrounds[::-1] if place == 1 else laws.backgrounds
        parts.append(SlotRows.of(laws.blanket, types, np.array([epsilon])))
    return parts


def bounds_of(cases: list[Case], *chosen: int) -> row_swap._Bounds:
    """Bounds of some cases, each with a smoothing of its own."""
    parts = parts_of(cases)
    users = np.array([cases[i][1] for i in chosen])
    bounds = row_swap._Bounds(SlotRows.joined([parts[i] for i in chosen]), users, 2e-3)
    bounds.proposals.tau = bounds.proposals.tau * np.array([TAUS[i] for i in chosen])
    return bounds


def vague_sums(bounds: row_swap._Bounds, rows: np.ndarray) -> row_swap._Sums:
    """The sums over nodes whose errors count."""
    sums = row_swap._Sums(bounds, rows)
    nodes = sums.nodes.nodes
    sums.nodes = replace(sums.nodes, nodes=replace(nodes, error=nodes.error + 0.01 * nodes.size))
    return sums


@BOTH
@pytest.mark.parametrize("rows", [[2], [1, 2], [2, 0]])
def test_sums_of_some_rows_are_those_of_each_alone(cases: list[Case], rows: list[int]) -> None:
    with np.errstate(all="ignore"):
        together = bounds_of(cases, 0, 1, 2)
        sums = vague_sums(together, np.array(rows))
        assert len(set(together.lead.tolist())) > 1
        for place, row in enumerate(rows):
            alone = vague_sums(bounds_of(cases, row), np.arange(1))
            for found, expected in (
                (sums.of_leading()[0], alone.of_leading()[0]),
                (sums.leads.losses(sums.nodes), alone.leads.losses(alone.nodes)),
                (sums.left_out, alone.left_out),
                (sums.integrand.moved(sums.scale), alone.integrand.moved(alone.scale)),
                (sums.log_delta(np.ones(len(rows))), alone.log_delta(np.ones(1))),
            ):
                assert found[place] == pytest.approx(expected[0], rel=1e-7, abs=1e-15)
            stretch = np.array([50]), np.array([4])
            [[bound]] = sums._bound_stretches(np.array([place]), *stretch).tolist()
            [[own]] = alone._bound_stretches(np.arange(1), *stretch).tolist()
            assert bound == pytest.approx(own, rel=1e-7)


@BOTH
@pytest.mark.parametrize("ceilings", [[-1e3, math.inf, 0.0], [math.inf, -1e3, -1e3]])
def test_bounds_of_some_rows_are_those_of_each_alone(
    cases: list[Case], ceilings: list[float]
) -> None:
    """Some are of no use, and not looked at closely; the others do not notice."""
    with np.errstate(all="ignore"):
        together = bounds_of(cases, 0, 1, 2)
        for rows in ([0, 1, 2], [1, 2], [2, 0]):
            limits = np.array([ceilings[row] for row in rows])
            found = together._found(np.array(rows), limits)
            for place, row in enumerate(rows):
                alone = bounds_of(cases, row)._found(np.arange(1), limits[[place]])
                assert found.hopeless[place] == alone.hopeless[0] == (ceilings[row] < -1)
                own = pytest.approx(alone.log_delta[0], rel=1e-9)
                assert found.log_delta[place] == own
                assert not found.hopeless[place] or found.log_delta[place] < math.inf


@BOTH
def test_rows_without_nodes_have_no_bound(
    cases: list[Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What takes too many nodes has none, and the sum over none of them proves nothing."""
    with np.errstate(all="ignore"):
        rows, limits = np.arange(3), np.full(3, -1e3)
        whole = bounds_of(cases, 0, 1, 2)._found(rows, limits)

        def without_the_first(*given: object) -> Selection:
            found = select_nodes(*given)  # type: ignore[arg-type]
            kept = found.rows != 0
            left = found.left & (np.arange(3) != 0)
            return replace(found, rows=found.rows[kept], nodes=found.nodes[kept], left=left)

        monkeypatch.setattr(row_swap, "select_nodes", without_the_first)
        found = bounds_of(cases, 0, 1, 2)._found(rows, limits)
    assert found.log_delta[0] == math.inf
    assert not found.hopeless[0]
    assert found.log_delta[1:] == pytest.approx(whole.log_delta[1:], rel=1e-12)


def test_rows_that_are_not_promising_stand_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others keep their users and their ceilings."""
    parts = parts_of(OF_THREE)
    slots = SlotRows.joined([parts[0], parts[0], parts[1]])
    users, ceilings = np.array([2, 3000, 800]), np.array([-1.0, -2.0, math.inf])
    asked: list[tuple[list[int], list[float], list[float]]] = []

    def log_deltas(own: row_swap._Bounds, limits: np.ndarray) -> list[float]:
        asked.append((own.users.tolist(), limits.tolist(), own.gamma.tolist()))
        return [-3.0, math.inf]

    monkeypatch.setattr(row_swap._Bounds, "log_deltas", log_deltas)
    found = row_swap.swap_log_deltas(slots, users, 2e-3, ceilings)
    assert found == [math.inf, -3.0, None]
    assert asked == [([3000, 800], [-2.0, math.inf], slots.blanket_mass[1:].tolist())]


@pytest.mark.parametrize("upper", [0.5, 3.0])
def test_what_mixtures_add_to_the_leading_type(
    upper: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If it is little, or the bound is of no use anyhow, it is added; other rows are left."""
    bounds = bounds_of(OF_THREE, 0, 1, 2)
    sums = row_swap._Sums(bounds, np.arange(3))
    little, much = 0.99 * share_of_cells(2e-3), 1.01 * share_of_cells(2e-3)
    for lost, expected in (
        ([little, much, math.inf], [1 + little, math.inf, math.inf]),
        ([much, little, much], [1 + much, 1 + little, math.inf]),
        ([math.nan, 0.0, math.nan], [math.nan, 1.0, math.inf]),
    ):
        monkeypatch.setattr(RowLeads, "losses", lambda *_, own=lost: upper * np.array(own))
        found = bounds._worst(sums, np.full(3, upper), np.array([True, False, False])) / upper
        assert found == pytest.approx(expected, rel=1e-12, nan_ok=True)


@pytest.mark.parametrize("upper", [0.5, 3.0])
def test_mixtures_of_two_types_are_looked_at(upper: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless what they add is little. Of two bounds the smaller one counts, if cuts found any."""
    bounds = bounds_of(OF_TWO, 0, 1, 2)
    sums = row_swap._Sums(bounds, np.arange(3))
    little, much = 0.99 * share_of_cells(2e-3), 1.01 * share_of_cells(2e-3)
    for lost, cut, expected in (
        ([little, much, much], [1.0003, 1.2], [1 + little, 1.0003, 1 + much]),
        ([0.2, little, 0.2], [math.inf, 1.1], [math.inf, 1 + little, 1.1]),
        ([math.nan, math.inf, 0.2], [1.1, 1.3, math.nan], [1.1, 1.3, math.inf]),
    ):
        asked: list[tuple[list[int], list[bool]]] = []

        def worst(
            _: object,
            rows: np.ndarray,
            hopeless: np.ndarray,
            cut: list[float] = cut,
            asked: list[tuple[list[int], list[bool]]] = asked,
        ) -> np.ndarray:
            asked.append((rows.tolist(), hopeless.tolist()))
            return upper * np.array(cut)

        monkeypatch.setattr(RowLeads, "losses", lambda *_, own=lost: upper * np.array(own))
        monkeypatch.setattr(row_mixtures.RowMixtures, "worst", worst)
        hopeless = [True, False, True]
        found = bounds._worst(sums, np.full(3, upper), np.array(hopeless)) / upper
        assert found.tolist() == pytest.approx(expected, rel=1e-12)
        rows = [row for row in range(3) if lost[row] != little]
        assert asked == [(rows, [hopeless[row] for row in rows])]


@pytest.mark.parametrize("kind", range(4))
def test_one_vague_slot_leaves_its_row_to_others(kind: int) -> None:
    """Weights of which next to nothing is known, in the second of three rows."""
    slots = SlotRows.joined(parts_of(OF_THREE))
    laws = [*slots.types, slots.first]
    error = laws[kind].weight_error + np.array([[0.0], [9.0], [0.0]])
    laws[kind] = replace(laws[kind], weight_error=error)
    vague = replace(slots, types=tuple(laws[:-1]), first=laws[-1])
    with np.errstate(all="ignore"):
        bounds = row_swap._Bounds(vague, np.array([own[1] for own in OF_THREE]), 2e-3)
        found = bounds.log_deltas(np.full(3, -1e3))
    assert bounds.is_sound.tolist() == [True, False, True]
    assert [own < math.inf for own in found] == [True, False, True]
