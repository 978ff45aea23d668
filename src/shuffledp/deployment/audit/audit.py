"""An audit: the mechanism is run on two datasets, and what they show is counted."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from shuffledp.accounting import Datasets, Report, ShuffleAccountant, as_accountant
from shuffledp.accounting.answered import Quantity
from shuffledp.basics.arrays import FloatArray, IntArray, usual_errors
from shuffledp.basics.errors import (
    NoAnswerError,
    check_delta,
    check_epsilon,
    check_integer,
    check_probability,
)
from shuffledp.basics.markup import facts
from shuffledp.basics.rounding import plain, round_down
from shuffledp.basics.wording import shorten
from shuffledp.bounds.decomposed import Decomposed
from shuffledp.bounds.root import delta_below
from shuffledp.deployment.audit.runs import MAX_TRIALS, enough_trials, inputs, run
from shuffledp.mechanisms import LocalRandomizer
from shuffledp.mechanisms.sampling import Bits

#: The reports of one run are held in memory.
MAX_USERS = 10**6

#: At most so many events are tried.
_EVENTS = 500

#: Quantiles are good to more digits than this; confidence limits are moved by it, outwards.
_ACCURACY = 1e-9


@dataclass(frozen=True)
class Audit:
    """What runs of a mechanism reveal, beside what is certified about it.

    Attributes:
        report: the question, the certified guarantee and lower bound, and the datasets that were
            run.
        lower_bound: what the runs show: ``report.quantity`` is at least this, with ``confidence``.
        confidence: probability with which a statement of this kind is true.
        runs: number of runs on each dataset that were counted.
        hits: how many of them showed the event, on the first and on the second dataset.
    """

    report: Report
    lower_bound: float
    confidence: float
    runs: int
    hits: tuple[int, int]

    @property
    def agrees(self) -> bool:
        """Whether the runs show no more than the guarantee allows."""
        return self.lower_bound <= self.report.guarantee.upper

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        report, name = self.report, self.report.quantity
        rows = {
            "mechanism": shorten(str(report.randomizer)),
            "users": str(report.crowd),
            "datasets": report.datasets_in_words,
            "runs": f"{self.runs:,} of each, {self.hits[0]:,} and {self.hits[1]:,} with the event",
            "shown by the runs": f"{name} >= {round_down(self.lower_bound)} "
            f"(confidence {plain(self.confidence)})",
            "guarantee": f"{name} <= {report.at_most}",
            "agrees": "yes" if self.agrees else "no: the mechanism reveals more than it should",
        }
        return facts(rows)

    @property
    def enough_trials(self) -> int | None:
        """About how many trials show more than 0, if the mechanism runs as it is described.

        It follows from what these datasets are certified to reveal. None if that is nothing, or if
        so many trials cannot be made.

        >>> found = audit("krr(k=10, epsilon0=1)", n=1000, target_delta=1e-6, trials=100)
        >>> found.lower_bound, 10**5 < found.enough_trials < 10**7
        (0.0, True)
        """
        report = self.report
        if report.datasets is None:
            return None
        bounds_delta = report.quantity == "delta"
        epsilon, allowed = (report.target, 0.0) if bounds_delta else (0.0, report.target)
        seen = report.randomizer.decomposition(report.datasets.pair, report.datasets.other)
        revealed = delta_below(Decomposed(seen, report.n, report.rtol).below(epsilon).log)
        return enough_trials(revealed - allowed, epsilon, (1 - self.confidence) / 2)


@usual_errors
def audit(
    accountant: ShuffleAccountant | LocalRandomizer | str,
    n: int | None = None,
    *,
    target_delta: float | None = None,
    target_epsilon: float | None = None,
    trials: int = 10_000,
    confidence: float = 0.999,
    rng: np.random.Generator | None = None,
    on_done: Callable[[int, int], None] | None = None,
) -> Audit:
    r"""Run the mechanism on the worst datasets that are known, and bound what they reveal.

    Both datasets are run ``trials`` times. Half of the runs choose an event, "the multiset of
    reports is at least t times as likely under the first dataset"; the others count how often it
    happens. If P and Q are its probabilities, every :math:`(\varepsilon,\delta)`-DP mechanism has
    :math:`P\le e^\varepsilon Q+\delta`, so a lower confidence limit of P and an upper one of Q
    bound epsilon, or delta, from below. Nothing about the law of the reports is assumed: the
    likelihoods only pick the event. The cost grows with ``trials`` times n.

    The bound comes close to the certified one where n is small or delta is large. Events as rare
    as 1e-6 are never seen in 10,000 runs, so it is a check for blunders, not a measurement.

    Args:
        accountant: the mechanism and the number of users, at most 10**6; or the mechanism, or its
            text.
        n: number of users, only where no accountant is given.
        target_delta: the delta at which to bound epsilon.
        target_epsilon: the epsilon at which to bound delta; exactly one of the two is given.
        trials: number of runs on each dataset, at least 2.
        confidence: probability with which the bound must hold.
        rng: a generator, to get the same result again; None takes the operating system's bits.
        on_done: called with the numbers of runs done and in all.

    Raises:
        NoAnswerError: if the mechanism cannot run, or no two datasets are known.

    >>> rng = np.random.default_rng(1)
    >>> found = audit("krr(k=10, epsilon0=4)", n=10, target_delta=0.01, rng=rng)
    >>> shown, certified = found.lower_bound, found.report.lower_bound
    >>> print(f"{shown:.1f} of {certified:.1f}, {found.agrees}")
    3.1 of 4.0, True
    """
    accountant = as_accountant(accountant, n)
    if (target_delta is None) == (target_epsilon is None):
        raise ValueError(
            "exactly one of target_delta and target_epsilon must be given, got "
            f"{target_delta!r} and {target_epsilon!r}"
        )
    target = _Target.at(target_delta, target_epsilon)
    trials = check_integer("trials", trials, 2, MAX_TRIALS)
    risk = (1 - check_probability("confidence", confidence)) / 2
    if accountant.n > MAX_USERS:
        raise NoAnswerError(
            f"an audit runs the mechanism itself, for at most {MAX_USERS:,} users, got n = "
            f"{accountant.n:,}"
        )
    report, bits = target.report(accountant), Bits(rng)
    datasets = _datasets(report, bits)
    batches, done = [], 0
    for batch in run(accountant.randomizer, datasets, accountant.n, trials, bits):
        batches.append(batch)
        done += batch[0].size
        if on_done is not None:
            on_done(done, trials)
    first, second = (np.concatenate(side) for side in zip(*batches, strict=True))
    half = trials // 2
    event = _choose(first[:half], second[:half], target, risk)
    hits0, hits1 = (int((ratios[half:] >= event).sum()) for ratios in (first, second))
    shown = float(target.bound(hits0, hits1, trials - half, risk))
    return Audit(
        report=report,
        lower_bound=max(shown, 0.0),  # no mechanism has a negative epsilon or delta
        confidence=confidence,
        runs=trials - half,
        hits=(hits0, hits1),
    )


@dataclass(frozen=True)
class _Target:
    """One of epsilon and delta is given; the other one is bounded."""

    quantity: Quantity
    given: float

    @staticmethod
    def at(delta: float | None, epsilon: float | None) -> _Target:
        if delta is not None:
            return _Target("epsilon", check_delta(delta))
        return _Target("delta", check_epsilon(epsilon))

    def report(self, accountant: ShuffleAccountant) -> Report:
        """Return what is certified."""
        if self.quantity == "epsilon":
            return accountant.epsilon_report(self.given)
        return accountant.delta_report(self.given)

    def bound(
        self, hits0: IntArray | int, hits1: IntArray | int, runs: int, risk: float
    ) -> FloatArray:
        """Return what hits on the first and the second dataset show."""
        often, rarely = lower_limit(hits0, runs, risk), upper_limit(hits1, runs, risk)
        if self.quantity == "delta":
            return often - math.exp(self.given) * rarely
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(often - self.given, 0.0) / rarely)


def _datasets(report: Report, bits: Bits) -> Datasets:
    """Return the datasets behind the lower bound, after a trial of what the mechanism can do."""
    randomizer, datasets = report.randomizer, report.datasets
    if datasets is None:
        raise NoAnswerError(f"no two datasets are known to audit {randomizer} with")
    values = inputs(datasets.other, datasets.pair.first, np.arange(1), 1)
    try:
        reports = randomizer.draw(randomizer.check_values(values), bits)
        randomizer.log_likelihood(reports, datasets.other)
    except (TypeError, ValueError) as error:
        raise NoAnswerError(f"cannot audit what cannot run: {error}") from None
    return datasets


def _choose(first: FloatArray, second: FloatArray, target: _Target, risk: float) -> float:
    """Return the ratio t whose event "at least t" shows most in these runs."""
    runs = first.size
    ordered0, ordered1 = np.sort(first), np.sort(second)
    ranks = np.unique(np.rint(np.geomspace(1, runs, _EVENTS)).astype(np.int64))
    events = np.unique(ordered0[runs - ranks])
    hits = [runs - np.searchsorted(ordered, events) for ordered in (ordered0, ordered1)]
    return float(events[np.argmax(target.bound(hits[0], hits[1], runs, risk))])


def lower_limit(hits: IntArray | int, runs: int, risk: float) -> FloatArray:
    r"""Return a p that is at most the probability of the event, except with probability ``risk``.

    The limit of Clopper and Pearson (1934): at p the event is seen as often or more often with
    probability ``risk``.

    >>> bool(0.4 < lower_limit(50, 100, 0.05) < 0.5), float(lower_limit(0, 100, 0.05))
    (True, 0.0)
    """
    from scipy.special import betaincinv

    seen = np.asarray(hits)
    # The parameter 0 of a Beta law is no number for scipy; the limit of "never seen" is 0.
    quantile = betaincinv(np.maximum(seen, 1), runs - seen + 1, risk)
    return np.where(seen == 0, 0.0, quantile) * (1 - _ACCURACY)


def upper_limit(hits: IntArray | int, runs: int, risk: float) -> FloatArray:
    """Return a p that is at least the probability of the event, except with probability ``risk``.

    >>> bool(0.5 < upper_limit(50, 100, 0.05) < 0.6), float(upper_limit(100, 100, 0.05))
    (True, 1.0)
    """
    from scipy.special import betainccinv

    seen = np.asarray(hits)
    quantile = betainccinv(seen + 1, np.maximum(runs - seen, 1), risk)
    return np.minimum(np.where(seen == runs, 1.0, quantile) * (1 + _ACCURACY), 1.0)
