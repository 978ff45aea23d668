"""A lower bound from datasets whose other users are spread evenly."""

from __future__ import annotations

from typing import ClassVar, Literal

from flint import arb

from shuffledp.basics.balls import precision
from shuffledp.basics.errors import NoAnswerError
from shuffledp.comparison.published.numeric import NumericBaseline
from shuffledp.decomposition import Component, Decomposition
from shuffledp.mechanisms import KRR


class GhaziUniform(NumericBaseline):
    r"""Ghazi et al. (2020), a lower bound for k-ary randomized response.

    As restated in section 5.3 of the decomposition paper: compare the datasets (1, C, ..., C) and
    (2, C, ..., C) in which every other user holds an independent uniform value. Reports of a
    uniform value are uniform, so with :math:`E=e^{\varepsilon_0}`

    .. math:: G=\frac{k}{E+k-1}\left\{E-e^\varepsilon,\ 1-Ee^\varepsilon,\ 1-e^\varepsilon\right\}
              \quad\text{with probabilities}\quad\tfrac1k,\ \tfrac1k,\ \tfrac{k-2}k.

    A mixture of datasets reveals no more than the worst of them, so this is a lower bound for some
    fixed dataset, too.

    Regime: k-ary randomized response only.

    Known flaws: the value of the others was made random only to keep the support of G at three
    points, which the published program needs; one common input reveals more for large
    :math:`\varepsilon_0`. The support is often printed without the factor :math:`k/(E+k-1)`.

    >>> from shuffledp import KRR
    >>> round(GhaziUniform(KRR(k=10, epsilon0=2.0), n=10_000).get_epsilon(1e-6), 4)
    0.0612
    """

    title: ClassVar[str] = "Ghazi et al. 2020, uniform background"
    kind: ClassVar[Literal["upper", "lower"]] = "lower"
    knows_level_only: ClassVar[bool] = False

    def decomposition(self) -> Decomposition:
        """Return the decomposition with c = 1/k for each output."""
        mechanism = self.randomizer
        if type(mechanism) is not KRR:  # one derived from it may state another law
            raise NoAnswerError("it is known for k-ary randomized response (krr) only")
        with precision():
            k, level = mechanism.k, arb(mechanism.epsilon0)
            low = -(level.expm1() / k).log1p()  # log(k/(E+k-1))
            high, share = level + low, arb(1) / k
            components = [Component(high, low, share), Component(low, high, share)]
            if k > 2:
                components.append(Component(low, low, (k - 2) * share))
            return Decomposition(tuple(components), arb(0))
