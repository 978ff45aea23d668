"""Intervals, quantiles and orders hold as often as they say, in simulated collections."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from designs import design, rows

from shuffledp.deployment.study import (
    Attribute,
    Shuffle,
    Study,
    StudyDesign,
    estimate_reports,
    randomize_frame,
)
from shuffledp.mechanisms import parse

pytestmark = pytest.mark.heavy

REPETITIONS = 300


@pytest.fixture(autouse=True)
def guarantees_are_not_the_point(monkeypatch):
    """Simulations need no certificate in every repetition."""
    monkeypatch.setattr(
        "shuffledp.deployment.study.study_randomization._certify", lambda design, n: (None, ())
    )


def simulated(values, size, mechanism, missing="error", repetitions=REPETITIONS, seed=6):
    """Yield estimates about one ordered attribute whose answers are given."""
    attribute = Attribute.categories("x", range(size), ordered=True, missing=missing)
    study = Study((attribute,), len(values), 20.0, 1e-6)
    made = StudyDesign(study, "one", (Shuffle(("x",), parse(mechanism)),), 20.0, {})
    frame, rng = pd.DataFrame({"x": values}), np.random.default_rng(seed)
    for _ in range(repetitions):
        yield estimate_reports(randomize_frame(made, frame, rng))["x"]


def at_most(count, share):
    """Whether so many of all repetitions are no more than a share, up to chance."""
    spread = math.sqrt(share * (1 - share) / REPETITIONS)
    return count / REPETITIONS < share + 4 * spread


@pytest.mark.parametrize("share", [0.499, 0.501, 0.3], ids=["just below", "just above", "far"])
@pytest.mark.parametrize("missing", ["error", "leave out"])
def test_quantiles_stay_in_their_intervals(share, missing):
    """Also if the share up to many categories in a row nearly is the probability."""
    n, size = 2000, 20
    values = np.where(np.arange(n) < share * n, 0, size - 1)
    truth = 0 if share >= 0.5 else size - 1
    mechanism = f"krr(k={size + (missing != 'error')}, epsilon0=3)"
    above = below = 0
    for own in simulated(values, size, mechanism, missing):
        found = own.quantile(0.5)
        assert int(found.lower) <= int(found.label) <= int(found.upper)
        above += int(found.lower) > truth
        below += int(found.upper) < truth
    assert at_most(above, 0.025)
    assert at_most(below, 0.025)


@pytest.mark.parametrize("missing", ["error", "leave out"])
def test_simultaneous_intervals_cover_all_values(missing):
    n, size = 5000, 20
    rng = np.random.default_rng(3)
    values = rng.choice(size, n, p=rng.dirichlet(np.ones(size)))
    truth = np.bincount(values, minlength=size) / n
    mechanism = f"krr(k={size + (missing != 'error')}, epsilon0=3)"
    together = alone = 0
    for own in simulated(values, size, mechanism, missing):
        shares = own.shares
        together += not shares.confidence_interval(simultaneous=True).covers(truth).all()
        alone += not shares.confidence_interval().covers(truth).all()
    assert at_most(together, 0.05)
    assert alone / REPETITIONS > 0.3


@pytest.mark.parametrize("gap", [0, 1, 12])
@pytest.mark.parametrize("size", [2, 4, 12])
def test_leads_of_the_wrong_value_are_no_more_frequent_than_their_p_values(size, gap):
    """All values but one have equal shares; the one has a little more, so it should be first."""
    values = np.repeat(np.arange(size), 600 // size)
    values = np.concatenate([values, np.zeros(gap, dtype=int)])
    said, wrong = [], []
    for own in simulated(values, size, f"krr(k={size}, epsilon0=1)"):
        first = own.top(1)[0]
        said.append(first.p_value)
        wrong.append(int(first.label) != 0)
    for level in (0.02, 0.05, 0.2, 0.5):
        leads = np.array(said) <= level
        assert at_most((leads & np.array(wrong)).sum(), level)
        if size == 2:  # whichever of two equal values leads
            assert gap > 1 or at_most(leads.sum(), level)


def test_what_is_said_of_two_values_is_not_below_how_often_their_order_is_wrong():
    rng, n = np.random.default_rng(9), 500
    wrong, said = [], []
    for seed in range(REPETITIONS):
        share = rng.uniform(0.47, 0.53)
        values = np.where(np.arange(n) < round(share * n), 0, 1)
        (own,) = simulated(values, 2, "krr(k=2, epsilon0=1)", repetitions=1, seed=seed)
        first, _ = own.top(2)
        truth = np.bincount(values, minlength=2)
        wrong.append(truth[int(first.label)] < truth[1 - int(first.label)])
        said.append(first.p_value)
    spread = np.sqrt(np.sum(np.array(said) * (1 - np.array(said))))
    assert np.sum(wrong) <= np.sum(said) + 3 * spread
    assert np.sum(wrong) > 10


@pytest.mark.parametrize(
    "strategy", ["joint report", "joint and separate shuffles", "one public block per user"]
)
def test_cells_of_cross_tables_have_right_error_bars(strategy):
    made, frame, rng = design(strategy), rows(), np.random.default_rng(12)
    frame["region"] = frame["region"].where(frame["region"].notna(), "(missing)")
    frame["member"] = frame["member"].map({True: "yes", False: "no"})
    frame["score"] = frame["score"].astype(str)
    asked = rows()
    scores: dict[tuple[str, ...], list[np.ndarray]] = {}
    for _ in range(80):
        estimate = estimate_reports(randomize_frame(made, asked, rng))
        for names, table in estimate.crosses.items():
            counts = frame.groupby(list(names)).size() / len(frame)
            truth = [float(counts.get(cell, 0.0)) for cell in estimate.cells(*names)]
            scores.setdefault(names, []).append((table.values - truth) / table.standard_errors)
    for found in scores.values():
        squares = np.square(np.array(found)).mean()  # over cells and repetitions
        assert abs(squares - 1) < 0.15
        assert abs(np.array(found).mean()) < 0.1


@pytest.mark.parametrize(
    ("mechanism", "missing"),
    [
        ("krr(k=3, epsilon0=6)", "error"),
        ("krr(k=4, epsilon0=6)", "leave out"),
        ("discrete_laplace(epsilon0=20, bound=4)", "error"),
        ("krr(k=3, epsilon0=1)", "error"),
    ],
)
@pytest.mark.parametrize("halves", [True, False], ids=["between points", "uniform"])
def test_errors_of_means_include_rounding(mechanism, missing, halves):
    """Between two points errors are right, elsewhere up to a half too large."""
    n, rng = 1000, np.random.default_rng(5)
    attribute = Attribute.number("x", 20, 80, missing=missing)
    shuffle = Shuffle(("x",), parse(mechanism))
    made = StudyDesign(Study((attribute,), n, 20.0, 1e-6), "one", (shuffle,), 20.0, {})
    step = 60 / (made.encodings(shuffle)[0].points - 1)
    values = np.full(n, 20 + step / 2) if halves else rng.uniform(20, 80, n)
    if missing != "error":
        values[rng.random(n) < 0.2] = np.nan
    frame, scores = pd.DataFrame({"x": values}), []
    for _ in range(REPETITIONS):
        mean = estimate_reports(randomize_frame(made, frame, rng))["x"].mean
        scores.append((mean.values[0] - np.nanmean(values)) / mean.standard_errors[0])
    spread = 4 / math.sqrt(2 * REPETITIONS)
    assert (1 if halves else 2 / 3) - spread < np.std(scores) < 1 + spread
    assert abs(np.mean(scores)) < 4 / math.sqrt(REPETITIONS)
