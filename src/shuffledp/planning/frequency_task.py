"""Estimating how often each value of a domain occurs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar

from shuffledp.basics.errors import check_size
from shuffledp.collection.combination import Covariances
from shuffledp.mechanisms import (
    KRR,
    OUE,
    RAPPOR,
    BinaryLocalHash,
    HadamardResponse,
    LocalHash,
    LocalRandomizer,
    SubsetSelection,
)
from shuffledp.mechanisms.finite.masses import working_digits
from shuffledp.mechanisms.support.support import SupportRandomizer
from shuffledp.planning.prediction import Prediction
from shuffledp.planning.task import Family, Task, spread

_FACTOR = 1.2  # between discrete parameters: 12 random targets lost at most 1% of the error
_MAX_BUCKETS = 2**32  # with which local hashing runs
_MAX_SUBSET = 1024


@dataclass(frozen=True)
class Frequency(Task):
    r"""The share f_x of every value x among the users, from a support mechanism.

    With p* the probability that a report supports the true input and q* that it supports another
    one, :math:`\hat f_x=(C_x/n-q^*)/(p^*-q^*)` is unbiased, where :math:`C_x` counts the reports
    that support x. :math:`C_x` is a sum of independent indicators, so

    .. math:: \mathrm{Var}\,\hat f_x=\frac{f_xp^*(1-p^*)+(1-f_x)q^*(1-q^*)}{n(p^*-q^*)^2}.

    The shares sum to 1, so the sum over all D values is the same for all data:

    .. math:: E\|\hat f-f\|_2^2=\frac{p^*(1-p^*)+(D-1)\,q^*(1-q^*)}{n(p^*-q^*)^2}.

    Only ``max_error`` depends on them; it is worst for a value that everybody or nobody holds.

    >>> task = Frequency(n=10_000, domain_size=10)
    >>> task.worst_case(KRR(k=10, epsilon0=2.0))  # doctest: +ELLIPSIS
    Prediction(squared_error=0.000502..., rms_error=0.00708..., max_error=0.0127...)
    """

    name: ClassVar[str] = "frequency"

    def __post_init__(self) -> None:
        """Check that the domain is finite."""
        check_size("domain_size", self.domain_size)

    @property
    def size(self) -> int:
        """Number of values D."""
        return check_size("domain_size", self.domain_size)

    @property
    def estimates(self) -> int:
        """How many shares are estimated."""
        return self.size

    @property
    def subject(self) -> str:
        """The shares of D values."""
        return f"shares of {self.size:,} values"

    def mechanisms(self) -> Mapping[str, Sequence[Family]]:
        """Return the support mechanisms.

        Local hashing has from 3 buckets (two are ``blh``) to 2**32, the most with which it runs.
        Subset selection reports from 2 values (one is ``krr``) to D/2 (a larger set and its
        complement tell the same), at most 1024 to keep reports short. All integers up to 16 are
        tried, then steps of 20%.
        """
        size = self.size
        return {
            "krr": [partial(KRR, size)],
            "blh": [partial(BinaryLocalHash, domain_size=size)],
            "olh": [
                partial(LocalHash, buckets=buckets, domain_size=size)
                for buckets in spread(3, _MAX_BUCKETS, _FACTOR)
            ],
            "rappor": [partial(RAPPOR, domain_size=size)],
            "oue": [partial(OUE, domain_size=size)],
            "hadamard": [partial(HadamardResponse, domain_size=size)],
            "subset": [
                partial(SubsetSelection, domain_size=size, size=chosen)
                for chosen in spread(2, min(size // 2, _MAX_SUBSET), _FACTOR)
            ],
        }

    def worst_case(self, randomizer: LocalRandomizer) -> Prediction:
        """Predict the error; the worst single value is held by everybody or by nobody."""
        held, other = self.variances(randomizer)
        return Prediction.of_variances(self._total(held, other), max(held, other), self.size)

    def expected(self, randomizer: LocalRandomizer) -> Prediction | None:
        """Predict the error; the variance is linear in f, so the extremes of f decide."""
        if self.distribution is None:
            return None
        held, other = self.variances(randomizer)
        largest = max(share * held + (1 - share) * other for share in self._extreme_shares)
        return Prediction.of_variances(self._total(held, other), largest, self.size)

    @cached_property
    def _extreme_shares(self) -> tuple[float, float]:
        shares = self.distribution or (0.0, 1.0)
        return min(shares), max(shares)

    def _total(self, held: float, other: float) -> float:
        return held + (self.size - 1) * other

    def variances(self, randomizer: LocalRandomizer) -> tuple[float, float]:
        r"""Return the variance of an estimate if everybody and if nobody holds its value.

        With the masses of :class:`SupportRandomizer`, :math:`p^*=EW_1[1]`, :math:`1-p^*=W_1[0]`,
        :math:`q^*=W_2[1]+EW_2[2]`, :math:`1-q^*=W_2[0]+EW_2[1]` and
        :math:`p^*-q^*=(E-1)W_2[1]`, without cancellation.
        """
        if not isinstance(randomizer, SupportRandomizer):
            raise TypeError(f"randomizer must be a support mechanism such as krr, got {randomizer}")
        with working_digits(randomizer.digits):
            E, mass = randomizer.ratio, randomizer.support_mass
            one = mass(1, 2)
            scale = self.n * ((E - 1) * one) ** 2
            held = E * mass(1, 1) * mass(0, 1)
            other = (one + E * mass(2, 2)) * (mass(0, 2) + E * one)
            return float(held / scale), float(other / scale)


class AnsweredFrequency(Frequency):
    r"""The shares among those who answer, where to have no answer is the last of the D values.

    A share is a ratio a/b of two estimates, b that of answers, the sum of all k = D - 1 others; for
    large n it varies like :math:`(\hat a-r\hat b)/b`. The prediction is for b near 1; for any data
    of a smaller b the error is at most 1/b times as large. With the variances v of the estimate for
    a value that a user holds and u for another one, and the covariances :math:`c_1` of these and
    :math:`c_0` of two others, a value whose share among answers is r has

    .. math:: h(r)=u+(w-3u)r+\bigl((k+1)u+(k-1)(k-2)c_0-w\bigr)r^2,\qquad w=v-2c_1-2(k-2)c_0,

    and :math:`m(r)=u-2(u+(k-1)c_0)r+k(u+(k-1)c_0)r^2` is added for a user without an answer. Both
    are largest at an end or where they turn; their sums over all values depend on
    :math:`\sum_xr_x^2` alone, from 1/k to 1, and are equal at 1.

    >>> task = AnsweredFrequency(n=10_000, domain_size=3)
    >>> round(task.worst_case(KRR(k=3, epsilon0=2.0)).rms_error, 5)
    0.00482
    """

    @property
    def estimates(self) -> int:
        """One less than there are values: the missing answer has no share."""
        return self.size - 1

    def worst_case(self, randomizer: LocalRandomizer) -> Prediction:
        """Predict the error for the shares that are worst for it, if nearly all answer."""
        if not isinstance(randomizer, SupportRandomizer):
            raise TypeError(f"randomizer must be a support mechanism such as krr, got {randomizer}")
        k, one = self.estimates, Covariances.of(randomizer, self.size)
        other, pair = one.other, one.other + (k - 1) * one.of_others
        apart = one.held - 2 * one.with_held - 2 * (k - 2) * one.of_others
        rise = (k + 1) * other + (k - 1) * (k - 2) * one.of_others - apart
        held = other, apart - 3 * other, rise
        absent = other, -2 * pair, k * pair
        total = max(k * c + b + a * s for c, b, a in (held, absent) for s in (1, 1 / k))
        largest = max(_peak(*held), _peak(*absent))
        return Prediction.of_variances(total / self.n, largest / self.n, k)

    def expected(self, randomizer: LocalRandomizer) -> None:
        """No distribution is known."""
        return


def _peak(constant: float, linear: float, square: float) -> float:
    """Return the largest value over [0, 1] of a polynomial of degree 2."""
    turn = min(max(-linear / (2 * square), 0.0), 1.0) if square < 0 else 0.0
    return max(constant + (linear + square * x) * x for x in (0.0, turn, 1.0))
