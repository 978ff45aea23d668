"""Mechanisms that caches could take for each other are refused."""

from dataclasses import dataclass, field
from functools import cached_property

import pytest

from shuffledp import KRR, MatrixRandomizer, ShuffleAccountant, joint, subsample
from shuffledp.mechanisms import Joint, Subsample, as_randomizer


class Disguised(KRR):
    """Equal to others of the same k and epsilon0, whatever its true level is."""

    def __init__(self, k, epsilon0, true_level):
        super().__init__(k=k, epsilon0=epsilon0)
        object.__setattr__(self, "true_level", true_level)

    def decomposition(self, pair, other=None):
        return KRR(k=self.k, epsilon0=self.true_level).decomposition(pair, other)


class Slotted(KRR):
    __slots__ = ("true_level",)

    def __init__(self, k, epsilon0, true_level):
        super().__init__(k=k, epsilon0=epsilon0)
        object.__setattr__(self, "true_level", true_level)


@dataclass(frozen=True, repr=False)
class Overlooked(KRR):
    true_level: float = field(default=1.0, compare=False)


HIDING = [Disguised(3, 1.0, 3.0), Slotted(3, 1.0, 3.0), Overlooked(3, 1.0, 3.0)]


@pytest.mark.parametrize("mechanism", HIDING, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize(
    "ask",
    [
        as_randomizer,
        lambda given: ShuffleAccountant(given, 10),
        lambda given: joint(given, "krr(k=2, epsilon0=1)"),
        lambda given: Joint((given, given)),
        lambda given: subsample(given, 0.5),
        lambda given: Subsample(given, 0.5),
    ],
)
def test_what_is_kept_beside_the_fields_is_named(ask, mechanism):
    with pytest.raises(TypeError, match="also keeps true_level; make it a field"):
        ask(mechanism)


def test_mechanisms_that_are_told_apart_are_accounted_apart():
    @dataclass(frozen=True, repr=False)
    class Open(KRR):
        true_level: float = 1.0

        @cached_property
        def base(self):
            return KRR(k=self.k, epsilon0=self.true_level)

        def decomposition(self, pair, other=None):
            return self.base.decomposition(pair, other)

    weak, strong = (
        ShuffleAccountant(Open(3, 4.0, level), 100, bound="blanket").get_epsilon(1e-6)
        for level in (0.01, 3.0)
    )
    truth = ShuffleAccountant(KRR(3, 3.0), 100, bound="blanket").epsilon_interval(1e-6)
    assert weak < strong
    assert truth.lower <= strong


def test_classes_that_can_change_are_refused():
    class Changeable(KRR.__base__):
        name = "changeable"
        epsilon0 = 1.0

    Changeable.__abstractmethods__ = frozenset()
    with pytest.raises(TypeError, match=r"must be of a frozen dataclass, which .*Changeable"):
        as_randomizer(Changeable())


def test_derived_matrices_without_a_state_of_their_own_are_accepted():
    derived = type("Derived", (MatrixRandomizer,), {})([[0.5, 0.5], [0.25, 0.75]])
    assert derived.epsilon0 > 0
    assert as_randomizer(derived) is derived
