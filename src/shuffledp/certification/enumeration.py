r"""Enumeration in balls: all ways in which n draws can fall on the atoms.

.. math:: \frac1nE[S_+] = \frac1n\sum_{k_1+\dots+k_J=n} n!\prod_j\frac{w_j^{k_j}}{k_j!}\,
          \Bigl(\sum_j k_jg_j\Bigr)_+

Nothing is approximated.
"""

from __future__ import annotations

import math

from flint import arb

from shuffledp.certification.law import Law
from shuffledp.engine.balls import positive_part
from shuffledp.engine.enclosure import Enclosure

_MAX_USERS = 20_000


def enumeration_size(law: Law, n: int) -> float:
    """Return the number of terms, infinity if it is out of question."""
    atoms = len(law.atoms) + 1
    if n > _MAX_USERS or (atoms > 12 and n > 2):
        return math.inf
    return math.comb(n + atoms - 1, atoms - 1)


def enumerate_mean(law: Law, n: int) -> Enclosure:
    """Enclose (1/n) E[(G_1+...+G_n)_+] by all its terms."""
    values = [arb(0), *(atom.value for atom in law.atoms)]
    masses = [law.zero, *(atom.weight for atom in law.atoms)]
    tables = [_powers(mass, n) for mass in masses]
    method = {"name": "enumeration", "terms": int(enumeration_size(law, n))}
    scale = arb.fac_ui(n) / n
    mean = scale * _sum(values, tables, n, arb(0))
    return Enclosure.between(mean, mean, method)


def _powers(mass: arb, n: int) -> list[arb]:
    """Return mass^k/k! for k = 0..n."""
    powers = [arb(1)]
    for k in range(1, n + 1):
        powers.append(powers[-1] * mass / k)
    return powers


def _sum(values: list[arb], tables: list[list[arb]], left: int, start: arb) -> arb:
    """Sum over the counts of the atoms listed, ``left`` in all, of products times the sum_+."""
    value, table = values[-1], tables[-1]
    if len(values) == 1:
        return table[left] * positive_part(start + left * value)
    result = arb(0)
    for count in range(left + 1):
        rest = _sum(values[:-1], tables[:-1], left - count, start + count * value)
        if not rest.is_zero():
            result += table[count] * rest
    return result
