r"""The proved enclosure of :math:`\delta=\frac1nE[(G_1+\dots+G_n)_+]` for one pair of inputs."""

from __future__ import annotations

from dataclasses import dataclass, replace

from flint import arb

from shuffledp.certification.coarsening import MAX_ATOMS, choose_edges
from shuffledp.certification.contour import contour_mean
from shuffledp.certification.decomposition import Side
from shuffledp.certification.enumeration import enumerate_mean, enumeration_size
from shuffledp.certification.law import Law
from shuffledp.certification.tilt import tilt
from shuffledp.engine.enclosure import Enclosure
from shuffledp.engine.progress import Progress

_QUICK_ENUMERATION = 50_000
_MAX_ENUMERATION = 1_000_000
_QUICK_WORK = 3e7
_MAX_WORK = 1e8
_MAX_GUESSES = 2
_CUT = 0.02  # of the tolerance, for rare gains


@dataclass(frozen=True)
class Question:
    """What is asked about a law: for how many users, how precisely, about how large.

    ``hint`` is a guess of delta; a bad guess costs time or width, never the proof.
    """

    n: int
    rtol: float
    hint: arb
    progress: Progress


def enclose(lower: Law, upper: Law, question: Question) -> Enclosure:
    """Enclose delta for a law between two others in convex order, which may be the same."""
    for _ in range(_MAX_GUESSES):
        above = _evaluate(_cut(upper, question), question, "upper")
        if not above.upper < 0.2 * question.hint or _cut(upper, question) is upper:
            break
        question = replace(question, hint=above.upper)  # so bad a guess cuts too much
    if lower.signature() == upper.signature() and len(upper.atoms) <= MAX_ATOMS:
        return above
    return above.from_below(_evaluate(_cut(lower, question), question, "lower"))


def _cut(law: Law, question: Question) -> Law:
    return law.without_rare_gains(question.hint * (_CUT * question.rtol))


def cheap_upper_bound(law: Law, n: int) -> arb:
    r"""Return :math:`\min(E[G_+],\,M(\theta)^n/(e\theta n))` plus the extra, rounded up."""
    bound = law.positive_mean.upper()
    if n > 1 and law.atoms and law.atoms[-1].value > 0:
        tilted = tilt(law, n)
        chernoff = ((n * tilted.log_mgf - 1).exp() / (tilted.theta * n)).upper()
        bound = min(bound, chernoff)
    return (bound + law.extra).upper()


def _evaluate(law: Law, question: Question, side: Side) -> Enclosure:
    """Enclose delta for a law, or bound it from one side if the law is coarsened."""
    n = question.n
    single = law.positive_mean
    elementary = Enclosure.between(single * law.zero ** (n - 1), single, {"name": "elementary"})
    if elementary.is_narrow(question.rtol) or not (law.atoms and law.atoms[-1].value > 0):
        return elementary.plus(law.extra)
    if len(law.atoms) > MAX_ATOMS:
        law = law.on(choose_edges(law, n, question.rtol, question.hint), side)
    terms = enumeration_size(law, n)
    if terms <= _QUICK_ENUMERATION:
        return enumerate_mean(law, n).plus(law.extra)
    small = terms <= _MAX_ENUMERATION
    work = _QUICK_WORK if small else _MAX_WORK
    found = contour_mean(law, n, question.rtol, question.hint, work, question.progress)
    if small and (found is None or not found.is_narrow(question.rtol)):
        found = enumerate_mean(law, n)
    return (found or elementary).plus(law.extra)
