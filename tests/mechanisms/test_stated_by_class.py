"""What a class of one's own states is said to be its word, and found out where it is false."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import ClassVar

import pytest
from click.testing import CliRunner
from flint import arb
from hypothesis import given, settings
from random_mechanisms import any_mechanism

from shuffledp import (
    KRR,
    ClaimError,
    Group,
    LocalRandomizer,
    MatrixRandomizer,
    MixedAccountant,
    Pair,
    ShuffleAccountant,
    certify,
    compare,
    joint,
    one_of,
    parallel,
    parse,
    register,
    subsample,
)
from shuffledp.accounting.sum_view import is_exact
from shuffledp.cli import main
from shuffledp.comparison.published import BASELINES
from shuffledp.mechanisms import COMPOSITIONS, MECHANISMS, claims, text
from shuffledp.mechanisms.aggregate import NormalSum
from shuffledp.mechanisms.claims import check_claims
from shuffledp.mechanisms.input_types import NamedTypes


@dataclass(frozen=True, repr=False)
class Told(LocalRandomizer):
    """Another mechanism, in a class of one's own that tells the truth about it."""

    name: ClassVar[str] = "told"
    inner: LocalRandomizer

    @property
    def epsilon0(self):
        return self.inner.epsilon0

    @property
    def domain_epsilon0(self):
        return self.inner.domain_epsilon0

    @property
    def input_domain(self):
        return self.inner.input_domain

    @property
    def has_worst_pair(self):
        return self.inner.has_worst_pair

    @property
    def is_composable(self):
        return self.inner.is_composable

    def neighbours(self):
        return self.inner.neighbours()

    def unchanged(self):
        return self.inner.unchanged()

    def decomposition(self, pair, other=None):
        return self.inner.decomposition(pair, other)

    def common_inputs(self, pair):
        return self.inner.common_inputs(pair)

    def accepts(self, other):
        return self.inner.accepts(other)

    def input_types(self, pair):
        return self.inner.input_types(pair)


#: Inputs 0 and 1 are nearly alike, input 2 is not.
ROWS = MatrixRandomizer([[0.5, 0.3, 0.2], [0.45, 0.3, 0.25], [0.2, 0.3, 0.5]])


class HarmlessPair(Told):
    """Lists the pair that reveals least, and calls it the worst one."""

    has_worst_pair = True

    def neighbours(self):
        return (Pair(0, 1),)


class HarmlessPairs(HarmlessPair):
    """Does not even call it that."""

    has_worst_pair = False


class NoBlanket(Told):
    """Forgets that others may hold input 2."""

    def decomposition(self, pair, other=None):
        seen = MatrixRandomizer(ROWS.matrix[:2]).decomposition(Pair(0, 1))
        return seen if other is None else super().decomposition(pair, other)


class LowLevel(Told):
    """Has a larger level than it says."""

    epsilon0 = 0.5


class LowDomainLevel(Told):
    """Has a larger level over all inputs than it says."""

    epsilon0 = 2.0
    domain_epsilon0 = 0.5


class Alike(Told):
    """Says that all inputs of others are alike."""

    def input_types(self, pair):
        return NamedTypes({0: "all"}, "all")


class Staying(Told):
    """Lists the input that reveals least if it stays the same."""

    def unchanged(self):
        return (Pair(1, 1),)


class Forgetful(Told):
    """Knows the pairs that it lists, and no others."""

    def neighbours(self):
        return (Pair(0, 2), Pair(2, 0))

    def decomposition(self, pair, other=None):
        known = {pair: self.inner.decomposition(pair, other) for pair in self.neighbours()}
        return known[pair]


class Unequal(Told):
    """Has masses that do not sum to 1."""

    def decomposition(self, pair, other=None):
        return super().decomposition(pair, other).scaled(arb(0.5))


