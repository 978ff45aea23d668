r"""Types of background for discrete Laplace noise, in balls: all pairs x < x' and all inputs v.

Noise does not depend on the input, so a law depends on x' - x and v - x alone, and reflection gives
the other pairs.
"""

from __future__ import annotations

from fractions import Fraction

from shuffledp.basics.balls import ball, precision, upper_double
from shuffledp.decomposition.decomposition import Component, Decomposition


def lattice_types(
    rate: Fraction, bound: int
) -> tuple[tuple[Decomposition, ...], tuple[float, ...]]:
    r"""Return the types, and for each the largest epsilon at which its pair reveals anything.

    Args:
        rate: :math:`\kappa`; noise z has a probability proportional to :math:`e^{-\kappa|z|}`.
        bound: inputs are 0, 1, ... up to this.

    >>> types, levels = lattice_types(Fraction(1, 2), 2)
    >>> len(types), sorted(set(levels))
    (7, [0.5, 1.0])
    """
    pairs = [(d, v) for d in range(1, bound + 1) for v in range(d - bound, bound + 1)]
    with precision():
        types = tuple(_decompose(rate, distance, holder) for distance, holder in pairs)
        return types, tuple(upper_double(ball(rate * distance)) for distance, _ in pairs)


def _decompose(rate: Fraction, distance: int, holder: int) -> Decomposition:
    """Return the decomposition with c = R(holder) for the pair of 0 and ``distance``.

    All outputs beyond all three inputs have the same ratios as the outermost input.
    """
    kappa = ball(rate)
    share = 1 / (1 + (-kappa).exp())
    lowest, highest = min(0, holder), max(distance, holder)
    components = []
    for output in range(lowest, highest + 1):
        far = abs(output - holder)
        first, second = (rate * (far - abs(output - x)) for x in (0, distance))
        log0 = ball(first)
        log1 = log0 if first == second else ball(second)
        mass = share * (-kappa * far).exp()
        if lowest < output < highest:
            mass = -mass * (-kappa).expm1()
        components.append(Component(log0, log1, mass))
    return Decomposition(tuple(components), ball(0))
