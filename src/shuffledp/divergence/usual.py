r"""Sums whose summands nearly all have their usual value, seen from the saddle point.

Let block b be :math:`n_b` copies of a law with atoms j of weight :math:`w_j` and value
:math:`g_j`, one of which is the *usual* one, and let :math:`k_j` count how often the others are
drawn. Inside a window :math:`k_j\le K_j` there are few outcomes, and all of them are enumerated:

.. math:: P(k)=\frac{n!}{(n-|k|)!}\,w_0^{n-|k|}\prod_j\frac{w_j^{k_j}}{k_j!},\qquad
          S=(n-|k|)g_0+\sum_jk_jg_j .

What lies outside is small as seen from a tilt theta > 0. With :math:`f\le\kappa e^{\theta x}`
(:mod:`shuffledp.divergence.kernel`) and :math:`M=Ee^{\theta G}`, independence gives

.. math:: E[f(S);\,k_j\ge m]\le\kappa\,E[e^{\theta S};\,k_j\ge m]
          \le\kappa\binom nm(w_je^{\theta g_j})^mM^{n-m}\prod_{\text{other blocks}}M_b^{n_b}
          \le\kappa\,Ee^{\theta S}\,\frac{\lambda_j^m}{m!},\qquad
          \lambda_j=\frac{nw_je^{\theta g_j}}M,

because if atom j is drawn m times or more, some m summands all have it. The sum over j, with
:math:`m=K_j+1`, is added to the upper end. So enclosures hold for every tilt and all windows, and
are narrow where the contour needs most nodes: few values, far apart, near a lattice.
"""

from __future__ import annotations

import math

import numpy as np

from shuffledp.arrays import UNIT, FloatArray, IntArray
from shuffledp.divergence.blocks import Block, BlockSum
from shuffledp.divergence.contour import chernoff_bound
from shuffledp.divergence.elementary import log_sum
from shuffledp.divergence.enclosure import LogEnclosure
from shuffledp.divergence.enumeration import Outcomes, mean_of_outcomes
from shuffledp.divergence.kernel import HINGE, Kernel
from shuffledp.divergence.proposals.windows import choose_windows
from shuffledp.divergence.tilt import TiltedLaw

_VAGUE = 0.5  # a bound on M is given up if errors of values may take more
_CLOSER, _SHARE_OF_OUTSIDE = 1e-6, 0.3  # wider windows, if what lies outside takes more of rtol
_LEAST_LOG = -1e5  # of a rate: what is smaller is rounded up


def usual_log_mean(total: BlockSum, rtol: float, kernel: Kernel = HINGE) -> LogEnclosure | None:
    """Enclose log E f(S) for a sum that can be positive; None if there are too many outcomes.

    What is said is no wider than ``rtol`` but for rounding, or hardly so.

    >>> from shuffledp.decomposition import Law
    >>> law = Law(np.array([1.0, 0.0, -9.5]), np.array([1e-4, 0.9, 0.0999]), *np.zeros((2, 3)))
    >>> found = usual_log_mean(BlockSum.of((law, 500)), 1e-6)
    >>> exact = [math.comb(500, k) * 1e-4**k * 0.9 ** (500 - k) * k for k in range(1, 10)]
    >>> found.width < 1e-6, found.lower <= math.log(math.fsum(exact)) <= found.upper
    (True, True)
    """
    bound = chernoff_bound(total, kernel)
    rates = [_log_rates(*part) for part in zip(bound.total.blocks, bound.tilted.laws, strict=True)]
    best = None
    for share in (1.0, _CLOSER):
        windows = choose_windows(rates, [block.times for block in total.blocks], share * rtol)
        if windows is None:
            break
        windows = [_with_one_usual(window) for window in windows]
        blocks = list(zip(total.blocks, windows, strict=True))
        inside = mean_of_outcomes(total, (_outcomes(*block) for block in blocks), kernel)
        outside = [_log_outside(*part) for part in zip(rates, windows, total.blocks, strict=True)]
        upper = log_sum([inside.upper, bound.log_mean + log_sum(outside)])
        # A sum of logarithms, and one of exponentials.
        slack = 16 * UNIT * (1 + abs(bound.log_mean) + len(blocks))
        above = LogEnclosure(-math.inf, upper).widen(slack)
        found = LogEnclosure(inside.lower, above.upper)
        best = found if best is None else best.intersect(found)
        if upper - inside.upper <= _SHARE_OF_OUTSIDE * rtol:
            break
    return best


