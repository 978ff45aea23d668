"""Expected errors: exact for small mechanisms, met by simulations, in no guarantee."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from designs import PARTS, STRATEGIES, design
from hypothesis import given
from hypothesis import strategies as st

from shuffledp import KRR, OUE
from shuffledp.deployment.study import (
    Attribute,
    Shuffle,
    Study,
    StudyDesign,
    estimate_reports,
    plan_study,
    randomize_frame,
)
from shuffledp.deployment.study.block import Block
from shuffledp.deployment.study.expectation import (
    expected_predictions,
    expected_shares,
    with_expected_answers,
)
from shuffledp.deployment.study.scoring import Predictions, sampled_predictions
from shuffledp.mechanisms import DiscreteLaplace, Joint
from shuffledp.planning.frequency_task import AnsweredFrequency

N = 50
REPETITIONS = 60


def study(*attributes, crosses=()):
    return Study(attributes, N, 1.0, 1e-6, crosses)


def reports(part):
    """All reports: their probabilities by input, and the estimates that each gives."""
    p, q = part.support_probabilities
    k = part.inputs
    if isinstance(part, KRR):
        patterns = np.eye(k)
        laws = np.where(patterns == 1, p, q)
    else:
        patterns = np.array(list(product((0, 1), repeat=k)))
        each = np.where(np.eye(k) == 1, p, q)[:, None, :]
        laws = np.where(patterns == 1, each, 1 - each).prod(axis=2)
    return laws, (patterns - q) / (p - q)


def variances(part, weights):
    """The variance of a weighted sum for each input, by enumeration."""
    laws, estimates = reports(part)
    sums = estimates @ weights
    return laws @ sums**2 - (laws @ sums) ** 2


@pytest.mark.parametrize("part", [KRR(3, 1.5), OUE(1.5, domain_size=3), KRR(3, 6.0)], ids=str)
@pytest.mark.parametrize("shares", [(0.5, 0.3, 0.2), (0.9, 0.1, 0.0), (0.0, 0.25, 0.75)])
@pytest.mark.parametrize("missing", ["category", "leave out"])
def test_shares_by_enumeration(part, shares, missing):
    asked = study(Attribute.yes_no("member", missing=missing, expected=shares))
    found = expected_predictions(asked, [Shuffle(("member",), part)]).attributes["member"]
    weights = np.eye(3)
    if missing == "leave out":
        answers = 1 - shares[2]
        answered = np.array([1.0, 1.0, 0.0])
        weights = [(weights[x] - shares[x] / answers * answered) / answers for x in range(2)]
    each = [float(np.array(shares) @ variances(part, own)) / N for own in weights]
    assert found.squared_error == pytest.approx(sum(each))
    assert found.max_error == pytest.approx(math.sqrt(max(each)))
    assert found.rms_error == pytest.approx(math.sqrt(sum(each) / len(each)))


@pytest.mark.parametrize("missing", ["error", "leave out"])
def test_means_by_enumeration(missing):
    shares = (0.1, 0.2, 0.3, 0.4) if missing == "error" else (0.1, 0.2, 0.2, 0.3, 0.2)
    asked = study(Attribute.number("age", 20, 80, missing=missing, expected=shares))
    part = KRR(5 + (missing != "error"), 2.0)
    found = expected_predictions(asked, [Shuffle(("age",), part)]).attributes["age"]
    levels, points, answers = np.arange(4) / 3, np.arange(5) / 4, sum(shares[:4])
    mean = levels @ shares[:4] / answers
    weights = points if missing == "error" else np.append((points - mean) / answers, 0.0)
    noise, total = variances(part, weights), 0.0
    for level, share in zip(levels, shares, strict=False):
        chances = np.maximum(0.0, 1 - np.abs(level - points) * 4)  # to be rounded to a point
        rounded = chances @ (weights[:5] - chances @ weights[:5]) ** 2
        total += share * (chances @ noise[:5] + rounded)
    total += (1 - answers) * noise[-1]
    assert found.squared_error == pytest.approx(total / N)
    assert found.max_error == found.rms_error == pytest.approx(math.sqrt(total / N))


def test_means_with_noise_and_numbers_that_are_alike():
    part = DiscreteLaplace(2.0, bound=4)
    asked = study(Attribute.number("age", 20, 80, expected=[0.25, 0.75]))
    error = expected_predictions(asked, [Shuffle(("age",), part)]).attributes["age"]
    assert error.squared_error == pytest.approx(part.noise_variance / 16 / N)  # nothing is rounded
    asked = study(Attribute.number("age", 20, 80))
    error = expected_predictions(asked, [Shuffle(("age",), part)]).attributes["age"]
    assert error.squared_error == pytest.approx((part.noise_variance + 1 / 6) / 16 / N, rel=1e-4)
    kept = Attribute.number("age", 20, 80, missing="leave out")
    exact = expected_predictions(study(kept), [Shuffle(("age",), KRR(3, 300.0))])
    assert exact.attributes["age"].squared_error == pytest.approx(1 / 6 / N, rel=1e-4)


def test_cross_tables_by_enumeration():
    first, second = (0.2, 0.5, 0.3), (0.9, 0.1)
    parts = (OUE(2.0, domain_size=3), KRR(2, 1.0))
    asked = study(
        Attribute.categories("room", list("abc"), expected=first),
        Attribute.yes_no("member", expected=second),
        crosses=[("member", "room")],
    )
    shuffle = Shuffle(("room", "member"), Joint(parts))
    found = expected_predictions(asked, [shuffle]).crosses["member", "room"]
    (laws, rooms), (laws2, members) = map(reports, parts)
    each = []
    for room, member in product(range(3), range(2)):
        scores = np.outer(rooms[:, room], members[:, member])
        total = 0.0
        for held, held2 in product(range(3), range(2)):
            law = np.outer(laws[held], laws2[held2])
            variance = (law * scores**2).sum() - (law * scores).sum() ** 2
            total += first[held] * second[held2] * variance
        each.append(total / N)
    assert found.squared_error == pytest.approx(sum(each))
    assert found.max_error == pytest.approx(math.sqrt(max(each)))


def test_without_an_expectation_all_values_are_alike():
    assert expected_shares(Attribute.yes_no("a", missing="category")).tolist() == [1 / 3] * 3
    assert expected_shares(Attribute.yes_no("a", missing="leave out")).tolist() == [0.5, 0.5, 0.0]
    same = [Attribute.yes_no("a", expected=shares) for shares in (None, (0.5, 0.5))]
    found = [expected_predictions(study(one), [Shuffle(("a",), KRR(2, 1.0))]) for one in same]
    assert found[0] == found[1]


SHARES = st.lists(st.integers(0, 9), min_size=4, max_size=4)


@given(SHARES.filter(lambda counts: sum(counts[:3])), st.floats(0.05, 8))
def test_nothing_is_expected_beyond_the_worst(counts, epsilon0):
    shares = [count / sum(counts) for count in counts]
    asked = study(
        Attribute.categories("room", list("abcd"), expected=shares),
        Attribute.categories("part", list("abc"), missing="leave out", expected=shares),
        Attribute.number("age", 0, 1, expected=shares),
        crosses=[("room", "part")],
    )
    names = tuple(attribute.name for attribute in asked.attributes)
    shuffle = Shuffle(names, Joint((KRR(4, epsilon0),) * 3))
    whole = with_expected_answers(asked, Block(asked).predictions(shuffle.mechanism))
    expected = expected_predictions(asked, [shuffle]).by_name
    for name, worst in whole.by_name.items():
        assert expected[name].rms_error <= worst.rms_error * (1 + 1e-9)
        assert expected[name].max_error <= worst.max_error * (1 + 1e-9)


@pytest.mark.parametrize("part", [KRR(5, 1.0), KRR(5, 7.0), OUE(0.5, domain_size=5)], ids=str)
def test_the_worst_share_among_answers_is_reached(part):
    """No shares have a larger error, times the share of answers; some have this one."""
    task, rng = AnsweredFrequency(N, 5), np.random.default_rng(6)
    worst, errors = task.worst_case(part), []
    some = [(np.full(4, 0.25), 1.0), (np.array([1.0, 0, 0, 0]), 1.0), (np.full(4, 0.25), 1e-6)]
    for r in np.linspace(0, 1, 201):
        some.append((np.array([r, *[(1 - r) / 3] * 3]), 1.0))
    for _ in range(200):
        some.append((rng.dirichlet(np.full(4, 0.4)), rng.uniform(0.1, 1)))
    for shares, answers in some:
        asked = Attribute.categories(
            "a", range(4), missing="leave out", expected=[*(shares * answers), 1 - answers]
        )
        found = expected_predictions(study(asked), [Shuffle(("a",), part)]).attributes["a"]
        errors.append((found.rms_error * answers, found.max_error * answers))
    rms, largest = np.max(errors, axis=0)
    assert 0.9999 * worst.rms_error <= rms <= worst.rms_error * (1 + 1e-9)
    assert 0.9999 * worst.max_error <= largest <= worst.max_error * (1 + 1e-9)


def factorial():
    """2,000 rows in which region, member and score are exactly independent."""
    regions = ["north"] * 4 + ["south"] * 3 + ["west"] + [None] * 2
    members = [True] * 3 + [False] * 7
    scores = [1] + [2] * 2 + [3] * 3 + [4] * 3 + [5]
    ages = [20, 30, 30, 40, 40, 40, 50, 80, 80, np.nan]
    rows = list(product(regions, members, scores, range(2)))
    frame = pd.DataFrame(rows, columns=["region", "member", "score", "copy"])
    return frame.assign(age=np.random.default_rng(2).permutation(ages * 200))


EXPECTED = {
    "region": (0.4, 0.3, 0.1, 0.2),
    "member": (0.7, 0.3),
    "score": (0.1, 0.2, 0.3, 0.3, 0.1),
    "age": (0.1, 0.2, 0.3, 0.1, 0.0, 0.0, 0.2, 0.1),
}


@pytest.mark.heavy
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_expected_errors_are_met(strategy, monkeypatch):
    monkeypatch.setattr(
        "shuffledp.deployment.study.study_randomization._certify", lambda design, n: (None, ())
    )
    made, rng, frame = design(strategy), np.random.default_rng(11), factorial()
    asked = replace(
        made.study,
        attributes=tuple(replace(a, expected=EXPECTED[a.name]) for a in made.study.attributes),
    )
    predicted = expected_predictions(asked, made.shuffles).by_name
    truth = {name: np.array(EXPECTED[name]) for name in PARTS}
    truth |= {"region": truth["region"][:3] / 0.8, "age": np.array([frame["age"].mean()])}
    squares: dict[str, list[float]] = {name: [] for name in predicted}
    for _ in range(REPETITIONS):
        estimate = estimate_reports(randomize_frame(made, frame, rng))
        for name in PARTS:
            own = estimate[name]
            found = (own.mean if name == "age" else own.shares).values - truth[name]
            scale = 60 if name == "age" else 1
            squares[name].append(float(np.square(found / scale).sum()))
        for names, table in estimate.crosses.items():
            cells = np.ones(1)
            for name in names:
                cells = np.outer(cells, EXPECTED[name]).ravel()
            squares[" x ".join(names)].append(float(np.square(table.values - cells).sum()))
    for name, found in squares.items():
        deviation = np.std(found, ddof=1) / math.sqrt(REPETITIONS)
        assert abs(np.mean(found) - predicted[name].squared_error) < 4 * deviation, name


def test_an_expectation_changes_predictions_only():
    plain = Attribute.yes_no("member", missing="leave out")
    told = replace(plain, expected=(0.72, 0.08, 0.2))
    first, second = (plan_study(Study((one,), 500, 1.0, 1e-6)).best for one in (plain, told))
    assert first.shuffles == second.shuffles
    assert first.epsilon == second.epsilon
    assert second.predictions.score == pytest.approx(first.predictions.score / 0.8)
    assert first.expected.score < second.expected.score < second.predictions.score
    design = StudyDesign.of(Study((told,), 500, 1.0, 1e-6), second)
    assert design.errors["member"]["expected_rms_error"] == second.expected.score
    assert StudyDesign.from_dict(design.to_dict()) == design
    assert "expected" not in Study((plain,), 500, 1.0, 1e-6).to_dict()["attributes"][0]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"expected": [0.5, 0.3]}, "each of the 3 values, from 'no' to '(missing)', got 2 shares"),
        ({"expected": [0.5, 0.7, -0.2]}, "expected[2] must be at least 0, got -0.2"),
        ({"expected": [0.5, math.nan, 0.5]}, "expected[1] must be finite, got nan"),
        ({"expected": [0.5, 0.2, 0.2]}, "expected must sum to 1, got shares that sum to 0.9"),
        ({"expected": [0.5, True, 0.5]}, "expected[1] must be a real number, got True"),
        ({"expected": "0.5"}, "expected must be a list of shares, got '0.5'"),
        ({"expected": {"no": 1.0}}, "expected must be a list of shares"),
        ({"expected": 0.5}, "expected must be a list of shares, got 0.5"),
        ({"expected": [0.0, 0.0, 1.0]}, "the estimate is about people who answer"),
        (
            {"kind": "number", "low": 0, "high": 1, "expected": [0.5, 0.5]},
            "2 to 65536 equidistant values from low to high and one of missing answers, got 2",
        ),
    ],
)
def test_bad_expectations(entry, message):
    attribute = {"name": "member", "kind": "yes/no", "missing": "leave out", **entry}
    content = {"n": 100, "epsilon": 1.0, "delta": 1e-6, "attributes": [attribute]}
    with pytest.raises(ValueError, match="attribute 'member': expected") as caught:
        Study.from_dict(content)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "attribute",
    [
        Attribute.yes_no("a", expected=[0.25, 0.75]),
        Attribute.categories(
            "a", list("xyz"), missing="category", expected=np.array([0.1, 0.2, 0.3, 0.4])
        ),
        Attribute.number("a", 0, 9, missing="leave out", expected=[0.5, 0.25, 0.25]),
    ],
)
def test_files_keep_the_expectation(attribute):
    asked = study(attribute)
    assert Study.from_dict(asked.to_dict()) == asked
    assert isinstance(asked["a"].expected, tuple)


def test_frames_are_never_asked_what_to_expect():
    frame = pd.DataFrame({"a": [True, False] * 50})
    assert Study.from_frame(frame, epsilon=1.0, delta=1e-6)["a"].expected is None


def test_expected_and_worst_of_a_sample():
    """Who is asked counts for as much as answers differ: not at all where all are alike."""
    asked = study(Attribute.yes_no("a", expected=(1.0, 0.0)), Attribute.yes_no("b"))
    shuffles = [Shuffle((name,), KRR(2, 300.0), 0.5) for name in "ab"]
    found = expected_predictions(asked, shuffles)
    assert found.attributes["a"].rms_error < 1e-9
    assert found.attributes["b"].rms_error == pytest.approx(math.sqrt(0.25 / N))
    own = replace(asked, attributes=asked.attributes[1:])
    worst = sampled_predictions(own, Predictions.of(own, [found.attributes["a"]]), 0.5)
    assert worst.score == pytest.approx(found.attributes["b"].rms_error)
