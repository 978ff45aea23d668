"""Neighbouring questions are answered together, alike and in the same order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shuffledp import KRR, LocalHash, curve, parse
from shuffledp.comparison import Question, sweep
from shuffledp.comparison.question import answer
from shuffledp.comparison.together import answer_together, blocks

OURS = ("guarantee", "blanket", "lower_bound")
QUESTION = Question(KRR(k=10, epsilon0=2.0), 1000, "epsilon", 1e-6, OURS)


def along(name: str, values: list) -> list[Question]:
    return [replace(QUESTION, **{name: value}) for value in values]


COURSES = {
    "users": along("n", list(range(500, 1700, 100))),
    "delta": along("target", [10.0**-i for i in range(14, 2, -1)]),
    "epsilon": [
        replace(QUESTION, quantity="delta", target=0.02 * i, bounds=(*OURS, "generic_bennett"))
        for i in range(12)
    ],
    "epsilon0": along("randomizer", [KRR(k=10, epsilon0=0.3 * i) for i in range(1, 13)]),
    "noise": [
        replace(QUESTION, randomizer=parse("laplace(epsilon0=2)"), n=n, bounds=("blanket",))
        for n in range(500, 1700, 100)
    ],
    "buckets": along("randomizer", [LocalHash(epsilon0=0.4 * i) for i in range(1, 13)]),
}


@pytest.mark.parametrize("course", COURSES)
def test_answers_together_are_those_of_single_questions(course: str) -> None:
    questions = COURSES[course]
    together = answer_together(questions)
    for question, found in zip(questions, together, strict=True):
        for value, single in zip(found, answer(question), strict=True):
            assert value.reason == single.reason
            assert value.rtol_reached == single.rtol_reached
            assert value.number == pytest.approx(single.number, rel=2e-4)
            assert value.seconds >= 0


def test_all_axes_are_answered_together() -> None:
    assert all(len(list(blocks(questions))) == 1 for questions in COURSES.values())


@pytest.mark.parametrize(
    "change",
    [
        {"rounds": 2},
        {"randomizer": parse("discrete_laplace(epsilon0=1, bound=100)")},
        {"randomizer": parse("joint(krr(k=2, epsilon0=1), laplace(epsilon0=1))")},
        {"bounds": ("erlingsson",)},
        {"rtol": 1e-3},
        {"n": 500},
    ],
    ids=str,
)
def test_what_is_no_quick_course_is_answered_one_by_one(change: dict) -> None:
    questions = [*COURSES["users"][:-1], replace(COURSES["users"][-1], **change)]
    assert [len(block) for block in blocks(questions)] == [1] * 12


def test_blocks_depend_on_the_series_alone() -> None:
    series = along("n", list(range(100, 400)))
    split = list(blocks(series))
    assert [question for block in split for question in block] == series
    assert [len(block) for block in split] == [50] * 6
    assert [len(block) for block in blocks(series[:70])] == [35, 35]
    assert list(blocks([])) == []


@pytest.mark.processes
def test_processes_change_nothing() -> None:
    series = {"krr": along("n", list(range(1000, 1090)))}
    assert sweep(series, processes=1) == sweep(series, processes=2)


def test_a_curve_is_bounded_from_both_sides_by_its_answers() -> None:
    found = curve("krr(k=10, epsilon0=2)", x=range(1000, 1040), target_delta=1e-6)
    guarantee, blanket, lower_bound = (item.y for item in found.curves)
    assert (lower_bound <= guarantee).all()
    assert (guarantee <= blanket * (1 + 1e-12)).all()
    assert (guarantee[1:] < guarantee[:-1]).all()
