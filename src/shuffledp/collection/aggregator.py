"""Adding up reports."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.basics.errors import check_integer, check_users
from shuffledp.basics.sealed import seal, unseal
from shuffledp.basics.whole_file import write_whole
from shuffledp.collection.combination import combination
from shuffledp.collection.estimate import Estimate, Estimates
from shuffledp.collection.moments import Moments, Results, finish
from shuffledp.collection.tallies import Candidates, tally_for
from shuffledp.collection.tally import Subject, Total, Truth, check_some, number_of
from shuffledp.mechanisms import LocalRandomizer, as_randomizer
from shuffledp.mechanisms.composed.parts import without_paths
from shuffledp.mechanisms.sampling.checks import bare_vector
from shuffledp.mechanisms.support.support import SupportRandomizer

#: Says what a file of sums is and how it is laid out.
_FORMAT = "shuffledp sums of reports, 1"


class Aggregator:
    """Adds up reports batch by batch and estimates what the inputs were.

    Only sums are kept, so the memory does not grow with the number of reports. Sums over parts of
    the reports, made at different places, can be saved and merged.

    Args:
        randomizer: the mechanism that made the reports, or its text.
        candidates: the values whose frequencies are wanted; None for all values of the domain,
            which has to be known. For a joint composition one entry per attribute.

    >>> from shuffledp import KRR, Aggregator
    >>> randomizer = KRR(k=3, epsilon0=2.0)
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)  # repeatable; leave it out to use secure random bits
    >>> aggregator = Aggregator(randomizer)
    >>> aggregator.add(randomizer.randomize([0, 0, 0, 1] * 2500, rng))
    >>> estimate = aggregator.estimate()
    >>> bool((abs(estimate.values - [0.75, 0.25, 0]) < 4 * estimate.standard_errors).all())
    True
    >>> bool((estimate.standard_errors < 0.007).all())
    True
    """

    def __init__(self, randomizer: LocalRandomizer | str, *, candidates: Candidates = None) -> None:
        self._randomizer = as_randomizer(randomizer)
        self._tally = tally_for(self._randomizer, candidates)
        self._state = self._tally.empty
        what = f"{without_paths(self._randomizer)}: {self._tally.subject}"
        self._fingerprint = hashlib.sha256(what.encode()).hexdigest()

    @property
    def randomizer(self) -> LocalRandomizer:
        """The mechanism."""
        return self._randomizer

    @property
    def n(self) -> int:
        """The number of users so far, those included who did not take part."""
        return number_of(self._state)

    @property
    def subject(self) -> Subject:
        """What is estimated, in words."""
        return self._tally.subject

    def results(self) -> Results:
        """Return estimates with the reasons why they vary, to be combined with others."""
        check_some(self._state)
        return self._tally.results(self._state)

    def add(self, reports: object) -> None:
        """Add a batch of reports; if one of them is wrong, none is added.

        Args:
            reports: an array of type ``randomizer.report_dtype``. Where reports are integers, those
                of any other type of integers, and lists and columns of them.

        Raises:
            TypeError: if the reports are of another type.
            ValueError: if a report cannot be one of this mechanism.
        """
        self._add(self._tally.count(self._as_reports(reports)))

    def _as_reports(self, reports: object) -> NDArray[Any]:
        dtype = self._randomizer.report_dtype
        if isinstance(reports, np.ndarray) and (reports.dtype == dtype or reports.ndim != 1):
            return self._randomizer.check_reports(reports)
        try:
            array = bare_vector("reports", reports, "iu", "integers")
        except (TypeError, ValueError):
            return self._randomizer.check_reports(reports)
        if dtype.kind not in "iu":
            return self._randomizer.check_reports(reports)
        limits = np.iinfo(dtype)
        wrong = (array < limits.min) | (array > limits.max)
        if wrong.any():
            place = int(np.argmax(wrong))
            raise ValueError(
                f"reports of {self._randomizer} must fit into {dtype}, got {array[place]} at "
                f"position {place}"
            )
        return array.astype(dtype)

    def add_sum(self, total: object, n: int) -> None:
        """Add n reports of which only the sum was published, as after secure aggregation.

        Args:
            total: how many reports support each value, in the order of the estimates; for a matrix
                how often each output occurs; for added noise the sum of the reports; for a joint
                composition a list of these, one per attribute.
            n: number of reports.

        >>> randomizer = "oue(epsilon0=2, domain_size=3)"
        >>> aggregator = Aggregator(randomizer)
        >>> aggregator.add_sum([400, 230, 190], n=1000)
        >>> aggregator.estimate().values.round(2).tolist()
        [0.74, 0.29, 0.19]

        Raises:
            TypeError: if the sum of such reports is not enough, or is no number.
            ValueError: if it cannot be a sum of n reports.
        """
        self._add(self._tally.published(total, check_users(n)))

    @property
    def total(self) -> Total:
        """The sum of all reports so far, as :meth:`add_sum` takes it.

        >>> aggregator = Aggregator("krr(k=3, epsilon0=2)")
        >>> aggregator.add([0, 2, 2])
        >>> aggregator.total
        [1, 0, 2]
        >>> Aggregator("joint(krr(k=3, epsilon0=2), laplace(epsilon0=1))").total
        ([0, 0, 0], 0)

        Raises:
            TypeError: if estimates need more than the sum of such reports.
        """
        return self._tally.total(self._state)

    def merge(self, other: Aggregator) -> None:
        """Add all reports that another aggregator for the same mechanism has added up.

        Raises:
            ValueError: if it is for another mechanism or other candidates.
        """
        if not isinstance(other, Aggregator):
            raise TypeError(f"other must be an Aggregator, got {other!r}")
        if other._fingerprint != self._fingerprint:
            raise ValueError(
                f"other must be for {self._randomizer} and the same candidates, got "
                f"{other._randomizer}"
            )
        self._add(other._state)

    def _add(self, sums: Sequence[NDArray[Any]]) -> None:
        self._state = [old + new for old, new in zip(self._state, sums, strict=True)]

    def estimate(self, *, dummies: int = 0) -> Estimates:
        """Return unbiased estimates with their standard errors.

        One :class:`Estimate`; for a joint composition a tuple with one entry per attribute, and for
        a parallel composition whose parts do not estimate the same thing one entry per part.

        Args:
            dummies: how many of the reports were added by :func:`shuffledp.shuffle`; they are taken
                out of the estimate, and their noise into its error.

        Raises:
            TypeError: if there are dummies and the mechanism has none.
            ValueError: if there are no reports, or the reports of a matrix do not determine the
                frequencies.
        """
        n = check_some(self._state)
        if check_integer("dummies", dummies, 0, n - 1):
            return finish(self._tally.results_without(self._state, dummies), n - dummies)
        return finish(self._tally.results(self._state), n)

    def weighted(self, weights: ArrayLike) -> Estimate:
        """Return an unbiased estimate of a weighted sum of all frequencies, with standard error.

        With the levels of a grid as weights it is the mean of numbers that were rounded to them,
        with zeros and ones the share of a group of values.

        Args:
            weights: one number for each value of the domain.

        Raises:
            TypeError: if the mechanism is none that estimates frequencies from support.
            ValueError: if there are no reports, or not one weight for each value.
        """
        n, results = check_some(self._state), self.results()
        randomizer = self._randomizer
        if not isinstance(randomizer, SupportRandomizer) or not isinstance(results, Moments):
            raise TypeError(f"weighted sums need a support mechanism such as krr, got {randomizer}")
        return combination(randomizer, results, weights).estimate(n)

    def largest_shifts(self, corrupted: int, *, dummies: int = 0) -> Truth:
        """Return how far corrupted users can move each estimate, whatever the others hold.

        An estimate differs by no more than this from the one that other reports of the same users
        would have given. Users who lie about their value move a frequency by their share; users who
        choose their reports move it farther. Where a report can be any number, that is infinite.

        Args:
            corrupted: how many users choose their reports.
            dummies: as for :meth:`estimate`.

        Raises:
            TypeError: if it is not known for this mechanism.
            ValueError: if there are no reports.

        >>> aggregator = Aggregator("krr(k=3, epsilon0=2)")
        >>> aggregator.add_sum([610, 250, 140], n=1000)
        >>> aggregator.largest_shifts(10).round(4).tolist()
        [0.0147, 0.0147, 0.0147]
        """
        n = check_some(self._state)
        n -= check_integer("dummies", dummies, 0, n - 1)
        f = check_integer("corrupted", corrupted, 0, n - 1)
        return self._tally.largest_shifts(self._state, f, n)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the sums to a file, which is then complete or, after an error, as it was before.

        Raises:
            OSError: if the file cannot be written.
        """
        content = {
            "format": _FORMAT,
            "mechanism": str(self._randomizer),
            "fingerprint": self._fingerprint,
            "sums": [array.tolist() for array in self._state],
        }
        write_whole(Path(path), seal(content).encode())

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        randomizer: LocalRandomizer | str,
        *,
        candidates: Candidates = None,
    ) -> Self:
        """Read the sums that :meth:`save` wrote.

        Args:
            path: the file.
            randomizer: the mechanism it must be for, or its text.
            candidates: the candidates it must be for.

        Raises:
            OSError: if the file cannot be read.
            ValueError: if it is damaged, or for another mechanism or other candidates.
        """
        loaded, raw = cls(randomizer, candidates=candidates), Path(path).read_bytes()
        try:
            content = unseal(raw, _FORMAT)
            mechanism, fingerprint = content["mechanism"], content["fingerprint"]
            state = [np.array(sums) for sums in content["sums"]]
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"path {str(path)!r} does not hold sums of reports, or is damaged: {error}"
            ) from None
        if fingerprint != loaded._fingerprint:
            raise ValueError(
                f"path {str(path)!r} must be for {randomizer} and the same candidates, got "
                f"{mechanism}"
            )
        kinds = [[(x.shape, x.dtype.kind) for x in sums] for sums in (state, loaded._state)]
        if kinds[0] != kinds[1]:
            raise ValueError(f"path {str(path)!r} does not hold sums of reports of {randomizer}")
        loaded._add(state)
        return loaded
