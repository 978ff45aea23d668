"""The lower bound as the paper evaluates it for two inputs."""

from __future__ import annotations

from typing import ClassVar, Literal

from shuffledp.comparison.published.numeric import NumericBaseline
from shuffledp.decomposition import Decomposition


class SecondInputBackground(NumericBaseline):
    """All other users hold the second of the two inputs of the user who changes.

    The paper chooses these datasets where there are only two inputs, as for Laplace noise on
    {0, 1} (section 5.3). They are neighbouring datasets, so the bound is valid; but if the others
    hold the first input the report of the one who changes stands out far more.

    >>> from shuffledp import Laplace, ShuffleAccountant
    >>> laplace = Laplace(epsilon0=4.0)
    >>> poor = SecondInputBackground(laplace, n=1000).get_epsilon(1e-6)
    >>> poor < ShuffleAccountant(laplace, n=1000).epsilon_lower_bound(1e-6)
    True
    """

    title: ClassVar[str] = "all others hold the second input"
    kind: ClassVar[Literal["upper", "lower"]] = "lower"

    def decomposition(self) -> Decomposition:
        """Return the decomposition with c the law of the second input."""
        pair = self.randomizer.neighbours()[0]
        return self.randomizer.decomposition(pair, pair.second)
