"""Decompositions: how a pair of inputs becomes a law of gains."""

from shuffledp.decomposition.decomposition import Component, Decomposition, Singular
from shuffledp.decomposition.gains import Gains
from shuffledp.decomposition.product import product_of

__all__ = ["Component", "Decomposition", "Gains", "Singular", "product_of"]
