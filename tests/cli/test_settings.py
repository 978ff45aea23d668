"""Every command reads a setting from a file; what is typed counts instead."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from command_line import ask, refused

from shuffledp import Setting, ShuffleAccountant
from shuffledp.cli import main

TELEMETRY = Setting(mechanism="krr(k=4, epsilon0=2)", n=200, corrupted=0.05, rounds=2)
DELTA = ("--delta", "1e-6")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "telemetry.toml"
    TELEMETRY.save(path)
    return path


def answer(*arguments: str) -> dict:
    return json.loads(ask(*arguments, "--json"))


def epsilon(setting: Setting) -> float:
    return setting.accountant().get_epsilon(1e-6)


def test_a_file_says_what_options_say(file):
    typed = answer(
        *("epsilon", "krr(k=4, epsilon0=2)", "-n", "200", "--corrupted", "5%"),
        *("--rounds", "2", *DELTA),
    )
    read = answer("epsilon", "--setting", str(file), *DELTA)
    assert read == typed
    assert read["guarantee"]["upper"] == epsilon(TELEMETRY)
    assert read["rounds"][0]["corrupted"] == 10
    assert answer("rounds", "--setting", str(file), *DELTA)["guarantee"] == read["guarantee"]
    assert answer("epsilon", "--setting", str(file), "--times", "2", *DELTA) == read


@pytest.mark.heavy
def test_what_is_typed_counts_instead(file):
    once = answer("epsilon", "--setting", str(file), "--rounds", "1", *DELTA)
    expected = ShuffleAccountant("krr(k=4, epsilon0=2)", 200, corrupted=10)
    assert once["guarantee"]["upper"] == expected.get_epsilon(1e-6)
    other = answer("epsilon", "krr(3, 1)", "--setting", str(file), "-n", "500", *DELTA)
    assert other["rounds"][0]["mechanism"] == "krr(k=3, epsilon0=1.0)"
    assert (other["rounds"][0]["n"], other["rounds"][0]["corrupted"]) == (500, 25)


def test_delta_asked_back(file):
    found = answer("epsilon", "--setting", str(file), *DELTA)["guarantee"]["upper"]
    back = answer("delta", "--setting", str(file), "--epsilon", repr(found))
    assert back["guarantee"]["upper"] <= 1e-6


@pytest.mark.heavy
def test_solutions_are_kept(file, tmp_path):
    kept = tmp_path / "kept.toml"
    save = ("--save-setting", str(kept))
    found = answer("users", "--setting", str(file), "--epsilon", "1", *DELTA, *save)
    assert Setting.load(kept) == TELEMETRY.of(n=found["rounds"][0]["n"])
    assert epsilon(Setting.load(kept)) <= 1
    answer("calibrate", "krr(k=4)", "--setting", str(file), "--epsilon", "1", *DELTA, *save)
    assert epsilon(Setting.load(kept)) <= 1
    plan = ("plan", "--setting", str(file), "--epsilon", "3", *DELTA, "--domain", "2")
    made = answer(*plan, "--rounds", "1", *save)
    found = Setting.load(kept)
    assert str(found.randomizer) == made["options"][0]["mechanism"]
    assert (found.n, found.rounds, found.crowd.corrupted) == (200, 1, 10)
    assert epsilon(found) <= 3


@pytest.mark.heavy
def test_groups(tmp_path):
    kept = tmp_path / "tiers.toml"
    groups = ("--group", "krr(k=3, epsilon0=1)=50", "--group", "krr(k=3, epsilon0=2)=50")
    asked = ask("tiers", *groups, "--corrupted", "10", *DELTA, "--save-setting", str(kept))
    for command in ("tiers", "epsilon"):
        assert ask(command, "--setting", str(kept), *DELTA) == asked
    for line in (
        ("users", "--setting", str(kept), "--epsilon", "1", *DELTA),
        ("calibrate", "krr(k=3)", "--setting", str(kept), "--epsilon", "1", *DELTA),
        ("compare", "--setting", str(kept), *DELTA),
        ("curve", "--setting", str(kept), *DELTA),
        ("rounds", "--setting", str(kept), *DELTA),
        ("audit", "--setting", str(kept), *DELTA),
        ("plan", "--setting", str(kept), *DELTA, "--epsilon", "1", "--domain", "2"),
    ):
        assert "2 groups" in refused(*line)
    assert "without groups" in refused("certify", "--setting", str(kept), *DELTA)


def test_curves_leave_out_what_varies(file):
    shown = answer("curve", "--setting", str(file), *DELTA, "--points", "2", "--bound", "guarantee")
    assert shown["rounds"] == 2
    assert shown["curves"][0]["y"][0] == pytest.approx(epsilon(TELEMETRY.of(n=1000)), rel=1e-3)
    along = ("curve", "--setting", str(file), *DELTA, "--against", "rounds", "--to", "2")
    shown = answer(*along, "--points", "2", "--bound", "guarantee")
    assert shown["curves"][0]["y"][1] == pytest.approx(epsilon(TELEMETRY), rel=1e-3)
    assert "it varies along the curve" in refused(*along[:3], *DELTA, "-n", "5")


def test_comparisons_of_rounds(file):
    rows = {
        row["bound"]: row for row in answer("compare", "--setting", str(file), *DELTA)["bounds"]
    }
    assert rows["guarantee"]["epsilon"] == pytest.approx(epsilon(TELEMETRY), rel=1e-3)
    assert rows["standard_clone"]["reason"] == "it is an analysis of a single round"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (("epsilon", *DELTA), "Missing argument 'MECHANISM': give it, or '--setting'"),
        (("epsilon", "krr(3, 1)", *DELTA), "Missing option '-n' / '--users': give it"),
        (("epsilon", "--setting", "none.toml", *DELTA), "cannot read the setting 'none.toml'"),
        (("users", *DELTA, "--epsilon", "1"), "Missing argument 'MECHANISM'"),
        (("calibrate", "krr(k=3)", *DELTA, "--epsilon", "1"), "Missing option '-n' / '--users'"),
        (("compare", *DELTA), "Missing argument 'MECHANISM'"),
        (("curve", *DELTA), "Missing argument 'MECHANISM'"),
        (("tiers", *DELTA), "Missing option '--group'"),
        (("certify", *DELTA), "Missing argument 'MECHANISM'"),
        (("report", *DELTA), "Missing argument 'MECHANISM'"),
    ],
)
def test_what_is_missing_is_named(line, said):
    assert said in refused(*line)


def test_nothing_is_kept_without_an_answer(tmp_path):
    kept = tmp_path / "kept.toml"
    line = ("epsilon", "matrix([[1, 0], [0, 1]])", "-n", "5", "--delta", "0")
    result = CliRunner().invoke(main, [*line, "--save-setting", str(kept)])
    assert result.exit_code == 1
    assert not kept.exists()


def test_a_place_that_cannot_be_written(tmp_path):
    place = tmp_path / "none" / "kept.toml"
    line = ("epsilon", "krr(3, 1)", "-n", "50", *DELTA, "--save-setting", str(place))
    result = CliRunner().invoke(main, line)
    assert result.exit_code != 0
    assert result.stdout == ""
    assert "kept.toml" in result.stderr
