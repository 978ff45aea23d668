"""Predicted errors are those that simulated collections show, for every strategy."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from designs import PARTS, STRATEGIES, design, rows, study
from hypothesis import given
from hypothesis import strategies as st

from shuffledp import KRR, OUE
from shuffledp.deployment.study import estimate_reports, randomize_frame
from shuffledp.deployment.study.block import Block
from shuffledp.deployment.study.scoring import Predictions, cross_prediction, sampled_predictions
from shuffledp.planning.frequency_task import Frequency

FRAME = rows()
REPETITIONS = 60


@pytest.fixture(autouse=True)
def guarantees_are_not_the_point(monkeypatch):
    """Simulations need no certificate in every repetition."""
    monkeypatch.setattr(
        "shuffledp.deployment.study.study_randomization._certify", lambda design, n: (None, ())
    )


def predictions(made):
    asked, parts = made.study, []
    for one in made.shuffles:
        own = replace(
            asked,
            attributes=tuple(asked[name] for name in one.names),
            crosses=made.crosses_in(one),
        )
        whole = Block(own).predictions(one.mechanism)
        parts.append(sampled_predictions(own, whole, one.share))
    return Predictions.together(asked, parts)


@pytest.mark.heavy
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_planned_errors_are_met(strategy):
    """Shares of all users: the prediction is exact but for who is asked; else it is a bound."""
    made, rng = design(strategy), np.random.default_rng(8)
    predicted = predictions(made)
    squares: dict[object, list[float]] = {}
    truths = {
        name: FRAME[name].astype(str).where(FRAME[name].notna(), "(missing)") for name in PARTS
    }
    truths["member"] = FRAME["member"].map({True: "yes", False: "no"})
    together = {
        names: pd.Series(list(zip(*(truths[name] for name in names), strict=True)))
        for names in made.study.crosses
    }
    for _ in range(REPETITIONS):
        estimate = estimate_reports(randomize_frame(made, FRAME, rng))
        for name in ("region", "member", "score"):
            known = truths[name][truths[name].isin(estimate[name].labels)]
            wanted = known.value_counts(normalize=True).reindex(estimate[name].labels)
            found = estimate[name].shares.values
            squares.setdefault(name, []).append(float(np.square(found - wanted).sum()))
        mean = estimate["age"].mean
        apart = (mean.values[0] - FRAME["age"].mean()) / 60
        squares.setdefault("age", []).append(float(apart**2))
        for pair, table in estimate.crosses.items():
            counts = together[pair].value_counts(normalize=True).to_dict()
            wanted = [counts.get(cell, 0.0) for cell in estimate.cells(*pair)]
            squares.setdefault(pair, []).append(float(np.square(table.values - wanted).sum()))
    for name, found in squares.items():
        error = predicted.crosses[name] if isinstance(name, tuple) else predicted.attributes[name]
        mean, deviation = np.mean(found), np.std(found, ddof=1) / math.sqrt(REPETITIONS)
        if name in ("age", "region"):  # among nine, or eight, in ten: a bound, and it grows
            answers = FRAME[name].notna().mean()
            assert mean - 4 * deviation < error.squared_error / answers**2
        elif "per user" in strategy:
            assert mean - 4 * deviation < error.squared_error < 1.5 * mean
        else:
            assert abs(mean - error.squared_error) < 4 * deviation


def subgroups(estimate, made):
    """Shares within groups, and the truth about them."""
    shown = FRAME.assign(member=FRAME["member"].map({True: "yes", False: "no"}))
    found = []
    for names in made.study.crosses:
        if names == ("region", "member"):
            own = shown[shown["region"] == "south"]
            found.append((estimate.among("member", region="south"), own, "member", ["no", "yes"]))
            own = shown[(shown["member"] == "no") & shown["region"].notna()]
            labels = ["north", "south", "west"]
            found.append((estimate.among("region", member="no"), own, "region", labels))
        if names == ("region", "member", "score"):
            own = shown[(shown["region"] == "north") & (shown["score"] == 3)]
            answer = estimate.among("member", region="north", score="3")
            found.append((answer, own, "member", ["no", "yes"]))
        if names == ("member", "score"):
            own = shown[shown["score"] == 3]
            found.append((estimate.among("member", score="3"), own, "member", ["no", "yes"]))
    return [
        (answer, own[name].value_counts(normalize=True).reindex(labels).to_numpy())
        for answer, own, name, labels in found
    ]


@pytest.mark.heavy
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_standard_errors_are_right(strategy):
    """Errors in units of their standard error, of ratios too, have mean 0 and variance 1."""
    made, rng = design(strategy), np.random.default_rng(21)
    regions = FRAME["region"].value_counts(normalize=True)[["north", "south", "west"]]
    scores = []
    for _ in range(REPETITIONS):
        estimate = estimate_reports(randomize_frame(made, FRAME, rng))
        found = [
            (estimate["region"].shares, regions.to_numpy()),
            (estimate["region"].missing, [FRAME["region"].isna().mean()]),
            (estimate["age"].mean, [FRAME["age"].mean()]),
            (estimate["age"].missing, [FRAME["age"].isna().mean()]),
            (estimate["score"].mean, [FRAME["score"].mean()]),
        ]
        if "member" in {name for names in made.study.crosses for name in names}:
            found += subgroups(estimate, made)
        scores.append(
            np.concatenate([(one.values - truth) / one.standard_errors for one, truth in found])
        )
    scores = np.array(scores)
    assert np.abs(scores.mean(axis=0)).max() < 4 / math.sqrt(REPETITIONS)
    assert np.abs(scores.std(axis=0) - 1).max() < 4 / math.sqrt(2 * REPETITIONS)


@given(st.floats(0.1, 8), st.floats(0.1, 8), st.integers(2, 5), st.integers(2, 6))
def test_cross_prediction_is_the_sum_over_cells(epsilon0, other, size, size2):
    first, second = KRR(size, epsilon0), OUE(other, domain_size=size2)
    predicted = cross_prediction(50, (Frequency(7, size), first), (Frequency(9, size2), second))
    moments = []
    for part, count in ((first, size), (second, size2)):
        p, q = part.support_probabilities
        yes, no = (1 - q) / (p - q), -q / (p - q)
        moments.append((p * yes**2 + (1 - p) * no**2, q * yes**2 + (1 - q) * no**2, count))
    (own, rest, k), (own2, rest2, k2) = moments
    cells = [
        (own if i == 0 else rest) * (own2 if j == 0 else rest2) - (i == j == 0)
        for i in range(k)
        for j in range(k2)
    ]
    assert predicted.squared_error == pytest.approx(sum(cells) / 50, rel=1e-6)
    assert predicted.max_error == pytest.approx(math.sqrt(max(cells) / 50), rel=1e-6)


def test_scores_weigh_attributes():
    asked = study(crosses=[("region", "member")])
    task = Frequency(10, 2)
    errors = [task.worst_case(KRR(2, level)) for level in (1.0, 2.0, 3.0, 4.0)]
    cross = {("region", "member"): task.worst_case(KRR(2, 5.0))}
    squares = [error.rms_error**2 for error in (*errors, *cross.values())]
    assert Predictions.of(asked, errors, cross).score == pytest.approx(math.sqrt(sum(squares) / 5))
