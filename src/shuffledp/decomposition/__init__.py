"""The algebra of general-clone decompositions and the random variable they induce."""

from shuffledp.decomposition.decomposition import Decomposition
from shuffledp.decomposition.gparv import GPARV, Law

__all__ = ["GPARV", "Decomposition", "Law"]
