"""Numbers that are awkward to round: no door shows less than is proved, or a target otherwise."""

from __future__ import annotations

import json
import re
from decimal import Decimal

import pytest
from click.testing import CliRunner

from shuffledp import ShuffleAccountant, plan
from shuffledp.basics.rounding import given_or_up, percent, round_down, round_up, share_up
from shuffledp.cli import main
from shuffledp.mechanisms import parse
from shuffledp.outputs.review.findings import Findings

pytest.importorskip("matplotlib")

#: Doubles above the decimals by which they are named, and targets with many digits.
MECHANISM = "krr(k=3, epsilon0=2.6)"
DELTAS = ["0.1", "0.00012345678", "3e-7", "1e-300"]
EPSILONS = ["0.8", "0.123456789", "2.6"]

QUESTIONS = [
    *(["epsilon", MECHANISM, "-n", "70", "--delta", delta] for delta in DELTAS),
    *(["delta", MECHANISM, "-n", "70", "--epsilon", epsilon] for epsilon in EPSILONS),
    *(
        ["rounds", MECHANISM, "-n", "700", "--times", "3", *target]
        for target in (["--delta", "3e-7"], ["--delta", "0.00012345678"], ["--epsilon", "0.8"])
    ),
    *(
        ["calibrate", "krr(k=3)", "-n", "70", "--epsilon", epsilon, "--delta", "0.00012345678"]
        for epsilon in EPSILONS
    ),
    ["users", MECHANISM, "--epsilon", "0.8", "--delta", "3e-7"],
]


def ask(*options: str) -> str:
    result = CliRunner().invoke(main, list(options))
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize("question", QUESTIONS, ids=" ".join)
def test_answers_are_shown_on_their_side(question):
    text, answer = ask(*question), json.loads(ask(*question, "--json"))
    quantity = answer["quantity"]
    upper, lower = answer["guarantee"]["upper"], answer["lower_bound"]
    shown = {
        name: Decimal(re.search(rf"^{name} +{quantity} = (\S+)", text, re.M)[1])
        for name in ("guarantee", "lower bound")
    }
    met = answer[f"target_{quantity}"]
    if upper > 1e-299:
        assert shown["guarantee"] >= Decimal(upper) or shown["guarantee"] == Decimal(str(met))
        assert shown["guarantee"] <= Decimal(upper) * Decimal("1.001")
    assert shown["lower bound"] <= Decimal(lower)
    epsilon, delta = re.search(r"\((\S+), (\S+)\)-differentially\s+private", text).groups()
    given, said = ("--delta", delta) if quantity == "epsilon" else ("--epsilon", epsilon)
    assert said == question[question.index(given) + 1]
    assert Decimal(epsilon if quantity == "epsilon" else delta) == shown["guarantee"]


@pytest.mark.heavy(keep=0)
@pytest.mark.parametrize("delta", ["0.1", "0.00012345678"])
def test_tables_show_numbers_on_their_side(delta):
    rows = json.loads(ask("compare", MECHANISM, "-n", "70", "--delta", delta, "--json"))["bounds"]
    table = ask("compare", MECHANISM, "-n", "70", "--delta", delta)
    assert f"delta      {delta}" in table
    for row in rows:
        if row["epsilon"] is not None:
            line = next(line for line in table.splitlines() if row["title"] in line)
            shown = Decimal(re.split("  +", line)[1])
            gap = shown - Decimal(row["epsilon"])
            assert gap >= 0 if row["kind"] == "upper" else gap <= 0
    groups = [f"{MECHANISM}=30", "krr(k=3, epsilon0=1)=40"]
    options = ["tiers", "--group", groups[0], "--group", groups[1], "--delta", delta]
    tiers = json.loads(ask(*options, "--json"))["tiers"]
    text = ask(*options)
    assert f"delta = {delta} for everybody" in " ".join(text.split())
    for tier, line in zip(tiers, text.splitlines()[1:], strict=False):
        _, _, upper, lower, _ = re.split("  +", line)
        assert Decimal(upper) >= Decimal(tier["guarantee"]["upper"])
        assert lower == "none" or Decimal(lower) <= Decimal(tier["lower_bound"])


@pytest.mark.heavy
def test_a_level_is_shown_as_it_was_given():
    assert given_or_up(2.6) == "2.6"
    assert given_or_up(2.60001) == round_up(2.60001) == "2.601"
    assert ">2.6<" in parse(MECHANISM)._repr_html_()
    report = ShuffleAccountant(MECHANISM, 70).delta_report(0.8)
    page = report.to_html()
    assert "2.601" not in page
    assert "(0.8, " in page
    assert "(0.8001, " not in page


@pytest.mark.heavy
def test_documents_and_answers_agree_on_rounds():
    accountant = ShuffleAccountant("krr(k=10, epsilon0=2)", 10_000)
    found = Findings(accountant.epsilon_report(1e-6))
    year = accountant.rounds(52)
    assert [case.epsilon for case in found.repeated if case.count == 52] == [year.get_epsilon(1e-6)]
    fewer = ShuffleAccountant("krr(k=10, epsilon0=2)", 5_000)
    assert found.fewer[0].epsilon == fewer.get_epsilon(1e-6)


def test_sums_of_which_no_datasets_are_known_do_not_say_that_inputs_are_alike():
    part = "subsample(krr(k=3, epsilon0=1), rate=0.5)"
    report = ShuffleAccountant(part, 100, view="sum").rounds(2).epsilon_report(0.01)
    assert report.datasets_in_words == ["none are known"]
    constant = ShuffleAccountant("matrix([[0.5, 0.5]])", 100).rounds(2).epsilon_report(0.01)
    assert constant.datasets_in_words == ["no two inputs differ"]


@pytest.mark.heavy
def test_what_a_plan_meets_is_shown_as_it_was_asked():
    made = plan(n=1000, target_epsilon=0.8, target_delta=0.0001, domain_size=3)
    assert "<td>0.8</td>" in made._repr_html_()
    assert "0.8001" not in made._repr_html_()


@pytest.mark.parametrize(("part", "whole"), [(1, 3), (2, 3), (1, 10), (7, 2**53 - 1)])
def test_shares_are_rounded_up(part, whole):
    shown = Decimal(share_up(part, whole))
    assert shown * whole >= part
    assert (shown - shown * Decimal("0.001")) * whole <= part


@pytest.mark.parametrize("share", [0.95, 0.999, 0.29, 0.07, 1 - 2.0**-30])
def test_percentages_are_those_of_the_share(share):
    assert Decimal(percent(share).rstrip("%")) == Decimal(repr(share)) * 100


def test_infinity_has_a_name():
    assert round_up(float("inf")) == round_down(float("inf")) == "infinity"
