"""Double precision and ball arithmetic never exclude each other."""

from __future__ import annotations

import pytest
from agreement import disagreement
from random_cases import random_case

#: A sample of all kinds that takes few seconds.
SAMPLE = [i for i in range(48) if i not in (22, 24, 33)]

STUDY = 600
CHUNK = 20


@pytest.mark.parametrize("number", SAMPLE)
def test_answers_and_proofs_overlap(number: int) -> None:
    assert disagreement(random_case(number)) is None


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, STUDY, CHUNK))
def test_answers_and_proofs_overlap_in_many_cases(start: int) -> None:
    found = {}
    for number in range(start, start + CHUNK):
        case = random_case(number)
        if (reason := disagreement(case)) is not None:
            found[str(case)] = reason
    assert found == {}
