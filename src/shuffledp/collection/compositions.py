"""Sums over the reports of compositions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.collection.moments import Results, combine
from shuffledp.collection.tally import State, Subject, Tally, Total, Truth, check_some, number_of
from shuffledp.mechanisms import Joint, Subsample
from shuffledp.mechanisms.base import Values
from shuffledp.mechanisms.composed.mixture import Mixture


class JointTally(Tally):
    """One tally per attribute.

    Args:
        randomizer: the composition.
        parts: the tallies of its parts.
    """

    def __init__(self, randomizer: Joint, parts: Sequence[Tally]) -> None:
        self.randomizer: Joint = randomizer
        self._parts = tuple(parts)

    @property
    def arrays(self) -> int:
        """One, and those of all attributes."""
        return 1 + sum(part.arrays for part in self._parts)

    def count(self, reports: NDArray[Any]) -> State:
        """Return the sums of all attributes, one after the other."""
        checked = self.randomizer.check_reports(reports)
        sums: State = [np.array([checked.size], dtype=np.int64)]
        for i, part in enumerate(self._parts):
            sums += part.count(checked[f"part{i}"])
        return sums

    def total(self, state: Sequence[NDArray[Any]]) -> Total:
        """Return the total of each attribute."""
        states = _split(self._parts, state[1:])
        return tuple(part.total(own) for part, own in zip(self._parts, states, strict=True))

    def published(self, total: object, n: int) -> State:
        """Return the sums of all attributes: each is all that its own estimate needs."""
        size = len(self._parts)
        if not isinstance(total, list | tuple):
            raise TypeError(
                f"total must be a list of {size} sums, one per attribute, got {total!r}"
            )
        if len(total) != size:
            raise ValueError(f"total must be {size} sums, one per attribute, got {len(total)}")
        sums: State = [np.array([n], dtype=np.int64)]
        for place, (part, own) in enumerate(zip(self._parts, total, strict=True)):
            try:
                sums += part.published(own, n)
            except (TypeError, ValueError) as error:
                raise type(error)(f"attribute {place} of joint: {error}") from None
        return sums

    @property
    def subject(self) -> Subject:
        """The subjects of all attributes."""
        return tuple(part.subject for part in self._parts)

    def results(self, state: Sequence[NDArray[Any]]) -> Results:
        """Return one entry per attribute."""
        check_some(state)
        states = _split(self._parts, state[1:])
        return tuple(part.results(own) for part, own in zip(self._parts, states, strict=True))

    def largest_shifts(self, state: Sequence[NDArray[Any]], corrupted: int, n: int) -> Truth:
        """Return one entry per attribute."""
        pairs = zip(self._parts, _split(self._parts, state[1:]), strict=True)
        return tuple(part.largest_shifts(own, corrupted, n) for part, own in pairs)

    def truth(self, values: Values) -> Truth:
        """Return one entry per attribute."""
        return tuple(part.truth(own) for part, own in zip(self._parts, values, strict=True))


class MixtureTally(Tally):
    """One tally per part, of the users who ran it.

    Those are a random sample of all users, so each part has an unbiased estimate for all users. If
    the parts read one value and estimate the same thing, their weighted mean is taken, else there
    is one entry each.

    Args:
        randomizer: the composition.
        parts: the tallies of its parts.
        shared: whether all parts read one value.
    """

    def __init__(self, randomizer: Mixture, parts: Sequence[Tally], *, shared: bool) -> None:
        self.randomizer: Mixture = randomizer
        self._parts = tuple(parts)
        self._is_combined = shared and len({part.subject for part in self._parts}) == 1

    @property
    def arrays(self) -> int:
        """One, and those of all parts."""
        return 1 + sum(part.arrays for part in self._parts)

    def count(self, reports: NDArray[Any]) -> State:
        """Return the sums of all parts, one after the other."""
        chosen = self.randomizer.reports_of(reports)
        sums: State = [np.array([sum(own.size for own in chosen)], dtype=np.int64)]
        for part, own in zip(self._parts, chosen, strict=True):
            sums += part.count(own)
        return sums

    @property
    def subject(self) -> Subject:
        """The common subject, or those of all parts."""
        if self._is_combined:
            return self._parts[0].subject
        return tuple(part.subject for part in self._parts)

    def results(self, state: Sequence[NDArray[Any]]) -> Results:
        """Return the mean over the parts, or one entry per part."""
        check_some(state)
        pairs = zip(self._parts, _split(self._parts, state[1:]), strict=True)
        if self._is_combined:
            return combine([part.results(own) for part, own in pairs if number_of(own)])
        return tuple(part.results(own) for part, own in pairs)

    def truth(self, values: Values) -> Truth:
        """Return the truth about the common input, or one entry per part."""
        if self._is_combined:
            return self._parts[0].truth(values[0])
        return tuple(part.truth(own) for part, own in zip(self._parts, values, strict=True))


class SubsampleTally(Tally):
    """The tally of those who took part: a random sample of all users.

    Args:
        randomizer: the mechanism.
        part: the tally of the mechanism that a part of the users run.
    """

    def __init__(self, randomizer: Subsample, part: Tally) -> None:
        self.randomizer: Subsample = randomizer
        self._part = part

    @property
    def arrays(self) -> int:
        """One, and those of the mechanism."""
        return 1 + self._part.arrays

    def count(self, reports: NDArray[Any]) -> State:
        """Return the number of all users, and the sums of those who took part."""
        checked = self.randomizer.check_reports(reports)
        present = checked["report"][checked["present"]]
        return [np.array([checked.size], dtype=np.int64), *self._part.count(present)]

    @property
    def subject(self) -> Subject:
        """That of the mechanism."""
        return self._part.subject

    def results(self, state: Sequence[NDArray[Any]]) -> Results:
        """Return what those who took part tell about all."""
        return self._part.results(state[1:])

    def truth(self, values: Values) -> Truth:
        """Return the truth about all users."""
        return self._part.truth(values)


def _split(parts: Sequence[Tally], state: Sequence[NDArray[Any]]) -> list[Sequence[NDArray[Any]]]:
    """Return the sums of each part."""
    found, start = [], 0
    for part in parts:
        stop = start + part.arrays
        found.append(state[start:stop])
        start = stop
    return found