class Negative(Told):
    """Has a mass below 0, which the others make up for."""

    def decomposition(self, pair, other=None):
        seen = super().decomposition(pair, other)
        part = seen.components[0]
        pieces = (part._replace(weight=2 * part.weight), part._replace(weight=-part.weight))
        return replace(seen, components=(*pieces, *seen.components[1:]))


class InNumbers(Told):
    """Tells numbers, not a decomposition."""

    def decomposition(self, pair, other=None):
        return self.inner.law(pair.first)


class NoisySum(HarmlessPair):
    """Its sum is claimed to be hidden by noise."""

    aggregate = NormalSum(100.0)


FALSE = {
    HarmlessPair: "x1 = . vs 2 reveals more than x1 = 0 vs 1",
    HarmlessPairs: "reveals more than x1 = 0 vs 1",
    NoBlanket: "if all others hold ., reveals more",
    LowLevel: "its level is 0.5, but",
    LowDomainLevel: "its level over all inputs is 0.5",
    Alike: "among users who hold . reveals more than among",
    Staying: "if it stays the same, reveals more than x1 = 1 vs 1",
    Forgetful: "cannot tell what x1 = ",
    Unequal: "is no law: the masses of a must sum to 1, got 0.5",
    Negative: "is no law: a mass of a is below 0",
    InNumbers: "must tell as a Decomposition what x1 = ",
    NoisySum: "reveals more than x1 = 0 vs 1",
}


@pytest.mark.parametrize("kind", FALSE)
def test_a_false_claim_has_no_answer(kind):
    with pytest.raises(ClaimError, match=FALSE[kind]):
        ShuffleAccountant(kind(ROWS), 1000).get_epsilon(1e-6)


#: How a mechanism can be asked about; each is the first thing that is asked of it.
WAYS = {
    "delta": lambda one: ShuffleAccountant(one, 100).get_delta(0.1),
    "meets": lambda one: ShuffleAccountant(one, 100).meets(0.1, 1e-6),
    "lower bound": lambda one: ShuffleAccountant(one, 100).epsilon_lower_bound(1e-3),
    "report": lambda one: ShuffleAccountant(one, 100).epsilon_report(1e-3),
    "sum": lambda one: ShuffleAccountant(one, 100, view="sum").get_delta(0.1),
    "profile": lambda one: ShuffleAccountant(one, 100).profile([0.1, 0.2]),
    "rounds": lambda one: ShuffleAccountant(one, 100).rounds(3, rtol=0.1).get_epsilon(1e-3),
    "tiers": lambda one: MixedAccountant([Group(one, 50), Group("krr(3, 1)", 50)]).deltas(0.1),
    "joint": lambda one: ShuffleAccountant(joint(one, "krr(3, 1)"), 100).get_delta(0.1),
    "limited": lambda one: ShuffleAccountant(joint(one, one, at_most=1), 100).get_delta(0.1),
    "one_of": lambda one: ShuffleAccountant(one_of({one: 0.5, KRR(3, 1): 0.5}), 100).get_delta(1),
    "parallel": lambda one: ShuffleAccountant(parallel({one: 0.5, ROWS: 0.5}), 100).get_delta(0.1),
    "subsample": lambda one: ShuffleAccountant(subsample(one, 0.5), 100).get_delta(0.1),
    "compare": lambda one: compare(one, 100, 1e-3),
    "published": lambda one: BASELINES["blanket_bennett"](one, 100).get_delta(0.1),
}


@pytest.mark.parametrize("way", WAYS)
def test_no_way_leads_past_the_check(way):
    claims._check.cache_clear()
    with pytest.raises(ClaimError):
        WAYS[way](HarmlessPair(ROWS))


def test_a_claim_about_sums_is_no_proof():
    noisy = NoisySum(KRR(3, 1.0))
    assert is_exact(noisy, ShuffleAccountant(noisy, 100).crowd)
    sums = ShuffleAccountant(noisy, 100, view="sum")
    with pytest.raises(ValueError, match=r"sum of reports of told.* is not known to the prover"):
        certify(sums, target_delta=1e-3)


