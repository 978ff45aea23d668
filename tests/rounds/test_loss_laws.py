"""The loss laws above and below a profile, against exact profiles, in fractions throughout."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import pairwise

import mpmath
import pytest
from exact_rounds import composed, nodes_around, product, profile, random_laws
from tiers import examples

from shuffledp.bounds.rounds.dominated import dominated
from shuffledp.bounds.rounds.dominating import dominating
from shuffledp.bounds.rounds.hull import lower_hull
from shuffledp.bounds.rounds.loss_law import LossLaw
from shuffledp.bounds.rounds.node import START, Node, Point

NOISES = [Fraction(0), Fraction(1, 1000), Fraction(1, 20)]


def grid(rng: random.Random) -> list[Fraction]:
    """Likelihood ratios on both sides of 1, with gaps of any size."""
    count = rng.randint(2, 9)
    ratios = {Fraction(rng.randint(1, 400), 100) for _ in range(count)}
    return sorted({Fraction(1), *ratios})


def places(ratios: list[Fraction]) -> list[Fraction]:
    """Where to compare: between the nodes, at them, and beyond."""
    marks = [Fraction(0), *ratios, 3 * ratios[-1], 50 * ratios[-1]]
    return sorted({a + (b - a) * Fraction(k, 7) for a, b in pairwise(marks) for k in range(8)})


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_the_true_profile_lies_between(noise):
    rng = random.Random(7)
    for _ in range(examples(150)):
        laws = random_laws(rng, rng.randint(2, 6))
        ratios = grid(rng)
        nodes = nodes_around(laws, ratios, rng, noise)
        upper, lower = dominating(nodes), dominated(nodes)
        for ratio in (*places(ratios), *upper.ratios, *lower.ratios):
            true = profile(laws, ratio)
            assert lower.at(ratio) <= true <= upper.at(ratio)
        for ratio in (Fraction(1, 3), Fraction(1), Fraction(5, 2)):
            true = profile(product(laws, laws), ratio)
            assert composed([lower, lower], ratio) <= true <= composed([upper, upper], ratio)


def test_laws_are_laws_and_no_looser_than_their_nodes():
    rng = random.Random(11)
    for _ in range(examples(100)):
        laws = random_laws(rng, rng.randint(2, 6))
        nodes = nodes_around(laws, grid(rng), rng, Fraction(1, 20))
        upper, lower = dominating(nodes), dominated(nodes)
        assert upper.kept + upper.infinite == 1
        assert lower.infinite == 0
        assert lower.kept == 1
        for law in (upper, lower):
            assert all(mass > 0 for mass in law.masses)
            assert all(a < b for a, b in pairwise(law.ratios))
        for node in nodes:
            assert upper.at(1 + node.above.x) <= node.above.y


def test_exact_values_at_the_kinks_give_the_law_itself():
    laws = [(Fraction(1, 2), Fraction(1, 8)), (Fraction(1, 4), Fraction(1, 4))]
    laws.append((Fraction(1, 4), Fraction(5, 8)))
    ratios = [Fraction(2, 5), Fraction(1), Fraction(4)]
    nodes = [START]
    for ratio in ratios:
        point = Point(ratio - 1, profile(laws, ratio))
        nodes.append(Node(point, point))
    law = dominating(nodes)
    assert dict(zip(law.ratios, law.masses, strict=True)) == {
        Fraction(4): Fraction(1, 2),
        Fraction(1): Fraction(1, 4),
        Fraction(2, 5): Fraction(1, 4),
    }
    assert law.infinite == 0


def test_the_lower_law_is_not_needlessly_low():
    """With a fine grid and exact values it comes close to the upper law."""
    laws = random_laws(random.Random(3), 6, zeros=False)
    ratios = [Fraction(k, 40) for k in range(4, 240)]
    nodes = nodes_around(laws, ratios, random.Random(0), Fraction(0))
    upper, lower = dominating(nodes), dominated(nodes)
    for ratio in (Fraction(1, 2), Fraction(1), Fraction(3, 2)):
        assert upper.at(ratio) - lower.at(ratio) <= Fraction(1, 200) * upper.at(ratio)


def test_mass_that_no_double_holds():
    tiny = Fraction(1, 10**300)
    law = LossLaw((Fraction(1), Fraction(3)), (1 - tiny, tiny), Fraction(0))
    assert law.without_faint(moved_to_infinity=True).infinite == tiny
    assert law.without_faint(moved_to_infinity=False).kept == 1 - tiny
    assert law.without_faint(moved_to_infinity=False).infinite == 0


def test_mass_beyond_doubles_stays_above_the_profile():
    tiny = Fraction(1, 10**300)
    values = ((0, Fraction(1, 2)), (1, tiny), (2, Fraction(0)))
    nodes = [START, *(Node(Point(Fraction(x), y), Point(Fraction(x), y)) for x, y in values)]
    assert dominating(nodes).infinite > 0
    assert dominated(nodes).at(2) <= tiny <= dominating(nodes).at(2)


def test_a_floor_is_kept():
    """Outputs that only the first law has: the loss is infinite with their probability."""
    floor = Fraction(1, 7)
    laws = [
        (floor, Fraction(0)),
        (Fraction(2, 7), Fraction(3, 7)),
        (Fraction(4, 7), Fraction(4, 7)),
    ]
    nodes = nodes_around(laws, grid(random.Random(1)), random.Random(2), Fraction(1, 1000))
    lower = dominated(nodes, floor)
    assert lower.infinite == floor
    assert lower.kept == 1 - floor
    for ratio in (Fraction(k, 10) for k in range(60)):
        assert lower.at(ratio) <= profile(laws, ratio)


def test_the_hull_does_not_round():
    close = Fraction(1, 2**2000)
    points = [Point(Fraction(x), y) for x, y in ((0, Fraction(1)), (1, close), (2, Fraction(0)))]
    assert lower_hull(points) == points
    flat = [Point(Fraction(x), 1 - x * close) for x in range(3)]
    assert lower_hull(flat) == [flat[0], flat[2]]


def test_losses_next_to_0_have_all_their_digits():
    """There a ratio in doubles would have lost most digits of its logarithm."""
    small = [Fraction(1, 3 * 10**power) for power in (1, 4, 9, 14)]
    for ratio in [*(1 + x for x in small), *(1 - x for x in small), Fraction(7, 3), Fraction(1, 7)]:
        law = LossLaw((ratio,), (Fraction(1),), Fraction(0))
        with mpmath.workdps(60):
            exact = mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator)
            assert abs(float(law.finite.values[0]) - exact) <= 2e-16 * abs(exact)


def test_the_last_line_of_a_lower_law_is_rounded_down():
    """H = (1 - s lambda)_+ ends at 1/s: a slope that is rounded up ends beyond, none before."""
    for size in range(2, 40):
        for s in {Fraction(part, size) for part in range(1, size)}:
            known = [Point(x - 1, 1 - s * x) for x in (Fraction(0), Fraction(1, 2), Fraction(1))]
            law = dominated([Node(point, point) for point in known])
            assert (1 - Fraction(1, 10**12)) / s <= max(law.ratios) <= 1 / s


def test_the_last_interval_knows_only_the_lower_value():
    """H = max(1 - lambda/2, 1/10) fits all nodes; the upper value of the last one is 3/10."""
    tenth, half = Fraction(1, 10), Fraction(1, 2)
    known = [
        Node(point, point) for point in (Point(Fraction(-1), Fraction(1)), Point(Fraction(0), half))
    ]
    last = Node(above=Point(Fraction(1), 3 * tenth), below=Point(Fraction(1), tenth))
    law = dominated([*known, last])
    for k in range(41):
        ratio = Fraction(k, 20)
        assert law.at(ratio) <= max(1 - ratio / 2, tenth)


def test_nodes_that_say_nothing_do_no_harm():
    rng = random.Random(13)
    for _ in range(examples(150)):
        laws = random_laws(rng, rng.randint(2, 6))
        ratios = grid(rng)
        first, *others = nodes_around(laws, ratios, rng, Fraction(0))
        nodes = [first]
        for node in others:
            above, below = Point(node.above.x, Fraction(1)), Point(node.below.x, Fraction(0))
            nodes.append(Node(above, below) if rng.random() < 0.3 else node)
        upper, lower = dominating(nodes), dominated(nodes)
        for ratio in places(ratios):
            assert lower.at(ratio) <= profile(laws, ratio) <= upper.at(ratio)


def test_the_points_of_a_node_may_be_apart():
    """Nothing is known between them, on whichever side the lower one is."""
    rng = random.Random(17)
    for _ in range(examples(400)):
        laws = random_laws(rng, rng.randint(2, 6))
        ratios = sorted({Fraction(rng.randint(1, 40), 10) for _ in range(rng.randint(2, 6))})
        nodes = [START]
        for ratio in ratios:
            ends = [ratio + Fraction(rng.randint(-4, 4), 100) for _ in range(2)]
            nodes.append(Node(*(Point(end - 1, profile(laws, end)) for end in ends)))
        lower = dominated(nodes)
        for ratio in (*places(ratios), *lower.ratios):
            assert lower.at(ratio) <= profile(laws, ratio)


def test_lines_from_the_right_are_rounded_up():
    """H is made of two lines that meet between exact nodes; where they meet is found from below."""
    rng = random.Random(19)
    for _ in range(examples(300)):
        kink, end = sorted(Fraction(rng.randint(101, 299), 100) for _ in range(2))
        share = Fraction(rng.randint(1, 9), 10)
        laws = [(share, share / kink), (1 - share, (1 - share) / end)]
        around = {kink * Fraction(rng.randint(20, 99), 100) for _ in range(2)}
        around |= {kink + (end - kink) * Fraction(rng.randint(1, 99), 100) for _ in range(2)}
        known = [Point(x - 1, profile(laws, x)) for x in sorted({Fraction(0), *around})]
        lower = dominated([Node(point, point) for point in known])
        for ratio in places([*sorted(around), end]):
            assert lower.at(ratio) <= profile(laws, ratio)
        if len(around) == 4:
            assert lower.at(kink) >= profile(laws, kink) - Fraction(1, 10**12)


def test_lines_may_cross_where_doubles_of_x_have_no_digits():
    """Ratios of 1e-20 are x = -1 in doubles; two lines meet between exact nodes there."""
    tiny, third = Fraction(1, 10**20), Fraction(1, 3)
    laws = [(third * tiny, third), (tiny, third), (1 - third * tiny - tiny, third)]
    ratios = [tiny * k for k in (Fraction(1, 4), Fraction(1, 2), Fraction(2), Fraction(5, 2))]
    known = [Point(x - 1, profile(laws, x)) for x in (Fraction(0), *ratios)]
    lower = dominated([Node(point, point) for point in known])
    for ratio in places(ratios):
        assert lower.at(ratio) <= profile(laws, ratio)
