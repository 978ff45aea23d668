"""What settings say, refuse, and keep."""

from __future__ import annotations

import json
import math
import shlex

import pytest
from click.testing import CliRunner

from shuffledp import (
    FabricatedMessages,
    FixedNumber,
    NoisyCounts,
    PerDevice,
    PoissonPerValue,
    ShuffleAccountant,
)
from shuffledp.accounting.messages import fewest_devices, least_fabricated, least_noise
from shuffledp.basics.errors import NoAnswerError
from shuffledp.cli import main
from shuffledp.mechanisms.messages.count_noise import Coins, NormalNoise, PoissonNoise, as_noise
from shuffledp.mechanisms.messages.fabricated import Identity, as_reports

CLEAR = "identity(k=10)"

SETTINGS = [
    FabricatedMessages(CLEAR, 1000, FixedNumber(500)),
    FabricatedMessages(CLEAR, 1000, FixedNumber(500, [1, 2] * 5)),
    FabricatedMessages(CLEAR, 1000, PerDevice(0.5)),
    FabricatedMessages(CLEAR, 1000, PerDevice(0.5), relation="add or remove"),
    FabricatedMessages(CLEAR, 1000, PoissonPerValue(0.05)),
    FabricatedMessages(CLEAR, 1000, PoissonPerValue(0.05), relation="add or remove"),
    FabricatedMessages(CLEAR, 1000, PoissonPerValue(0.05, [1, 2] * 5)),
    FabricatedMessages(CLEAR, 10**6, PoissonPerValue(0.05)),
    FabricatedMessages("krr(k=10, epsilon0=3)", 1000, FixedNumber(500)),
    NoisyCounts("coins(200)"),
    NoisyCounts("discrete_laplace(0.4)"),
    NoisyCounts("discrete_gaussian(7)", relation="add or remove"),
]


QUICK = [
    pytest.param(setting, marks=pytest.mark.heavy) if "krr" in repr(setting) else setting
    for setting in SETTINGS
]


@pytest.mark.parametrize("setting", QUICK, ids=repr)
def test_answers_keep_their_word(setting):
    epsilon = setting.get_epsilon(1e-6)
    assert setting.get_delta(epsilon) <= 1e-6
    assert setting.meets(epsilon, 1e-6)
    assert setting.delta_lower_bound(epsilon * (1 - 1e-3)) < setting.get_delta(epsilon * (1 - 1e-3))
    if setting.epsilon_lower_bound(1e-6):
        assert setting.epsilon_interval(1e-6).width <= 3e-4 * epsilon
        assert setting.delta_lower_bound(epsilon * (1 - 1e-3)) > 1e-6


@pytest.mark.parametrize("setting", SETTINGS, ids=repr)
def test_sentences_say_what_is_left_without_the_shuffler(setting):
    report = setting.epsilon_report(1e-6)
    clear = not isinstance(setting, FabricatedMessages) or setting.is_clear
    assert ("local level is infinite" in report.sentence) == clear
    assert setting.change_in_words in report.sentence
    json.dumps(report.to_dict(), allow_nan=False)


def test_corrupted_users_fabricate_nothing():
    some = FabricatedMessages(CLEAR, 1000, PoissonPerValue(0.05), corrupted=0.1)
    fewer = FabricatedMessages(CLEAR, 900, PoissonPerValue(0.05))
    assert some.get_epsilon(1e-6) == fewer.get_epsilon(1e-6)
    fixed = FabricatedMessages(CLEAR, 1000, FixedNumber(500), corrupted=999)
    assert fixed.get_epsilon(1e-6) == SETTINGS[0].get_epsilon(1e-6)


def test_a_fixed_number_gives_away_who_is_there():
    setting = FabricatedMessages(CLEAR, 1000, FixedNumber(500), relation="add or remove")
    assert setting.get_delta(5.0) == 1.0
    assert setting.get_epsilon(1e-6) == math.inf
    fields = json.loads(json.dumps(setting.epsilon_report(1e-6).to_dict(), allow_nan=False))
    assert fields["epsilon"] is None
    assert fields["lower_bound"] is None


