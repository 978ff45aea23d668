"""Double precision and ball arithmetic never exclude each other."""

from __future__ import annotations

import pytest
from agreement import disagreement
from random_cases import Case, random_case

#: A sample of all kinds that takes few seconds.
SAMPLE = [i for i in range(48) if i not in (22, 24, 33)]

STUDY = 600
CHUNK = 20


@pytest.mark.heavy(keep=3)
@pytest.mark.parametrize("number", SAMPLE)
def test_answers_and_proofs_overlap(number: int) -> None:
    assert disagreement(random_case(number)) is None


EXTREMES = [
    Case("krr(k=3, epsilon0=1e-06)", 1, 1e-300),
    Case("krr(k=3, epsilon0=1e-06)", 10**15, 1e-300),
    Case("rappor(epsilon0=1e-06)", 10**15, 1e-300),
    Case("discrete_laplace(epsilon0=1e-06, bound=3)", 10**15, 1e-300),
    Case("krr(k=2, epsilon0=50.0)", 1, 1e-300),
    Case("krr(k=2, epsilon0=50.0)", 10**15, 1e-300),
    Case("any_pure_ldp(epsilon0=50.0)", 10**15, 1e-6),
    pytest.param(Case("krr(k=10, epsilon0=50.0)", 10**6, 1e-300), marks=pytest.mark.slow),
    Case("matrix([[1, 0], [0.5, 0.5]])", 10**15, 0.75),
    Case("matrix([[0.5, 0.5, 0], [0.25, 0.5, 0.25]])", 10**3, 0.26),
    Case("parallel(1e-300*krr(k=3, epsilon0=1), 1*krr(k=3, epsilon0=0.5))", 10, 1e-6),
    Case("parallel(1e-300*krr(k=3, epsilon0=1), 1*krr(k=3, epsilon0=0.5))", 10, 1e-302),
]


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize("case", EXTREMES, ids=str)
def test_answers_and_proofs_overlap_at_extreme_values(case: Case) -> None:
    assert disagreement(case) is None


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, STUDY, CHUNK))
def test_answers_and_proofs_overlap_in_many_cases(start: int) -> None:
    found = {}
    for number in range(start, start + CHUNK):
        case = random_case(number)
        if (reason := disagreement(case)) is not None:
            found[str(case)] = reason
    assert found == {}
