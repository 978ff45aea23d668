"""The command ``audit``."""

from __future__ import annotations

import json
import re

import pytest
from command_line import ask, run

from shuffledp.mechanisms.support.krr import KRR

QUESTION = ("audit", "krr(k=10, epsilon0=4)", "-n", "10", "--trials", "2e3", "--seed", "1")


def test_text() -> None:
    lines = ask(*QUESTION, "--delta", "0.01").splitlines()
    assert lines[:4] == [
        "mechanism    krr(k=10, epsilon0=4.0)",
        "users        10",
        "delta        0.01",
        "datasets     x1 = 0 vs 1, all others hold 0",
    ]
    assert lines[4].startswith("guarantee    epsilon = 3.9")
    assert lines[5].startswith("lower bound  epsilon = 3.9")
    assert lines[6].startswith("audit        epsilon >= ")
    assert lines[6].endswith("of 1,000 runs)")
    assert "99.9% confidence" in lines[6]
    assert "which agrees with the guarantee" in " ".join(lines[8:])


def test_json() -> None:
    fields = json.loads(ask(*QUESTION, "--epsilon", "0.5", "--confidence", "0.9", "--json"))
    assert fields["quantity"] == "delta"
    assert fields["target_epsilon"] == 0.5
    assert fields["target_delta"] is None
    audit = fields["audit"]
    assert 0 < audit["lower_bound"] < fields["lower_bound"] <= fields["guarantee"]["upper"]
    assert audit["confidence"] == 0.9
    assert (audit["trials"], audit["runs_counted"], audit["seed"]) == (2000, 1000, 1)
    assert audit["hits"][0] > audit["hits"][1]
    assert 1 < audit["enough_trials"] < 2000


def test_the_same_seed_gives_the_same_answer() -> None:
    first, second = (run(*QUESTION, "--delta", "0.01").stdout for _ in range(2))
    assert first == second


def test_little_is_seen_of_rare_events() -> None:
    assert "more --trials show more" in " ".join(ask(*QUESTION, "--delta", "1e-9").split())


def test_runs_that_show_nothing_name_a_size() -> None:
    question = ("audit", "krr(k=3, epsilon0=1)", "-n", "5", "--delta", "1e-6", "--seed", "1")
    lines = " ".join(ask(*question, "--trials", "20").split())
    size = re.search(
        r"nothing, .* they are too few\. About ([\d,]+) --trials show something", lines
    )
    assert size is not None
    shown = json.loads(ask(*question, "--trials", size[1].replace(",", ""), "--json"))
    assert shown["audit"]["lower_bound"] > 0


def test_nothing_to_show() -> None:
    question = ("audit", "krr(k=3, epsilon0=1)", "-n", "5", "--delta", "0.9", "--seed", "1")
    text = " ".join(ask(*question, "--trials", "20").split())
    assert "The runs show nothing" in text
    assert "too little for 1,000,000,000 --trials. Fewer users reveal more." in text


def test_an_infinite_guarantee() -> None:
    question = ("audit", "matrix([[0.5, 0.5, 0], [0, 0.5, 0.5]])", "-n", "5", "--seed", "1")
    assert "guarantee    epsilon = infinity" in ask(*question, "--delta", "0")
    fields = json.loads(ask(*question, "--delta", "0", "--json"))
    assert fields["guarantee"]["upper"] is None
    assert fields["lower_bound"] is None


def test_a_contradiction_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """What runs leaks more than what is accounted."""
    honest = KRR.truth_probability
    leaky = property(lambda self: honest.fget(KRR(k=self.k, epsilon0=3 * self.epsilon0)))
    monkeypatch.setattr(KRR, "truth_probability", leaky)
    for extra in ((), ("--json",)):
        result = run("audit", "krr(k=10, epsilon0=1)", "-n", "3", "--delta", "0.01", *extra)
        assert result.exit_code == 1
        assert "the runs contradict the guarantee: they show epsilon >= " in result.stderr
        assert "chance alone explains that in at most 0.1% of audits" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give one of --delta and --epsilon"),
        (("--delta", "0.1", "--epsilon", "1"), "give one of --delta and --epsilon"),
        (("--delta", "0.1", "--trials", "1"), "trials must be at least 2"),
        (("--delta", "0.1", "--trials", "many"), "trials must be a whole number"),
        (("--delta", "0.1", "--confidence", "1"), "confidence must be strictly between 0 and 1"),
        (("--delta", "0.1", "--confidence", "high"), "confidence must be a number"),
        (("--delta", "0.1", "--seed", "-1"), "--seed"),
    ],
)
def test_bad_options(arguments: tuple[str, ...], message: str) -> None:
    result = run("audit", "krr(k=10, epsilon0=4)", "-n", "10", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize(
    ("mechanism", "n", "message"),
    [
        ("oue(epsilon0=1)", "10", "give its domain_size to run it"),
        ("any_pure_ldp(epsilon0=1)", "10", "cannot run"),
        ("krr(k=3, epsilon0=1)", "1e7", "at most 1,000,000 users"),
        ("matrix([[0.5, 0.5]])", "10", "no two datasets are known"),
    ],
)
def test_what_cannot_be_audited(mechanism: str, n: str, message: str) -> None:
    result = run("audit", mechanism, "-n", n, "--delta", "0.1")
    assert result.exit_code == 1
    assert message in result.stderr