def test_trust_changes_how_many_are_honest_and_nothing_else():
    many = NoisyCounts("coins(2)", added_by="clients", trust="OAMC", n=100, corrupted=26)
    together = NoisyCounts("coins(148)")
    assert many.get_epsilon(1e-6) == together.get_epsilon(1e-6)
    alone = NoisyCounts("coins(148)", added_by="clients", trust="OC", n=100)
    assert alone.get_epsilon(1e-6) == together.get_epsilon(1e-6)
    assert "noise of one client" in alone.epsilon_report(1e-6).sentence
    with pytest.raises(ValueError, match="trust must leave somebody honest"):
        NoisyCounts("coins(148)", added_by="aggregators", trust="OC")


def test_more_noise_hides_more():
    found = [NoisyCounts(f"discrete_gaussian({s})").get_epsilon(1e-6) for s in (2.0, 4.0, 8.0)]
    assert found == sorted(found, reverse=True)
    large = NoisyCounts("discrete_laplace(0.5)")
    assert large.get_epsilon(0.0) == 1.0
    assert large.get_delta(1.0) == 0.0


def test_wider_tables_are_refused():
    with pytest.raises(ValueError, match="standard deviation of at most 20000"):
        NoisyCounts("discrete_gaussian(30000)").get_epsilon(1e-6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FabricatedMessages("oue(2)", 10, FixedNumber(1)), "reports must be identity"),
        (lambda: FabricatedMessages(CLEAR, 10, 5), "fabricated must be"),
        (
            lambda: FabricatedMessages(CLEAR, 10, FixedNumber(1), values=11),
            "values must be at most",
        ),
        (lambda: FabricatedMessages(CLEAR, 10, FixedNumber(1), relation="x"), "relation must be"),
        (lambda: FabricatedMessages(CLEAR, 10, FixedNumber(1, [1, 2])), "one weight for each of k"),
        (lambda: FabricatedMessages("krr(2, 1)", 10, FixedNumber(1, [1, 2])), "law must be None"),
        (lambda: FixedNumber(-1), "number must be"),
        (lambda: FixedNumber(1, [0, 0]), "law must be 2 to"),
        (lambda: FixedNumber(1, "12"), "law must be a list"),
        (lambda: PerDevice(0), "probability must be above 0"),
        (lambda: PoissonPerValue(0), "mean must be above 0"),
        (lambda: as_reports("identity(ten)"), "identity must be written like"),
        (lambda: Identity(1), "k must be"),
        (lambda: as_noise("dice(5)"), "noise must be one of"),
        (lambda: as_noise(5), "noise must be noise in counts"),
        (lambda: Coins(0), "number must be"),
        (lambda: NormalNoise(0), "sigma must be"),
        (lambda: PoissonNoise(0), "rate must be above 0"),
        (lambda: NoisyCounts("coins(5)", added_by="me"), "added_by must be one of"),
        (lambda: NoisyCounts("coins(5)", trust="me"), "trust must be one of"),
        (
            lambda: least_noise("dice", target_epsilon=1, target_delta=0.1),
            "kind must be coins",
        ),
        (
            lambda: least_fabricated(CLEAR, 10, "x", target_epsilon=1, target_delta=0.1),
            "kind must be one of",
        ),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()


def test_what_cannot_be_met_is_said():
    with pytest.raises(NoAnswerError, match="even 1 does not meet"):
        least_fabricated(CLEAR, 20, "per device", target_epsilon=1, target_delta=1e-6)
    with pytest.raises(NoAnswerError, match="do not meet"):
        fewest_devices(CLEAR, FixedNumber(5), target_epsilon=1, target_delta=1e-6)


def run(line):
    return CliRunner().invoke(main, ["messages", *shlex.split(line)])


