"""Exact sampling from random bits: what a local randomizer needs to run."""

from shuffledp.mechanisms.sampling.bernoulli import decide, decide_packed
from shuffledp.mechanisms.sampling.bits import Bits
from shuffledp.mechanisms.sampling.categorical import Categorical
from shuffledp.mechanisms.sampling.probability import Exponential, Logistic, Probability, Rational
from shuffledp.mechanisms.sampling.uniform import below

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
