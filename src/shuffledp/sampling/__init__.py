"""Exact sampling from random bits: what a local randomizer needs to run."""

from shuffledp.sampling.bernoulli import decide, decide_packed
from shuffledp.sampling.bits import Bits
from shuffledp.sampling.categorical import Categorical
from shuffledp.sampling.probability import Exponential, Logistic, Probability, Rational
from shuffledp.sampling.uniform import below

__all__ = [
    "Bits",
    "Categorical",
    "Exponential",
    "Logistic",
    "Probability",
    "Rational",
    "below",
    "decide",
    "decide_packed",
]
