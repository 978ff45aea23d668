"""Something else than what a function takes: an error that names the argument and what it takes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import shuffledp
from shuffledp import Aggregator, ShuffleAccountant
from shuffledp.deployment.files import estimate_files
from shuffledp.deployment.study import (
    Attribute,
    Study,
    StudyDesign,
    estimate_reports,
    estimate_study_files,
    plan_study,
    randomize_file,
    randomize_frame,
)

KRR = "krr(k=4, epsilon0=2)"
STUDY = Study((Attribute.yes_no("member"),), 100, 1.0, 1e-6)
TARGET = {"target_epsilon": 0.5, "target_delta": 1e-6}
REPORTS = np.zeros(3, dtype=np.uint8)

#: What may be handed to a function by mistake.
OBJECTS = {
    "plan": shuffledp.plan(n=100, domain_size=2, **TARGET),
    "report": ShuffleAccountant(KRR, 10).epsilon_report(0.1),
    "mechanism": shuffledp.parse(KRR),
    "text": KRR,
    "numbers": [1, 2],
    "number": 3,
    "None": None,
}

DOORS: dict[str, Callable[[object], object]] = {
    "study must be of the type Study": plan_study,
    "design must be of the type StudyDesign": lambda one: randomize_frame(one, one),
    "design must be of the type StudyDesign,": lambda one: randomize_file(one, "a.csv", "b.csv"),
    "collected must be of the type StudyReports": estimate_reports,
    "option must be of the type StudyOption": lambda one: StudyDesign.of(STUDY, one),
    "study must be of the type Study,": lambda one: StudyDesign(one, "joint report", (), 1.0, {}),
    "shuffles must be several of the type Shuffle": lambda one: StudyDesign(
        STUDY, "joint report", one, 1.0, {}
    ),
    "attributes must be several of the type Attribute": lambda one: Study(one, 100, 1.0, 1e-6),
    "paths must be several of the type Path": estimate_files,
    "paths must be several of the type Path,": estimate_study_files,
    "aggregators must be several of the type Aggregator": shuffledp.estimate_tiers,
    "groups must be ": lambda one: shuffledp.estimate_pooled(one, REPORTS),
    "accountant must be of the type ShuffleAccountant": lambda one: shuffledp.max_rounds(
        one, **TARGET
    ),
    "messages must be": lambda one: shuffledp.collection.decode_json(KRR, one),
    "messages must be ": lambda one: shuffledp.collection.decode_bytes(KRR, one),
}


@pytest.mark.parametrize("given", OBJECTS)
@pytest.mark.parametrize("message", DOORS)
def test_wrong_objects(message: str, given: str) -> None:
    with pytest.raises(TypeError, match=message) as caught:
        DOORS[message](OBJECTS[given])
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("given", [["frequency"], {}, None, 3])
def test_names_of_other_types(given: object) -> None:
    with pytest.raises(ValueError, match="task must be one of frequency, mean, got"):
        shuffledp.plan(n=100, domain_size=2, task=given, **TARGET)
    with pytest.raises(ValueError, match="against must be among users, epsilon0,"):
        shuffledp.curve(KRR, given, x=[10], target_delta=1e-6)


def test_places_of_a_curve_are_several() -> None:
    with pytest.raises(TypeError, match="x must be several numbers, got 10"):
        shuffledp.curve(KRR, x=10, target_delta=1e-6)


def test_lists_of_pairs_are_pairs() -> None:
    found = shuffledp.estimate_pooled([[KRR, 2], (KRR, 1)], REPORTS)
    alone = Aggregator(KRR)
    alone.add(REPORTS)
    assert found.values == pytest.approx(alone.estimate().values)
