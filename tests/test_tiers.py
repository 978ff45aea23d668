"""The tiers of CONTRIBUTING.md: what runs when, and how many examples are drawn."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
import tiers
from hypothesis import settings

pytest_plugins = ["pytester"]

TESTS = Path(__file__).parent

CASES = """
    import pytest
    from hypothesis import given, settings, strategies as st
    from tiers import EVERY_CASE

    drawn = []

    @settings(max_examples=40)
    @given(st.integers())
    @pytest.mark.parametrize("case", range(2))
    def test_property(case, x):
        drawn.append(case)

    def test_counts():
        assert drawn.count(0) == drawn.count(1) == {examples}

    @pytest.mark.heavy
    def test_heavy():
        pass

    @pytest.mark.heavy(keep=2)
    @pytest.mark.parametrize("case", range(10))
    def test_cases(case):
        pass

    @pytest.mark.parametrize("case", [1, pytest.param(2, marks=pytest.mark.heavy)])
    def test_one_case_is_heavy(case):
        pass

    @pytest.mark.parametrize("case", range(15))
    def test_many_cases(case):
        pass

    @EVERY_CASE
    @pytest.mark.parametrize("case", range(15))
    def test_every_case(case):
        pass

    @pytest.mark.slow
    def test_slow():
        pass
"""


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("options", "examples", "passed", "left_out"),
    [
        ([], 40 * tiers.QUICK_PERCENT // 100, 21 + tiers.MOST_CASES, 26 - tiers.MOST_CASES),
        (["--rest"], 40, 25 - tiers.MOST_CASES, 22 + tiers.MOST_CASES),
        (["--heavy"], 40, 46, 1),
        (["--run-slow"], 40, 47, 0),
    ],
)
def test_what_runs(pytester, options, examples, passed, left_out):
    pytester.makeconftest((TESTS / "conftest.py").read_text(encoding="utf-8"))
    pytester.makepyprojecttoml(
        '[tool.pytest.ini_options]\nmarkers = ["heavy(keep=0): x", "slow: x"]\n'
        f'pythonpath = ["{TESTS}"]\n'
    )
    pytester.makepyfile(test_cases=textwrap.dedent(CASES).replace("{examples}", str(examples)))
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:xdist", *options)
    result.assert_outcomes(passed=passed, deselected=left_out)


def test_examples_are_a_share_but_never_more_than_asked_for():
    share = settings.default.max_examples
    assert tiers.examples(400) == 4 * share
    assert tiers.examples(3) == 3
    assert tiers.examples(10) in (5, 10)
