"""The level of some tiers, given the others."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from shuffledp import Group, MixedAccountant, OpenGroup, ShuffleAccountant, calibrate_tiers
from shuffledp.basics.errors import NoAnswerError
from shuffledp.cli import main

pytestmark = pytest.mark.filterwarnings("ignore::shuffledp.AccuracyWarning")

TARGET = {"target_epsilon": 0.6, "target_delta": 1e-4}


@pytest.mark.heavy
def test_the_level_of_one_tier_given_another():
    careful = Group("krr(k=3, epsilon0=0.5)", 60)
    found = calibrate_tiers([careful, OpenGroup("krr(k=3)", 60)], **TARGET)
    assert found.accountant.groups[0] == careful
    assert found.accountant.groups[1].randomizer.epsilon0 == found.epsilon0 == float(found)
    assert found.accountant.get_epsilon(1e-4) <= 0.6
    assert found.accountant.get_delta(0.6) <= 1e-4
    more = Group(f"krr(k=3, epsilon0={1.003 * found.epsilon0})", 60)
    assert MixedAccountant([careful, more]).get_epsilon(1e-4) > 0.6
    alone = calibrate_tiers([OpenGroup("krr(k=3)", 60)], **TARGET)
    assert found.epsilon0 > alone.epsilon0


def test_a_common_level_is_that_of_one_crowd():
    found = calibrate_tiers([OpenGroup("krr(k=3)", 50), OpenGroup("krr(k=3)", 70)], **TARGET)
    assert len({group.randomizer for group in found.accountant.groups}) == 1
    level = found.epsilon0
    crowd = ShuffleAccountant(found.accountant.groups[0].randomizer, 120)
    assert crowd.get_delta(0.6) <= 1e-4
    assert found.accountant.get_epsilon(1e-4) <= 0.6
    assert crowd.get_epsilon(1e-4) == pytest.approx(0.6, rel=6e-4)
    above = ShuffleAccountant(f"krr(k=3, epsilon0={1.003 * level})", 120)
    assert above.get_epsilon(1e-4) > 0.6


@pytest.mark.heavy
def test_dummies_allow_a_higher_level():
    groups = [OpenGroup("krr(k=3)", 60)]
    assert (
        calibrate_tiers(groups, dummies=60, **TARGET).epsilon0
        > calibrate_tiers(groups, **TARGET).epsilon0
        > calibrate_tiers(groups, corrupted=20, **TARGET).epsilon0
    )


def test_a_given_tier_that_is_not_safe_leaves_no_answer():
    careless = Group("krr(k=3, epsilon0=8)", 10)
    with pytest.raises(NoAnswerError, match="keeps all tiers"):
        calibrate_tiers([careless, OpenGroup("krr(k=3)", 10)], **TARGET)


def test_what_is_refused():
    with pytest.raises(ValueError, match="OpenGroup"):
        calibrate_tiers([Group("krr(k=3, epsilon0=1)", 5)], **TARGET)
    with pytest.raises(ValueError, match="epsilon0 is what is looked for"):
        OpenGroup("krr(k=3, epsilon0=1)", 5)
    with pytest.raises(ValueError, match="n must be"):
        OpenGroup("krr(k=3)", 0)


@pytest.mark.heavy
def test_command_line():
    line = ["tiers", "--group", "krr(k=2, epsilon0=0.5)=9", "--group", "krr(k=2)=9"]
    target = ["--epsilon", "0.6", "--delta", "1e-4"]
    careful = Group("krr(k=2, epsilon0=0.5)", 9)
    found = calibrate_tiers([careful, OpenGroup("krr(k=2)", 9)], **TARGET)
    answer = json.loads(CliRunner().invoke(main, [*line, *target, "--json"]).stdout)
    assert answer["epsilon0"] == found.epsilon0
    assert (answer["target_epsilon"], answer["target_delta"]) == (0.6, 1e-4)
    assert max(tier["guarantee"]["upper"] for tier in answer["tiers"]) <= 0.6
    text = CliRunner().invoke(main, [*line, *target]).stdout
    assert text.startswith("epsilon0  ")
    refused = CliRunner().invoke(main, [*line, "--delta", "1e-4"])
    assert refused.exit_code == 2
    assert "need both --epsilon and --delta" in refused.stderr
    bad = CliRunner().invoke(main, ["tiers", "--group", "krr(k=x)=60", *target])
    assert bad.exit_code == 2
