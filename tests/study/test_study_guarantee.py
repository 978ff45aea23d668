"""What is certified holds for everything that is released, and this is what is released."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from enumerated import assignments, delta, released

from shuffledp.deployment.study import Attribute, Shuffle, Study, StudyDesign, randomize_frame
from shuffledp.deployment.study.study_option import certified
from shuffledp.mechanisms import parse

NAMES, SIZES = ("a", "b"), (2, 3)
A, B = "krr(k=2, epsilon0=2.0)", "krr(k=3, epsilon0=1.0)"
SHUFFLES = {
    "separate shuffles": [(("a",), A, 1.0), (("b",), B, 1.0)],
    "joint report": [(NAMES, f"joint({A}, {B})", 1.0)],
    "joint report, turned round": [(("b", "a"), f"joint({B}, {A})", 1.0)],
    "one attribute per user": [(NAMES, f"one_of(0.3*{A}, 0.7*{B})", 1.0)],
    "one public attribute per user": [(("a",), A, 0.4), (("b",), B, 0.6)],
}


def shuffles(strategy):
    return tuple(Shuffle(names, parse(text), share) for names, text, share in SHUFFLES[strategy])


@pytest.mark.heavy(keep=3)
@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("strategy", SHUFFLES)
def test_guarantees_hold_for_all_neighbours(strategy, n):
    """Exactly: over all datasets and all ways to share people out."""
    made = shuffles(strategy)
    for target in (1e-5, 0.01, 0.1):
        found = certified(made, n, target)
        assert delta(made, NAMES, SIZES, n, found.epsilon) <= target * (1 + 1e-9)
        lower = found.lower_bound * (1 - 1e-9)
        assert delta(made, NAMES, SIZES, n, lower) >= target * (1 - 1e-6)


@pytest.mark.heavy
@pytest.mark.parametrize("strategy", SHUFFLES)
def test_what_is_released_has_the_law_that_is_certified(strategy, monkeypatch):
    """Frequencies of all outcomes together, those of different shuffles included."""
    monkeypatch.setattr(
        "shuffledp.deployment.study.study_randomization._certify", lambda design, n: (None, ())
    )
    people = [(1, 2), (0, 0), (1, 1)]
    study = Study(
        (Attribute.yes_no("a"), Attribute.categories("b", range(3))), len(people), 20.0, 1e-6
    )
    made = StudyDesign(study, strategy, shuffles(strategy), 20.0, {})
    law, ways = Counter(), list(assignments(made.shuffles, len(people)))
    for groups in ways:
        for seen, p in released(made.shuffles, NAMES, people, groups).items():
            law[seen] += p / len(ways)
    frame, rng = pd.DataFrame(people, columns=NAMES), np.random.default_rng(4)
    repetitions = 4000
    found = Counter(
        tuple(
            tuple(sorted(map(entries, reports)))
            for reports in randomize_frame(made, frame, rng).reports
        )
        for _ in range(repetitions)
    )
    assert set(found) <= set(law)
    expected = np.array(list(law.values())) * repetitions
    counts = np.array([found[seen] for seen in law])
    often = expected >= 5
    expected = np.append(expected[often], expected[~often].sum() + 1e-9)
    counts = np.append(counts[often], counts[~often].sum())
    score = float(((counts - expected) ** 2 / expected).sum())
    free = counts.size - 1
    assert score < free + 5 * (2 * free) ** 0.5 + 10


def entries(report):
    """A report as a tuple: its one value, all values, or which attribute it is about and what."""
    if report.dtype.names is None:
        return (int(report),)
    if "part" in report.dtype.names:
        return int(report["part"]), int(report["report"].tobytes()[0])
    return tuple(int(report[name]) for name in report.dtype.names)
