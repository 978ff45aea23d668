r"""Normal noise against a transform on a ray of the plane, in 200 bits, with no cells and no tilt.

Both tails of G are those of a lognormal law, so :math:`Ee^{zG}` exists on the imaginary axis only.
But :math:`\varphi(t)=Ee^{itG}` goes on to the ray of angle :math:`-\psi` if the outputs turn with
it: with ratios :math:`u=e^{s/\sigma}` at s from the middle, :math:`u-1=qe^{i\alpha}` for q > 0
makes :math:`it(u-1)` a negative number. On the ray nothing oscillates, and

.. math:: E[S_+]=ES\Big(\frac12-\frac\psi\pi\Big)
          +\frac1\pi\mathrm{Re}\int_0^\infty\frac{1-\varphi(re^{-i\psi})^n}{r^2}e^{i\psi}\,dr .

Both integrals are taken in logarithms, by the trapezoidal rule with one step, so that a transform
at all nodes is one product of polynomials.
"""

from __future__ import annotations

import math

import pytest
from flint import acb, acb_poly, arb, ctx

from shuffledp.divergence import log_delta_at
from shuffledp.divergence.engine import log_delta
from shuffledp.divergence.smooth import _log_delta
from shuffledp.randomizers import Gaussian, Pair

STEP = 0.07
BITS = 200
FAINT = 34.0  # logarithm of what is left out


def exact_log_deltas(sigma: float, epsilon: float, numbers: list[int]) -> list[float]:
    """Return log delta for some numbers of users, of deltas that are good to 2e-11."""
    before, ctx.prec = ctx.prec, BITS
    try:
        return [math.log(float(x.mid())) for x in _deltas(sigma, epsilon, numbers)]
    finally:
        ctx.prec = before


def _deltas(sigma: float, epsilon: float, numbers: list[int]) -> list[arb]:
    pi, step, scale, growth = arb.pi(), arb(STEP), arb(sigma), arb(epsilon).exp()
    half = 1 / (2 * scale)
    lowest = 1 / sigma**2 + FAINT + epsilon
    outputs = range(int(-2 * lowest / STEP), int((12 / sigma + epsilon) / STEP))
    nodes = range(int(-lowest / STEP), int(FAINT / STEP))

    def weight(k: int, turn: acb, unit: arb) -> acb:
        q = (step * k).exp() / unit
        u = 1 + turn * q
        s = scale * u.log()
        return (-((s + half) ** 2) / 2).exp() / (2 * pi).sqrt() * scale * turn / u * q * step

    gains, losses = (acb(0, angle * pi / 4).exp() for angle in (3, -1))
    weights = [weight(k, gains, arb(1)) + weight(k, losses, growth) for k in outputs]
    sums = range(outputs[0] + nodes[0], outputs[-1] + nodes[-1] + 1)
    falls = [acb((-(step * m).exp()).exp()) if m * STEP < 10 else acb(0) for m in sums]
    transforms = acb_poly(weights[::-1]) * acb_poly(falls)
    rest = 1 - (half / arb(2).sqrt()).erfc()
    totals = [arb(0) for _ in numbers]
    for place, j in enumerate(nodes):
        r = (step * j).exp()
        shift = (acb(0, -1) * losses * r * (growth - 1)).exp()
        phi = rest + shift * transforms[len(weights) - 1 + place]
        for i, n in enumerate(numbers):
            totals[i] += ((1 - phi**n) * losses.conjugate() / r * step).real
    # Beyond the last node only the 1 and the part without gains are left of the integral.
    end = (step * (nodes[-1] + 1) - step / 2).exp()
    return [
        (1 - growth) / 4 + (total + (1 - rest**n) * losses.real / end) / (pi * n)
        for total, n in zip(totals, numbers, strict=True)
    ]


def test_one_user_has_the_delta_of_the_normal_mechanism():
    def normal(x: float) -> float:
        return math.erfc(-x / math.sqrt(2)) / 2

    sigma, epsilon = 0.6, 1.0
    half, moved = 0.5 / sigma, epsilon * sigma
    exact = normal(half - moved) - math.exp(epsilon) * normal(-half - moved)
    assert exact_log_deltas(sigma, epsilon, [1])[0] == pytest.approx(math.log(exact), abs=1e-12)


@pytest.mark.parametrize(
    ("sigma", "epsilon", "numbers"),
    [(0.35, 4.0, [8, 40]), (0.44, 4.5, [60, 1200]), (1.0, 0.5, [8, 24, 60])],
)
def test_nodes_jumps_and_cells_hold_the_delta_of_normal_noise(sigma, epsilon, numbers):
    made = Gaussian(sigma=sigma).blanket(Pair(0, 1))
    assert made.smooth is not None
    for n, exact in zip(numbers, exact_log_deltas(sigma, epsilon, numbers), strict=True):
        found = [log_delta_at(made, n, epsilon, rtol=rtol) for rtol in (1e-2, 1e-6)]
        found.append(log_delta(made.at(epsilon), n))
        found.append(_log_delta(made.smooth, n, epsilon, 1e-4, 1e-3))
        error = 2e-11 * math.exp(-exact)
        assert error < 1e-5
        for one in found:
            assert one.lower - error <= exact <= one.upper + error
        assert min(one.width for one in found) < 0.02
