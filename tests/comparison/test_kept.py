"""A sweep that was interrupted continues, with the same answers."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from unittest import mock

import numpy as np
import pytest
from click.testing import CliRunner

from shuffledp import KRR, parse
from shuffledp.cli import curve as curve_command
from shuffledp.cli import main
from shuffledp.comparison import Kept, Question, Value, curve, kept, sweep

QUESTION = Question(KRR(k=10, epsilon0=2.0), 1000, "epsilon", 1e-6, ("guarantee",))
MODULE = import_module("shuffledp.comparison.sweep")


@pytest.fixture
def asked(monkeypatch):
    """The numbers of users that answers are computed for; the computer is interrupted at 104."""
    asked, answer_together = [], MODULE.answer_together

    def interrupted(questions):
        asked.extend(question.n for question in questions)
        if any(question.n == 104 for question in questions) and asked.count(104) == 1:
            raise KeyboardInterrupt
        return answer_together(questions)

    monkeypatch.setattr(MODULE, "answer_together", interrupted)
    return asked


def test_a_sweep_continues(tmp_path, asked):
    series = {"krr": [replace(QUESTION, n=n) for n in range(100, 108)]}
    path, done = tmp_path / "kept", []
    with pytest.raises(KeyboardInterrupt):
        sweep(series, processes=1, kept=Kept(path))
    found = sweep(series, processes=1, kept=Kept(path), on_done=lambda *own: done.append(own))
    assert asked == [*range(100, 105), *range(104, 108)]
    assert done == [(i, 8) for i in range(4, 9)]
    assert found == sweep(series, processes=1)
    Kept(path).clear()
    assert not path.exists()


def test_a_sweep_of_blocks_continues_with_the_same_answers(tmp_path, monkeypatch):
    """A block is answered anew unless all of it was kept: its answers depend on each other."""
    series = {"krr": [replace(QUESTION, n=n) for n in range(1000, 1120)]}
    answer_together, sizes, done = MODULE.answer_together, [], []

    def interrupted(questions):
        sizes.append(len(questions))
        if len(sizes) == 3:
            raise KeyboardInterrupt
        return answer_together(questions)

    monkeypatch.setattr(MODULE, "answer_together", interrupted)
    path = tmp_path / "kept"
    with pytest.raises(KeyboardInterrupt):
        sweep(series, processes=1, kept=Kept(path))
    path.write_text("\n".join(path.read_text().split("\n")[:-7]))  # of the second block
    found = sweep(series, processes=1, kept=Kept(path), on_done=lambda *own: done.append(own))
    assert sizes == [40, 40, 40, 40, 40]
    assert done == [(40, 120), (80, 120), (120, 120)]
    assert found == sweep(series, processes=1)


def test_a_curve_on_the_command_line_continues(tmp_path, monkeypatch, asked):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("shuffledp.comparison.pool._cores", lambda: 1)
    line = ["curve", "krr(k=10, epsilon0=2)", "--delta", "1e-6", "--from", "100", "--to", "107"]
    line += ["--points", "8"]
    first = CliRunner().invoke(main, [*line, "--out", "c.csv"])
    assert first.exit_code == 130
    assert [path.name for path in tmp_path.iterdir()] == [".c.csv.shuffledp-points"]
    once = len(asked)
    assert CliRunner().invoke(main, [*line, "--out", "c.csv"]).exit_code == 0
    assert asked.count(100) == 1
    assert len(asked) > once
    assert [path.name for path in tmp_path.iterdir()] == ["c.csv"]
    assert CliRunner().invoke(main, line).stdout == (tmp_path / "c.csv").read_text()


@pytest.mark.parametrize(
    "change",
    [
        {"n": 1001},
        {"quantity": "delta"},
        {"target": 1e-7},
        {"bounds": ("blanket",)},
        {"rtol": 1e-3},
        {"rounds": 2},
        {"view": "sum"},
        {"randomizer": KRR(k=10, epsilon0=np.nextafter(2.0, 3.0))},
    ],
    ids=str,
)
def test_other_questions_have_other_answers(tmp_path, change):
    Kept(tmp_path / "kept").add(QUESTION, (Value(0.27, "why", False, 1.5),))
    again = Kept(tmp_path / "kept")
    (value,) = again.get(QUESTION)
    assert (value, value.seconds) == (Value(0.27, "why", False), 1.5)
    assert again.get(replace(QUESTION, **change)) is None


def test_another_version_computes_again(tmp_path, monkeypatch):
    Kept(tmp_path / "kept").add(QUESTION, (Value(0.27),))
    monkeypatch.setattr(kept, "__version__", "0.0.0")
    assert Kept(tmp_path / "kept").get(QUESTION) is None


def test_a_matrix_is_what_its_file_holds(tmp_path):
    file, answers = tmp_path / "m.csv", Kept(tmp_path / "kept")
    file.write_text("0.25,0.75\n0.75,0.25\n")
    question = replace(QUESTION, randomizer=parse(f"matrix({str(file)!r})"))
    answers.add(question, (Value(0.27),))
    assert Kept(tmp_path / "kept").get(question) is not None
    file.write_text("0.125,0.875\n0.75,0.25\n")
    changed = replace(QUESTION, randomizer=parse(f"matrix({str(file)!r})"))
    assert Kept(tmp_path / "kept").get(changed) is None


class Foreign(KRR):
    """A mechanism of somebody else, who may change it."""


def test_what_others_made_is_not_kept(tmp_path):
    for randomizer in (Foreign(k=10, epsilon0=2.0), parse("joint(krr(2, 1), krr(3, 1))")):
        Kept(tmp_path / "kept").add(replace(QUESTION, randomizer=randomizer), (Value(0.27),))
    assert len((tmp_path / "kept").read_text().split("\n")) == 2


def test_a_line_that_was_cut_off_says_nothing(tmp_path):
    path = tmp_path / "kept"
    Kept(path).add(QUESTION, (Value(0.27),))
    path.write_text(path.read_text()[:-3])
    assert Kept(path).get(QUESTION) is None
    Kept(path).add(QUESTION, (Value(0.28),))
    assert Kept(path).get(QUESTION) == (Value(0.28),)


def test_a_line_that_was_changed_says_nothing(tmp_path):
    path = tmp_path / "kept"
    Kept(path).add(QUESTION, (Value(0.27),))
    assert "0.27" in path.read_text()
    path.write_text(path.read_text().replace("0.27", "0.17"))
    assert Kept(path).get(QUESTION) is None


def test_points_stay_until_the_curve_is_there(tmp_path, monkeypatch, asked):
    asked.append(104)  # nothing is interrupted
    monkeypatch.chdir(tmp_path)
    line = ["curve", "krr(k=10, epsilon0=2)", "--delta", "1e-6", "--from", "104", "--to", "104"]
    line += ["--points", "1", "--out", "c.csv"]
    full = OSError(28, "No space left on device", "c.csv")
    with monkeypatch.context() as patch:
        patch.setattr(curve_command, "write_chart", mock.Mock(side_effect=full))
        assert CliRunner().invoke(main, line).exit_code == 1
    assert [path.name for path in tmp_path.iterdir()] == [".c.csv.shuffledp-points"]
    assert CliRunner().invoke(main, line).exit_code == 0
    assert asked == [104, 104]
    assert [path.name for path in tmp_path.iterdir()] == ["c.csv"]


def test_without_an_answer_nothing_stays(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    line = ["curve", "krr(k=10, epsilon0=2)", "--delta", "1e-6", "--from", "104", "--to", "104"]
    line += ["--points", "1", "--bound", "erlingsson", "--out", "c.csv"]
    assert CliRunner().invoke(main, line).exit_code == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("bad", ["kept", True])
def test_what_is_no_file_of_answers(bad):
    with pytest.raises(TypeError, match="kept must be a Kept"):
        curve("krr(k=10, epsilon0=2)", x=[100], target_delta=1e-6, kept=bad)


def test_curves_in_python_continue(tmp_path, asked):
    question = {"x": [103, 104, 105], "target_delta": 1e-6, "bounds": "guarantee"}
    with pytest.raises(KeyboardInterrupt):
        curve("krr(k=10, epsilon0=2)", **question, kept=Kept(str(tmp_path / "kept")))
    found = curve("krr(k=10, epsilon0=2)", **question, kept=Kept(tmp_path / "kept"))
    assert asked == [103, 104, 104, 105]
    assert found.to_dict() == curve("krr(k=10, epsilon0=2)", **question).to_dict()
