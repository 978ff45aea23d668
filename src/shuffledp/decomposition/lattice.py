r"""Products of large decompositions, kept small on a lattice of log ratios.

The upper side of a coarse decomposition has its ratios on the lattice
:math:`\{e^{ih}\}\times\{e^{jh}\}`. Such decompositions are closed under products, so only the first
coarsening loses anything, and m factors of total level L have at most :math:`(L/h+1)^2` components.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, reduce

import numpy as np

from shuffledp.decomposition.decomposition import Decomposition

#: Products have at most about this many components.
MAX_COMPONENTS = 2**15

_ONE = Decomposition.silent()
_FEW = 64  # factors of up to this many components are not coarsened


def product_of(factors: Sequence[Decomposition]) -> Decomposition:
    """Return the product of decompositions, with at most about 2**15 components on either side.

    Equal ratios are merged after every step, so m copies of a five-point law keep (m+1)^2
    components. If that is not enough, the large factors are coarsened to a lattice of log ratios,
    whose step is doubled until the product is small enough.
    """
    small = _multiply([f for f in factors if _size(f) <= _FEW])
    large = [f for f in factors if _size(f) > _FEW]
    if not large:
        return small
    reach = sum(_reach(f) for f in large)
    step = reach / np.sqrt(MAX_COMPONENTS)
    if len(large) == 1:
        step = reach * _size(small) / MAX_COMPONENTS
    while True:
        coarse = [f.coarsen_to_lattice(step) for f in large]
        total = _multiply(coarse)
        if _size(total) * _size(small) <= MAX_COMPONENTS or step > reach:
            return _multiply([total, small])
        step *= 2


def _multiply(factors: Sequence[Decomposition]) -> Decomposition:
    return reduce(_merged_product, factors, _ONE)


# One after the other, backgrounds of a composition have all but their last factors in common.
@lru_cache(maxsize=8)
def _merged_product(first: Decomposition, second: Decomposition) -> Decomposition:
    product = first.product(second).merge()
    return product if _size(product) <= MAX_COMPONENTS else product.coarsen(MAX_COMPONENTS)


def _size(decomposition: Decomposition) -> int:
    return max(decomposition.size, decomposition.upper.size)


def _reach(decomposition: Decomposition) -> float:
    """Return the largest absolute log ratio."""
    logs = np.concatenate([decomposition.upper.log_ratio0, decomposition.upper.log_ratio1])
    return float(np.abs(logs[np.isfinite(logs)]).max())
