"""What published analyses would have answered, for comparison only.

One of them is no bound, and says so: ``sound``. Each answers ``get_delta(target_epsilon)`` and
``get_epsilon(target_delta)`` like :class:`shuffledp.ShuffleAccountant`, rounds to its safe side,
and outside its regime raises :class:`shuffledp.NoAnswerError`.

>>> from shuffledp import KRR
>>> clone = BASELINES["standard_clone"](KRR(k=10, epsilon0=2.0), n=10_000)
>>> round(clone.get_epsilon(target_delta=1e-6), 4)
0.155
"""

from collections.abc import Mapping
from types import MappingProxyType

from shuffledp.comparison.published.baseline import Baseline
from shuffledp.comparison.published.blanket import (
    BlanketBennett,
    BlanketHoeffding,
    GenericBennett,
    GenericHoeffding,
)
from shuffledp.comparison.published.erlingsson import Erlingsson
from shuffledp.comparison.published.generic import RestoredGeneric
from shuffledp.comparison.published.ghazi import GhaziUniform
from shuffledp.comparison.published.liew import LiewRenyi
from shuffledp.comparison.published.standard_clone import StandardClone, StandardCloneClosedForm
from shuffledp.comparison.published.stronger_clone import StrongerClone
from shuffledp.comparison.published.variation_ratio import VariationRatio

#: Every analysis by the name that programs use.
BASELINES: Mapping[str, type[Baseline]] = MappingProxyType(
    {
        "erlingsson": Erlingsson,
        "generic_hoeffding": GenericHoeffding,
        "generic_bennett": GenericBennett,
        "standard_clone_closed_form": StandardCloneClosedForm,
        "standard_clone": StandardClone,
        "restored_generic": RestoredGeneric,
        "stronger_clone": StrongerClone,
        "blanket_hoeffding": BlanketHoeffding,
        "blanket_bennett": BlanketBennett,
        "liew_renyi": LiewRenyi,
        "variation_ratio": VariationRatio,
        "ghazi_uniform": GhaziUniform,
    }
)

__all__ = [
    "BASELINES",
    "Baseline",
    "BlanketBennett",
    "BlanketHoeffding",
    "Erlingsson",
    "GenericBennett",
    "GenericHoeffding",
    "GhaziUniform",
    "LiewRenyi",
    "RestoredGeneric",
    "StandardClone",
    "StandardCloneClosedForm",
    "StrongerClone",
    "VariationRatio",
]
