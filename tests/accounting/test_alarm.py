"""A contradiction between certified statements is never taken for anything else."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

from shuffledp import KRR, Interval, ShuffleAccountant, calibrate_epsilon0
from shuffledp.accounting import choice
from shuffledp.basics.errors import ContradictionError
from shuffledp.bounds.decomposed import Decomposed
from shuffledp.engine.contour import Contour

RANDOMIZER, N = KRR(k=10, epsilon0=2.0), 10_000


def test_it_is_an_error_of_its_own() -> None:
    """Code that expects bad input or numbers out of range does not catch it."""
    assert not issubclass(ContradictionError, ArithmeticError | ValueError | LookupError | OSError)
    copy = pickle.loads(pickle.dumps(ContradictionError("text")))  # noqa: S301
    assert (type(copy), str(copy)) == (ContradictionError, "text")


@pytest.mark.parametrize(
    "ask",
    [
        lambda: ShuffleAccountant(RANDOMIZER, N).delta_interval(0.1),
        lambda: ShuffleAccountant(RANDOMIZER, N).epsilon_report(1e-6),
        lambda: ShuffleAccountant(RANDOMIZER, N).profile([0.1]),
        lambda: (
            calibrate_epsilon0(
                "krr(k=10)", n=N, target_epsilon=0.1, target_delta=1e-6, bound="blanket"
            ).report
        ),
    ],
    ids=["delta", "report", "profile", "calibration"],
)
def test_enclosures_that_do_not_meet_are_not_taken_for_overflow(ask, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    """The contour claims from below more than it does from above."""
    upper = Contour.upper
    monkeypatch.setattr(Contour, "lower", lambda self: 2 * upper(self))
    with pytest.raises(ContradictionError):
        ask()


def test_a_report_whose_lower_bound_is_above_its_guarantee() -> None:
    report = ShuffleAccountant(KRR(k=3, epsilon0=1.0), 10).delta_report(0.1)
    interval = Interval(0.1, 0.2)
    with pytest.raises(ContradictionError, match=r"lower bound 0\.3 exceeds the guarantee 0\.2"):
        replace(report, guarantee=interval, lower_bound=0.3)
    with pytest.raises(ContradictionError, match="exceeds the guarantee"):
        replace(report, log_guarantee=Interval(-9e9, -8e9), log_lower_bound=-7e9)
    replace(report, guarantee=interval, lower_bound=0.2)


def test_python_users_are_protected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the guarantee be that of a much better mechanism."""
    better = KRR(k=10, epsilon0=1.0)
    law, attack = choice._law, choice._attack

    def attacked(*args: object) -> object:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(choice, "_law", law)
            return attack(*args)

    monkeypatch.setattr(choice, "_law", lambda _, kind, pair, v: law(better, kind, pair, v))
    monkeypatch.setattr(choice, "_attack", attacked)
    ask = ShuffleAccountant(RANDOMIZER, N, bound="blanket")
    with pytest.raises(ContradictionError, match="exceeds the guarantee"):
        ask.epsilon_report(1e-6)
    with pytest.raises(ContradictionError, match="exceeds the guarantee"):
        ask.delta_report(0.05)


def test_a_proof_of_one_side_is_never_taken_for_the_other() -> None:
    curve = Decomposed(RANDOMIZER.decomposition(RANDOMIZER.neighbours()[0]), N, 1e-4)
    for epsilon in (0.0, 0.05, 0.5):
        assert curve.below(epsilon).log <= curve.above(epsilon).log
