"""A plan that was interrupted continues, with the same answer."""

from __future__ import annotations

from dataclasses import make_dataclass, replace
from pathlib import Path

import pytest

from shuffledp import KRR
from shuffledp.accounting.crowd import Crowd
from shuffledp.comparison import Kept
from shuffledp.planning import LeftOut, error_chart, kept, plan
from shuffledp.planning.frequency import AnsweredFrequency, Frequency
from shuffledp.planning.goal import Goal, LeastEpsilon, LeastError
from shuffledp.planning.kept import KeptErrors, KeptOptions
from shuffledp.planning.mean import Mean
from shuffledp.planning.search import Found

GOAL = LeastError(Frequency(n=1000, domain_size=3), 1e-6, "multiset", Crowd(1000), 1.0)


@pytest.fixture
def judged(monkeypatch):
    """The mechanisms that are searched; the computer is interrupted when it has searched two."""
    judged, judge = [], Goal.judge

    def interrupted(goal, named):
        if len(judged) == 2:
            judged.append("interrupted")
            raise KeyboardInterrupt
        judged.append(named[0])
        return judge(goal, named)

    monkeypatch.setattr(Goal, "judge", interrupted)
    return judged


@pytest.fixture
def quick(monkeypatch):
    """A search that takes the first choice: what is kept does not depend on what was found."""

    def first(goal, families, analysis):
        found = Found(families[0](0.1 + 0.2), goal.target, type(analysis).__name__)
        return found if families[0](1.0).name != "olh" else None

    for kind in (LeastError, LeastEpsilon):
        monkeypatch.setattr(kind, "search", first)


QUESTIONS = [
    {"n": 10, "target_delta": 1e-6, "target_epsilon": 300.0, "domain_size": 3},
    {"n": 500, "target_delta": 1e-6, "target_error": 0.05, "domain_size": 4},
    {"n": 900, "target_delta": 1e-6, "target_epsilon": 1.0, "domain_size": 3, "view": "sum"},
    {"n": 900, "target_delta": 1e-6, "target_epsilon": 1.0, "domain_size": 2}
    | {"distribution": (0.75, 0.25)},
]


@pytest.mark.parametrize("question", QUESTIONS, ids=str)
def test_a_plan_continues(tmp_path, judged, quick, question):
    check_continuing(tmp_path, judged, question)


@pytest.mark.heavy
@pytest.mark.parametrize("question", QUESTIONS, ids=str)
def test_a_real_plan_continues(tmp_path, judged, question):
    check_continuing(tmp_path, judged, question)


def check_continuing(tmp_path, judged, question):
    path, done = tmp_path / "kept", []
    with pytest.raises(KeyboardInterrupt):
        plan(**question, kept=Kept(path))
    first = judged[:2]
    found = plan(**question, kept=Kept(path), on_done=lambda *own: done.append(own))
    mechanisms = list(found.task.mechanisms())
    assert (first, judged[3:]) == (mechanisms[:2], mechanisms[2:])
    assert done == [(i, len(mechanisms)) for i in range(2, len(mechanisms) + 1)]
    assert found == plan(**question)
    assert plan(**question, kept=Kept(path)) == found
    assert judged.count("krr") == 2
    Kept(path).clear()
    assert not path.exists()


@pytest.mark.heavy
def test_a_mean_continues(tmp_path):
    question = {"n": 300, "target_delta": 1e-6, "target_epsilon": 2.0, "task": "mean"}
    found = plan(**question, kept=Kept(tmp_path / "kept"))
    assert plan(**question, kept=Kept(tmp_path / "kept")) == found == plan(**question)


def test_a_chart_continues(tmp_path, quick):
    task, epsilons, path, done = GOAL.task, (0.5, 1.0, 2.0), tmp_path / "kept", []

    def interrupted(*state):
        done.append(state)
        if len(done) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        error_chart(task, epsilons, 1e-6, kept=Kept(path), on_done=interrupted)
    found = error_chart(task, epsilons, 1e-6, kept=Kept(path), on_done=interrupted)
    assert done == [(1, 3), (2, 3), (2, 3), (3, 3)]
    assert found == error_chart(task, epsilons, 1e-6)


def test_points_without_an_answer_are_known_too(tmp_path):
    task, kept = Frequency(n=9, domain_size=2), Kept(tmp_path / "kept")
    found = error_chart(task, (0.0,), 0.0, kept=kept)
    done = []
    again = Kept(tmp_path / "kept")
    assert error_chart(task, (0.0,), 0.0, kept=again, on_done=lambda *x: done.append(x)) == found
    assert done == [(1, 1)]


def option(goal=GOAL):
    return goal.option(Found(KRR(3, 1.5), 1.0, "guarantee"), Found(KRR(3, 1.0), 1.0, "blanket"))


