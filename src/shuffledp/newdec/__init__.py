"""Decompositions: how a pair of inputs becomes a law of gains."""

from shuffledp.newdec.decomposition import Component, Decomposition, Singular
from shuffledp.newdec.gains import Gains
from shuffledp.newdec.product import product_of

__all__ = ["Component", "Decomposition", "Gains", "Singular", "product_of"]