@settings(max_examples=25, deadline=None)
@given(any_mechanism)
def test_the_truth_passes(mechanism):
    check_claims(Told(mechanism))


@pytest.mark.parametrize("kind", [*MECHANISMS.values(), *COMPOSITIONS.values()])
def test_the_truth_about_built_in_mechanisms_passes(kind):
    if kind.example is not None:
        check_claims(Told(parse(kind.example)))


def test_mechanisms_of_this_package_are_not_checked(monkeypatch):
    def refuse(mechanism):
        raise AssertionError(mechanism)

    monkeypatch.setattr(claims, "_check", refuse)
    for kind in (*MECHANISMS.values(), *COMPOSITIONS.values()):
        if kind.example is not None:
            check_claims(parse(kind.example))


@pytest.mark.heavy
@pytest.mark.parametrize(
    "mechanism",
    [
        Told(ROWS),
        Told(KRR(3, 1.0)),
        joint(Told(KRR(3, 1.0)), "krr(3, 1)"),
        one_of({subsample(Told(ROWS), 0.5): 0.5, KRR(3, 1.0): 0.5}),
    ],
    ids=str,
)
def test_what_passes_is_still_the_word_of_the_class(mechanism):
    stated = "stated by the class Told"
    accountant = ShuffleAccountant(mechanism, 100)
    report = accountant.epsilon_report(1e-3)
    assert report.pairs == stated
    assert sum(stated in fact for fact in report.assumptions) == 1
    assert stated in " ".join(str(compare(mechanism, 100, 1e-3)).split())
    assert any(stated in fact for fact in accountant.rounds(2).epsilon_report(1e-3).assumptions)
    page = report.to_html(title="Told")
    assert page.count(stated) >= 3
    assert "is proved and rounded up" not in page
    assert "certified" not in page


@pytest.mark.heavy
def test_the_word_of_two_classes_names_both():
    @dataclass(frozen=True, repr=False)
    class Other(Told):
        pass

    report = ShuffleAccountant(joint(Told(ROWS), Other(ROWS)), 100).epsilon_report(1e-3)
    assert report.pairs == "stated by the classes Told and Other"


@dataclass(frozen=True, repr=False)
class Registered(KRR):
    """k-ary randomized response with a level of one's own."""

    name: ClassVar[str] = "registered"
    example: ClassVar[str | None] = None
    shown: float = 1.0

    def decomposition(self, pair, other=None):
        return KRR(self.k, self.shown * self.epsilon0).decomposition(pair, other)


@pytest.fixture
def registered():
    register(Registered)
    yield
    del text._mechanisms["registered"]


COMMANDS = (
    "epsilon MECHANISM -n 100 --delta 1e-3",
    "rounds MECHANISM -n 100 --times 2 --delta 1e-3",
    "tiers --group MECHANISM=50 --group krr(k=3,epsilon0=1)=50 --delta 1e-3",
    "compare MECHANISM -n 100 --delta 1e-3",
    "curve MECHANISM --delta 1e-3 --from 100 --to 200 --points 2",
)


@pytest.mark.heavy(keep=2)
@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("line", COMMANDS)
def test_commands(line):
    def run(shown: float, *more: str):
        mechanism = f"registered(k=3,epsilon0=1.0,shown={shown})"
        return CliRunner().invoke(main, [*line.replace("MECHANISM", mechanism).split(), *more])

    stated = "stated by the class Registered"
    true = run(0.5)
    assert stated in " ".join((true.stdout + true.stderr).split())
    assert any(stated in fact for fact in json.loads(run(0.5, "--json").stdout)["assumptions"])
    false = run(2.0)
    assert false.exit_code == 1
    assert false.stdout == ""
    assert false.stderr.count("\n") == 1
    assert "its level is 1, but some output tells x1 = " in false.stderr
