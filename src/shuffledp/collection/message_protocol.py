"""Protocols with fabricated messages, as they run: randomize, shuffle, estimate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.basics.errors import MAX_USERS, check_integer
from shuffledp.collection.estimate import Estimate
from shuffledp.collection.shuffler import shuffle
from shuffledp.mechanisms.messages.fabricated import Fabricated, Identity, Reports, as_reports
from shuffledp.mechanisms.sampling import Bits
from shuffledp.mechanisms.sampling.checks import check_integers


@dataclass(frozen=True)
class MessageProtocol:
    """Reports that are shuffled together with fabricated messages, drawn exactly.

    What is drawn is what :class:`shuffledp.FabricatedMessages` accounts. **Clear values have an
    infinite local level**: nothing but the shuffler and the fabricated messages protects them.

    Args:
        reports: clear values, ``identity(k=10)``, or ``krr(k=10, epsilon0=2)``; an object or text.
        fabricated: what is fabricated.
        values: how many different values every user sends.

    >>> from shuffledp.mechanisms.messages.fabricated import PoissonPerValue
    >>> protocol = MessageProtocol("identity(k=3)", PoissonPerValue(0.05))
    >>> rng = np.random.default_rng(1)
    >>> messages = protocol.run([0] * 600 + [2] * 400, rng)
    >>> estimate = protocol.estimate(messages, n=1000)
    >>> bool((abs(estimate.values - [0.6, 0, 0.4]) < 5 * estimate.standard_errors).all())
    True
    """

    reports: Reports
    fabricated: Fabricated
    values: int = 1

    def __post_init__(self) -> None:
        """Check that all fits together."""
        object.__setattr__(self, "reports", as_reports(self.reports))
        object.__setattr__(self, "values", check_integer("values", self.values, 1, self.k))
        self.fabricated.shares(self.k)

    @property
    def k(self) -> int:
        """The number of values."""
        return self.reports.k

    def randomize(self, values: object, rng: np.random.Generator | None = None) -> NDArray[Any]:
        """Return the users' own messages, one for each value."""
        return np.asarray(self.reports.randomize(values, rng)).astype(np.int64)

    def fabricate(self, devices: int, rng: np.random.Generator | None = None) -> NDArray[Any]:
        """Draw the messages that so many honest devices, or somebody for them, fabricate."""
        number = check_integer("devices", devices, 0, MAX_USERS)
        return self.fabricated.draw(number, self.k, Bits(rng))

    def run(self, values: object, rng: np.random.Generator | None = None) -> NDArray[Any]:
        """Return all messages of honest users, shuffled: one user's values follow each other."""
        own = self.randomize(values, rng)
        if own.size % self.values:
            raise ValueError(f"values must be {self.values} of every user, got {own.size} in all")
        fabricated = self.fabricate(own.size // self.values, rng)
        return shuffle(np.concatenate([own, fabricated]), rng)

    def estimate(self, messages: object, n: int, *, fabricating: int | None = None) -> Estimate:
        r"""Estimate which share of the users holds each value, from all messages.

        A count is :math:`n(fp+(1-f)q)` plus what is fabricated, on average, with p = 1 and q = 0
        for clear values.

        Args:
            messages: all of them, from any number of shuffles.
            n: number of users who sent their values.
            fabricating: number of devices that fabricated; n if left out.
        """
        users = check_integer("n", n, 1, MAX_USERS)
        devices = check_integer(
            "fabricating", n if fabricating is None else fabricating, 0, MAX_USERS
        )
        found = check_integers("messages", messages, self.k - 1)
        counts = np.bincount(found, minlength=self.k).astype(np.float64)
        means, variances = self.fabricated.moments(devices, self.k)
        truth, lie = self._chances()
        share = ((counts - means) / users - self.values * lie) / (truth - lie)
        others = self.values - 1
        held = truth * (1 - truth) + others * lie * (1 - lie)
        missing = self.values * lie * (1 - lie)
        noise = variances + users * np.maximum(share * held + (1 - share) * missing, 0.0)
        errors = np.sqrt(noise) / (users * (truth - lie))
        return Estimate(share, errors, users, whole_domain=self.values == 1)

    def _chances(self) -> tuple[float, float]:
        """Return with which probability a report is its value, and any other one."""
        if isinstance(self.reports, Identity):
            return 1.0, 0.0
        ratio = float(np.exp(self.reports.epsilon0))
        return ratio / (ratio + self.k - 1), 1 / (ratio + self.k - 1)