def _with_one_usual(window: IntArray) -> IntArray:
    """Return a window for every atom but one, the usual one, which has -1, whatever is proposed."""
    usual = int(np.argmin(window))
    window = np.maximum(window, 0)
    window[usual] = -1
    return window


def _log_rates(block: Block, tilted: TiltedLaw) -> FloatArray:
    """Bound the logarithms of all lambda from above, in units of the tilt."""
    law = block.law
    # Values may be smaller by their errors, and M with them.
    shrink = 1 - tilted.value_shift * (1 + 4 * UNIT)
    if not (shrink > _VAGUE and tilted.log_mgf_error < math.inf):
        return np.full(law.size, math.inf)
    least = tilted.log_mgf - tilted.log_mgf_error + math.log(shrink)
    log_weights, log_n = np.log(law.weights), math.log(block.times)
    sizes = np.abs(law.values) + np.abs(log_weights) + abs(least) + log_n
    rates = log_n + log_weights + law.values - least
    rates += law.weight_error + law.value_error + 8 * UNIT * (1 + sizes)
    return np.maximum(rates, _LEAST_LOG)


def _log_outside(log_rates: FloatArray, window: IntArray, block: Block) -> float:
    """Bound the logarithm of the tilted probability that some atom is drawn too often."""
    beyond = (window >= 0) & (window < block.times)
    if not beyond.any():
        return -math.inf
    m = window[beyond] + 1
    log_factorials = np.array([math.lgamma(k + 1.0) for k in range(int(m.max()) + 1)])[m]
    terms = m * log_rates[beyond]
    logs = terms - log_factorials
    top = float(logs.max())
    value = top + math.log(float(np.exp(logs - top).sum()))
    # Products and logarithms of factorials are good to 8 units, the sum to one for each atom.
    return value + 16 * UNIT * (float((np.abs(terms) + log_factorials).max()) + m.size + 8)


def _outcomes(block: Block, window: IntArray) -> Outcomes:
    """Return all outcomes of a block inside its window; the usual atom has the window -1."""
    law, n = block.law, block.times
    usual, drawn = int(np.argmin(window)), np.flatnonzero(window > 0)
    shape = (window[drawn] + 1).tolist()
    counts = np.indices(shape).reshape(drawn.size, math.prod(shape)).T
    counts = counts[counts.sum(axis=1) <= n]
    others = counts.sum(axis=1)
    most = int(others.max())
    log_factorial = np.array([math.lgamma(k + 1.0) for k in range(most + 1)])
    falling = np.append(0.0, np.cumsum([math.log(n - k) for k in range(most)]))  # of n, by others
    log_weights, times = np.log(law.weights), counts.astype(np.float64)
    left = (n - others).astype(np.float64)
    ways = falling[others] - log_factorial[counts].sum(axis=1)
    chances = times @ log_weights[drawn] + left * log_weights[usual]
    values, sizes = law.values, np.abs(law.values)
    # Logarithms are good to 4 units, those of factorials to 8 of the largest; products and sums of
    # so many terms to one for each.
    log_size = (most + drawn.size + 16) * float(falling[most] + log_factorial[most])
    log_size += (drawn.size + 10) * float(np.abs(chances).max())
    log_error = n * float(law.weight_error[usual])
    if drawn.size:
        log_error += most * float(law.weight_error[drawn].max())
    return Outcomes(
        sums=times @ values[drawn] + left * values[usual],
        sum_error=times @ law.value_error[drawn]
        + left * law.value_error[usual]
        + (drawn.size + 4) * UNIT * (times @ sizes[drawn] + left * sizes[usual]),
        log_probability=ways + chances,
        log_error=log_error + UNIT * log_size,
    )
