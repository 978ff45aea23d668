"""A contradiction between certified statements is never taken for anything else."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace

import pytest

from shuffledp import KRR, Interval, MatrixRandomizer, ShuffleAccountant, calibrate_epsilon0
from shuffledp.accounting import inversion, known_bounds, profile_point
from shuffledp.accounting.candidates import blankets
from shuffledp.accounting.known_bounds import KnownBounds
from shuffledp.accounting.worst_case import WorstCase
from shuffledp.decomposition import Decomposition
from shuffledp.divergence import LogEnclosure, engine, log_delta, mean
from shuffledp.divergence.proposals.estimate import estimate_log_delta
from shuffledp.errors import ContradictionError
from shuffledp.planning import plan

RANDOMIZER, N = KRR(k=10, epsilon0=2.0), 10_000
DECOMPOSITION = RANDOMIZER.blanket(RANDOMIZER.neighbours()[0])


def test_it_is_an_error_of_its_own() -> None:
    """Code that expects bad input or numbers out of range does not catch it."""
    assert not issubclass(ContradictionError, ArithmeticError | ValueError | LookupError | OSError)
    copy = pickle.loads(pickle.dumps(ContradictionError("text")))  # noqa: S301
    assert (type(copy), str(copy)) == (ContradictionError, "text")


@pytest.fixture
def _contour_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """The contour claims a delta far above what one user alone can have."""
    monkeypatch.setattr(mean, "contour_log_mean", lambda *_: LogEnclosure(50.0, 50.1))


@pytest.mark.usefixtures("_contour_is_wrong")
@pytest.mark.parametrize(
    "ask",
    [
        lambda: log_delta(DECOMPOSITION.at(0.1), N),
        lambda: ShuffleAccountant(RANDOMIZER, N).get_delta(0.1),
        lambda: ShuffleAccountant(RANDOMIZER, N).get_epsilon(1e-6),
        lambda: ShuffleAccountant(RANDOMIZER, N).epsilon_report(1e-6),
        lambda: ShuffleAccountant(RANDOMIZER, N).profile([0.1]),
        lambda: calibrate_epsilon0("krr(k=10)", n=N, target_epsilon=0.1, target_delta=1e-6),
        lambda: plan(n=N, target_epsilon=0.1, target_delta=1e-6, domain_size=5),
    ],
    ids=["engine", "delta", "epsilon", "report", "profile", "calibration", "plan"],
)
def test_enclosures_that_do_not_meet_are_not_taken_for_overflow(ask) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ContradictionError):
        ask()


@pytest.mark.parametrize("error", [OverflowError, ZeroDivisionError])
def test_numbers_out_of_range_leave_a_wide_enclosure(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> LogEnclosure:
        raise error

    exact = log_delta(DECOMPOSITION.at(0.1), N)
    monkeypatch.setattr(engine, "_log_delta_of_many", fail)
    value = log_delta(DECOMPOSITION.at(0.1), N)
    assert value.lower == -math.inf
    assert exact.upper <= value.upper < exact.upper + 5  # the bound of one tilt is left


@pytest.mark.parametrize("error", [ArithmeticError, ValueError, FloatingPointError, TypeError])
def test_other_errors_are_not_swallowed(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise error("inside")

    monkeypatch.setattr(engine, "_log_delta_of_many", fail)
    monkeypatch.setattr("shuffledp.divergence.proposals.estimate._estimate", fail)
    with pytest.raises(error, match="inside"):
        log_delta(DECOMPOSITION.at(0.1), N)
    with pytest.raises(error, match="inside"):
        estimate_log_delta(DECOMPOSITION, N, 0.1)


def test_a_bracket_whose_ends_cross(monkeypatch: pytest.MonkeyPatch) -> None:
    """Delta above the target at the larger epsilon and below it at the smaller one."""

    def rising(decomposition: Decomposition, n: int, epsilon: float, rtol: float) -> LogEnclosure:
        value = -30.0 if epsilon < 0.08 else -1.0
        return LogEnclosure(value, value + 1e-6)

    monkeypatch.setattr(inversion, "enclose_log_delta", rising)
    search = inversion.Search(DECOMPOSITION, N, inversion.log_target(1e-6), 1e-4)
    search._drive(search._look(0.07))
    with pytest.raises(ContradictionError, match=r"above the target at epsilon = 0\.09"):
        search._drive(search._look(0.09))


def test_a_cheap_bound_below_the_enclosure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shuffledp.accounting.candidates.log_delta_bound_at", lambda *_: -1e6)
    randomizer = MatrixRandomizer([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.0, 0.5, 0.5]])
    with pytest.raises(ContradictionError):
        ShuffleAccountant(randomizer, N).get_delta(0.1)


def test_a_report_whose_lower_bound_is_above_its_guarantee() -> None:
    report = ShuffleAccountant(KRR(k=3, epsilon0=1.0), 10).delta_report(0.1)
    interval = Interval(0.1, 0.2)
    with pytest.raises(ContradictionError, match=r"lower bound 0\.3 exceeds the guarantee 0\.2"):
        replace(report, guarantee=interval, lower_bound=0.3)
    with pytest.raises(ContradictionError, match="exceeds the guarantee"):
        replace(report, log_guarantee=Interval(-9e9, -8e9), log_lower_bound=-7e9)
    replace(report, guarantee=interval, lower_bound=0.2)


def swap_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the guarantee be that of a much better mechanism."""
    better = KRR(k=10, epsilon0=1.0)

    def upper(self: KnownBounds) -> WorstCase:
        pairs = tuple(better.neighbours())
        return WorstCase(blankets(better, pairs), self.crowd.honest, self.rtol)

    monkeypatch.setattr(KnownBounds, "_blanket", property(upper))


@pytest.mark.parametrize("many", [False, True], ids=["all pairs", "one of many pairs"])
def test_python_users_are_protected(many: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    swap_sides(monkeypatch)
    ask = ShuffleAccountant(RANDOMIZER, N)
    with pytest.raises(ContradictionError, match="exceeds the guarantee"):
        ask.epsilon_report(1e-6)
    with pytest.raises(ContradictionError, match="exceeds the guarantee"):
        ask.delta_report(0.05)
    if many:
        monkeypatch.setattr(known_bounds, "_MAX_LOWER_PAIRS", 0)
        with pytest.raises(ContradictionError, match="exceeds the guarantee"):
            ask.epsilon_lower_bound(1e-6)
        with pytest.raises(ContradictionError, match="exceeds the guarantee"):
            ask.delta_lower_bound(0.05)


def test_a_second_look_that_contradicts_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([LogEnclosure(-5.0, -4.99995), LogEnclosure(-4.0, -3.9)])
    monkeypatch.setattr(profile_point, "log_delta_at", lambda *_, rtol: next(answers))
    with pytest.raises(ContradictionError):
        profile_point.enclose_log_delta(DECOMPOSITION, 10**6, 1e-6, 1e-4)
