"""Which users hide each other: mechanisms that look alike but are not, dummies, corrupted users."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from shuffledp import KRR, Group, MatrixRandomizer, MixedAccountant, ShuffleAccountant, parse
from shuffledp.accounting.choice import _pool
from shuffledp.cli import main
from shuffledp.mechanisms import LocalRandomizer, Pair

ROWS = [[0.625, 0.375], [0.375, 0.625]]


class Sharper(MatrixRandomizer):
    """A class derived from matrices that states another law than its matrix."""

    epsilon0 = 5.0

    def decomposition(self, pair: Pair, other=None):
        return KRR(2, 5.0).decomposition(pair, other)


def test_a_derived_matrix_is_another_mechanism():
    plain, sharper = MatrixRandomizer(ROWS), Sharper(ROWS)
    assert plain == MatrixRandomizer(ROWS)
    assert plain != sharper
    assert sharper != plain
    alone = [
        ShuffleAccountant(r, 50, bound="blanket").get_delta(0.5) for r in (plain, sharper, plain)
    ]
    assert alone[0] == alone[2] < 1e-3 * alone[1]
    mixed = MixedAccountant([Group(plain, 50), Group(sharper, 50)])
    assert mixed.deltas(0.5)[1] >= 0.9 * alone[1]


def sharper(text: str, strong: str) -> LocalRandomizer:
    """A mechanism of a class derived from that of a text, which states the law of another text."""
    weak, law = parse(text), parse(strong)
    kind = type(weak)
    members = {"decomposition": lambda _, pair, other=None: law.decomposition(pair, other)}
    derived = object.__new__(type("Sharper", (kind,), members))
    vars(derived).update({**vars(weak), "epsilon0": law.epsilon0})
    return derived


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize(
    ("text", "strong"),
    [
        ("krr(k=2, epsilon0=1)", "krr(k=2, epsilon0=3)"),
        ("krr(k=4, epsilon0=1)", "krr(k=4, epsilon0=3)"),
        ("oue(epsilon0=1, domain_size=3)", "oue(epsilon0=3, domain_size=3)"),
        ("blh(epsilon0=1, domain_size=5)", "blh(epsilon0=3, domain_size=5)"),
        ("discrete_laplace(epsilon0=1, bound=1)", "discrete_laplace(epsilon0=3, bound=1)"),
    ],
)
def test_a_derived_class_is_accounted_as_what_it_states(text, strong):
    derived, law, plain = sharper(text, strong), parse(strong), parse(text)
    for bound in ("blanket", "best"):
        for view in ("multiset", "sum"):
            own, other = (
                ShuffleAccountant(r, 40, bound=bound, view=view).get_delta(0.3)
                for r in (derived, law)
            )
            assert own >= other * (1 - 1e-3)
    own, other = (
        MixedAccountant([Group(plain, 30), Group(r, 20)]).deltas(0.3)[1] for r in (derived, law)
    )
    assert own >= other * (1 - 1e-3)
    own, other = (
        ShuffleAccountant(r, 40).rounds(2, rtol=0.01).get_delta(0.5) for r in (derived, law)
    )
    assert own >= other * (1 - 0.02)


@pytest.mark.parametrize(
    "texts",
    [
        ("krr(k=3, epsilon0=1)", "krr(k=4, epsilon0=1)"),
        ("krr(k=2, epsilon0=1)", "laplace(epsilon0=1)"),
        ("matrix([[0.75, 0.25], [0.25, 0.75]])", "matrix([[0.5, 0.5], [0.25, 0.75]])"),
        ("any_pure_ldp(epsilon0=1)",),
    ],
)
def test_dummies_are_drawn_from_one_law(texts):
    groups = [Group(text, 10) for text in texts]
    MixedAccountant(groups)
    with pytest.raises(ValueError, match=r"dummies must be 0 for .* common\s+blanket law.* got 3"):
        MixedAccountant(groups, dummies=3)


def test_corrupting_all_of_another_tier_leaves_the_own_one():
    """The helpful users are corrupted first, so those of the own tier stay."""
    own = ShuffleAccountant("krr(k=10, epsilon0=4)", 50, bound="blanket", rtol=1e-3)
    found = [
        MixedAccountant(
            [Group("krr(k=10, epsilon0=1)", 20), Group("krr(k=10, epsilon0=4)", 50)], corrupted=f
        ).deltas(1.0)[1]
        for f in (19, 20, 21)
    ]
    assert found == sorted(found)
    assert found[1] == pytest.approx(own.get_delta(1.0), rel=2e-3)


@pytest.mark.parametrize(
    "text", ["subset(epsilon0=2, domain_size=1000, size=999)", "krr(k=2, epsilon0=2)", "oue(2)"]
)
def test_every_mechanism_of_a_level_has_the_pool_of_the_level(text):
    """Users in the pool of any mechanism are at least as many as the generic bound counts on."""
    generic = ShuffleAccountant("any_pure_ldp(epsilon0=2)", 100).randomizer
    special = ShuffleAccountant(text, 100).randomizer
    pools = [_pool(mechanism, (Pair(0, 1),)) for mechanism in (generic, special)]
    assert pools[0] <= pools[1]


@pytest.mark.parametrize("careless", [(12.0, 1), (12.0, 20), (4.0, 1), (3.0, 3)])
def test_careless_users_do_not_hurt_the_others(careless):
    """The bound with the smallest alpha of all would be 13% larger with a user of level 12.

    Integrals of both crowds are known to 5e-4.
    """
    groups = [Group(KRR(3, 1.0), 3), Group(KRR(3, 2.0), 3)]
    before = MixedAccountant(groups).deltas(0.3)
    after = MixedAccountant([*groups, Group(KRR(3, careless[0]), careless[1])]).deltas(0.3)
    assert all(more <= 1.0005 * less for more, less in zip(after[:2], before, strict=True))


@pytest.mark.parametrize(
    ("rows", "n"),
    [([[0.01, 0.01, 0.98], [0.02, 0.01, 0.97]], 10), ([[0.0, 0.5, 0.5], [0.5, 0.5, 0.0]], 2000)],
)
def test_a_matrix_unlike_the_others_does_not_hurt_them(rows, n):
    """What all three have in common is little or nothing, and the third may have most users."""
    groups = [
        Group(MatrixRandomizer([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]]), 50),
        Group(MatrixRandomizer([[0.5, 0.375, 0.125], [0.375, 0.5, 0.125]]), 200),
    ]
    unlike = Group(MatrixRandomizer(rows), n)
    before = MixedAccountant(groups).delta_tiers(0.3)
    after = MixedAccountant([*groups, unlike]).delta_tiers(0.3)
    assert before[0].among == after[0].among == "all"
    assert after[0].guarantee.upper <= before[0].guarantee.upper


@pytest.mark.heavy
def test_tiers_can_be_told_apart_in_the_table():
    texts = [f"subset(epsilon0={level}, domain_size=8, size=2)" for level in (1.0, 3.0)]
    groups = [part for text in texts for part in ("--group", f"{text}=5")]
    shown = CliRunner().invoke(main, ["tiers", *groups, "--epsilon", "1"]).stdout
    assert all(text in shown for text in texts)