def test_every_quantity_is_found():
    mean = json.loads(run('"identity(k=10)" -n 1000 --epsilon 1 --delta 1e-6 --json').stdout)
    assert mean["fabricated"] == "PoissonPerValue(mean=0.0426546, law=None)"
    line = '"identity(k=10)" --epsilon 1 --delta 1e-6 --amount 0.05 --corrupted 5% --json'
    assert json.loads(run(line).stdout)["n"] == 899
    line = '"identity(k=10)" -n 1000 --epsilon 1 --amount 0.05 --json'
    assert json.loads(run(line).stdout)["delta"] < 1e-6
    for hide, amount in (
        ("coins", 148),
        ("discrete_laplace", 0.5),
        ("discrete_gaussian", 5.97666),
    ):
        text = run(f'"identity(k=10)" --hide {hide} --epsilon 1 --delta 1e-6').stdout
        assert f"{amount}  (found)" in text
    text = run('"identity(k=10)" --hide coins --amount 148 --epsilon 1').stdout
    assert "guarantee    delta = 9." in text


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('"identity(k=10)" --delta 1e-6', "must be left out, which is found"),
        ('"identity(k=10)" -n 9 --delta 1e-6 --epsilon 1 --amount 1', "left out are none"),
        ('"krr(k=3, epsilon0=1)" --hide coins --delta 1e-6 --amount 9', "is for clear values"),
        (
            '"identity(k=10)" --hide fixed -n 9 --amount 0.5 --delta 0.1',
            "amount must be an integer",
        ),
        ('"identity(k=10)" --hide coins --trust OC --amount 9 --delta 0.1', "trust must leave"),
        ('"oue(1)" --amount 9 --delta 0.1', "reports must be identity"),
    ],
)
def test_wrong_lines_are_refused(line, message):
    result = run(line)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


@pytest.mark.heavy
def test_noise_and_fabricated_messages_hide_together():
    """At least as well as either alone; without fabricated messages it is the blanket bound."""
    noisy = "krr(k=10, epsilon0=3)"
    alone = ShuffleAccountant(noisy, 1000, bound="blanket").get_epsilon(1e-6)
    none = FabricatedMessages(noisy, 1000, FixedNumber(0)).get_epsilon(1e-6)
    assert none == pytest.approx(alone, rel=1e-3)
    found = {}
    for fabricated in (FixedNumber(400), PerDevice(0.4), PoissonPerValue(0.04)):
        both = FabricatedMessages(noisy, 1000, fabricated).get_epsilon(1e-6)
        clear = FabricatedMessages(CLEAR, 1000, fabricated).get_epsilon(1e-6)
        assert both < min(clear, alone)
        found[fabricated] = both
    assert max(found.values()) < 1.02 * min(found.values())  # 400 messages are meant each time


def test_a_noisy_report_tells_no_more_than_its_value():
    noisy = FabricatedMessages(
        "krr(k=10, epsilon0=3)", 1000, PerDevice(0.4), relation="add or remove"
    )
    clear = FabricatedMessages(CLEAR, 1000, PerDevice(0.4), relation="add or remove")
    assert noisy.get_epsilon(1e-6) == clear.get_epsilon(1e-6)
    assert noisy.epsilon_lower_bound(1e-6) == 0.0 < clear.epsilon_lower_bound(1e-6)


@pytest.mark.heavy
def test_huge_means_are_bounded():
    """More than ten million messages of a value are counted as ten million where tables end."""
    removed = [
        FabricatedMessages(CLEAR, n, PoissonPerValue(0.5), relation="add or remove")
        for n in (2 * 10**7, 10**15)
    ]
    first, second = (setting.get_epsilon(1e-3) for setting in removed)
    assert first == second
    assert removed[1].epsilon_lower_bound(1e-3) == 0.0


def test_the_count_is_0_in_the_end():
    """However large epsilon: with this probability nobody fabricates the other value."""
    setting = FabricatedMessages(CLEAR, 1000, PoissonPerValue(0.013))
    found = setting.delta_interval(300.0)
    assert found.upper == pytest.approx(math.exp(-13), rel=1e-9)
    assert found.width < 1e-12 * found.upper
    assert setting.epsilon_interval(1e-6).lower == math.inf


def test_tiny_deltas():
    setting = FabricatedMessages(CLEAR, 1000, PoissonPerValue(2.0))
    found = setting.epsilon_interval(1e-100)
    assert 0.69 < found.lower <= found.upper < 0.694
