"""Answers that are kept, and what is noticed when others are given: benchmarks/corpus.py."""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path

import pytest
from tiers import EVERY_CASE

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import corpus
from corpus_questions import KINDS

ROWS = corpus.read()

_QUICK = 25.0  # milliseconds
_EACH = 3  # questions of a kind


def unexplained(rows: list[corpus.Kept]) -> list[str]:
    return [
        f"{row.question}: {difference}"
        for row in rows
        for difference in corpus.differences(row.facts, corpus.answer(row.question))
        if corpus.excuse(row, difference) is None
    ]


def test_some_answers():
    chosen = []
    for _, group in groupby(ROWS, lambda row: row.kind):
        quick = [row for row in group if 0 < row.milliseconds < _QUICK]
        chosen += quick[:: max(1, len(quick) // _EACH)][:_EACH]
    assert len(chosen) > 40
    assert not unexplained(chosen)


@pytest.mark.heavy
def test_one_answer_of_twenty():
    assert not unexplained(ROWS[::20])


@pytest.mark.slow
def test_all_answers():
    assert corpus.compare(ROWS)


def test_questions_of_every_kind_are_kept():
    assert {row.kind for row in ROWS} == {*KINDS, "known"}
    assert len({row.question for row in ROWS}) == len(ROWS) > 2000


def test_deltas_are_near_if_a_slightly_larger_epsilon_has_them():
    question = 'delta "krr(k=10, epsilon0=2)" -n 1000 --epsilon '
    log = corpus.answer(f"{question}0.75")["log delta"][-1]
    for epsilon, near in ((0.7493, True), (0.7485, False)):
        row = corpus.Kept("support", question + str(epsilon), {"log delta": [None, None, log]}, 1.0)
        assert [*corpus.differences(row.facts, corpus.answer(row.question))]
        assert corpus.is_near(row, "guarantee: log delta") == near
    assert not corpus.is_near(row, "contradiction: log delta")


KEPT = {"epsilon": [0.1, 0.1, 0.1001]}
DELTA = {"log delta": [-20.0, -20.0, -19.999]}


@EVERY_CASE
@pytest.mark.parametrize(
    ("kept", "now", "noticed"),
    [
        (KEPT, {"epsilon": [0.1, 0.1, 0.10012]}, []),
        (KEPT, {"epsilon": [0.1, 0.1, 0.1003]}, ["guarantee"]),
        (KEPT, {"epsilon": [0.1, 0.1, None]}, ["guarantee"]),
        (KEPT, {"epsilon": [0.0998, 0.0998, 0.1]}, ["attack"]),
        (KEPT, {"epsilon": [0.09995, 0.09995, 0.09995]}, ["contradiction"]),
        (KEPT, {"epsilon": [0.1002, 0.1002, 0.1002]}, ["contradiction"]),
        ({"epsilon": [0.05, 0.1, 0.1001]}, {"epsilon": [0.05, None, 0.09]}, ["contradiction"]),
        ({"epsilon": [None, None, None]}, KEPT, []),
        (KEPT, {}, ["no answer"]),
        ({}, KEPT, []),
        (KEPT, DELTA, ["nothing is said"]),
        (DELTA, {"log delta": [-20.0, -20.0, -19.99]}, []),
        (DELTA, {"log delta": [-20.0, -20.0, -19.98]}, ["guarantee"]),
        (DELTA, {"log delta": [-20.02, -20.02, -19.999]}, ["attack"]),
        (DELTA, {"log delta": [None, None, None]}, ["attack", "contradiction"]),
        ({"log delta": [None, None, None]}, DELTA, ["guarantee", "contradiction"]),
        ({"at most": [1000]}, {"at most": [1003]}, []),
        ({"at most": [1000]}, {"at most": [1004]}, ["at most"]),
        ({"at most": [1000]}, {"at most": [10]}, []),
        ({"at least": [52]}, {"at least": [51]}, []),
        ({"at least": [52]}, {"at least": [50]}, ["at least"]),
        ({"published, x": [0.5]}, {"published, x": [0.502]}, ["published"]),
        ({"published, x": [0.5]}, {"published, x": [0.498]}, ["published"]),
        ({"published, x": [None]}, {"published, x": [None]}, []),
        ({"published, x": [0.5]}, {"published, x": [None]}, ["published"]),
    ],
)
def test_differences(kept, now, noticed):
    found = list(corpus.differences(kept, now))
    assert len(found) == len(noticed)
    assert all(map(str.startswith, found, noticed)), found


def test_explanations_name_the_question_and_the_difference():
    (known,) = [row for row in ROWS if "-n 10 --delta 0.01" in row.question and row.kind == "known"]
    assert corpus.explanation(known.question, "guarantee: epsilon rises") is not None
    assert corpus.explanation(known.question, "contradiction: epsilon is") is None
    assert corpus.explanation('epsilon "krr(k=2, epsilon0=1)"', "guarantee: epsilon") is None