OTHERS = {
    "n": replace(GOAL, task=Frequency(n=1001, domain_size=3)),
    "domain": replace(GOAL, task=Frequency(n=1000, domain_size=4)),
    "distribution": replace(GOAL, task=Frequency(1000, 3, (0.5, 0.25, 0.25))),
    "task": replace(GOAL, task=Mean(n=1000, domain_size=3)),
    "kind of task": replace(GOAL, task=AnsweredFrequency(n=1000, domain_size=3)),
    "delta": replace(GOAL, delta=1.0000000000000002e-6),
    "view": replace(GOAL, view="sum"),
    "corrupted": replace(GOAL, crowd=Crowd(1000, corrupted=1)),
    "corrupted adaptively": replace(GOAL, crowd=Crowd(1000, corrupted_adaptively=1)),
    "target": replace(GOAL, target=1.0000000000000002),
    "kind of goal": LeastEpsilon(GOAL.task, GOAL.delta, GOAL.view, GOAL.crowd, GOAL.target),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_other_questions_have_other_answers(tmp_path, other):
    path = tmp_path / "kept"
    KeptOptions(Kept(path), GOAL).add(("krr", []), option())
    KeptErrors(Kept(path)).add(GOAL, {"krr": 0.1})
    assert KeptOptions(Kept(path), GOAL).get(("krr", [])) == option()
    assert KeptErrors(Kept(path)).get(GOAL) == {"krr": 0.1}
    assert KeptOptions(Kept(path), other).get(("krr", [])) is None
    assert KeptErrors(Kept(path)).get(other) is None


def test_every_field_of_a_goal_decides():
    """What is added to a goal or a task is part of the key without further ado."""

    kind = make_dataclass("More", [("more", int)], bases=(LeastEpsilon,), frozen=True)
    kind.__module__ = GOAL.__module__
    goals = (kind(GOAL.task, 1e-6, "multiset", GOAL.crowd, 1.0, more) for more in (1, 2))
    keys = {kept._identity(goal, "krr") for goal in goals}
    assert len(keys) == 2
    assert None not in keys


def test_other_mechanisms_and_versions(tmp_path, monkeypatch):
    path, out = tmp_path / "kept", LeftOut("olh", "why")
    KeptOptions(Kept(path), GOAL).add(("olh", []), out)
    assert KeptOptions(Kept(path), GOAL).get(("olh", [])) == out
    assert KeptOptions(Kept(path), GOAL).get(("krr", [])) is None
    monkeypatch.setattr(kept, "__version__", "0.0.0")
    assert KeptOptions(Kept(path), GOAL).get(("olh", [])) is None


class Foreign(Frequency):
    """A task of somebody else, who may change it."""


def test_what_others_made_is_not_kept(tmp_path):
    path = tmp_path / "kept"
    goal = replace(GOAL, task=Foreign(n=1000, domain_size=3))
    KeptOptions(Kept(path), goal).add(("krr", []), option(goal))
    KeptErrors(Kept(path)).add(goal, {"krr": 0.1})
    assert not path.exists()


def test_every_mechanism_of_a_plan_is_read_as_it_was(tmp_path):
    path = tmp_path / "kept"
    for task in (Frequency(n=50, domain_size=40), Mean(n=50, domain_size=None)):
        goal = replace(GOAL, task=task)
        for name, families in task.mechanisms().items():
            found = [goal.option(Found(own(0.1 + 0.2), 0.3, "x"), None) for own in families]
            for one in found:
                KeptOptions(Kept(path), goal).add((name, families), one)
                assert KeptOptions(Kept(path), goal).get((name, families)) == one


def test_a_damaged_file_says_nothing(tmp_path):
    """Whatever happened to one character, the answer is the one that was kept, or none."""
    path = tmp_path / "kept"
    KeptOptions(Kept(path), GOAL).add(("krr", []), option())
    whole = path.read_text()
    for i, character in enumerate(whole):
        for other in ("", "9", "\n", "\0"):
            path.write_text(whole[:i] + other + whole[i + 1 :])
            found = KeptOptions(Kept(path), GOAL).get(("krr", []))
            assert found is None or (found == option() and i == 0) or other == character
    for content in (b"", b"\xff\xfe\0" * 99, b"[" * 10**5, whole.encode()[:-1]):
        path.write_bytes(content)
        assert KeptOptions(Kept(path), GOAL).get(("krr", [])) is None


@pytest.mark.parametrize("bad", ["kept", Path("kept"), True])
def test_what_is_no_file_of_answers(bad):
    with pytest.raises(TypeError, match="kept must be a Kept"):
        plan(**QUESTIONS[0], kept=bad)
    with pytest.raises(TypeError, match="kept must be a Kept"):
        error_chart(GOAL.task, (1.0,), 1e-6, kept=bad)
