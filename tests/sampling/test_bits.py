"""Random bits."""

from __future__ import annotations

import os

import numpy as np
import pytest
from fit import assert_fits

from shuffledp.mechanisms.sampling import Bits


@pytest.mark.parametrize("secure", [False, True])
def test_words_are_uniform_in_every_byte(secure):
    bits = Bits(None if secure else np.random.default_rng(1))
    octets = bits.words(20_000).view(np.uint8).reshape(-1, 8)
    if secure:  # not repeatable: only what holds almost surely
        assert all(set(column) == set(range(256)) for column in octets.T)
    else:
        for column in octets.T:
            assert_fits(np.bincount(column, minlength=256), np.full(256, 1 / 256))


def test_a_generator_makes_the_same_words_again():
    first, second = (Bits(np.random.default_rng(7)).words(100) for _ in range(2))
    assert (first == second).all()


def test_secure_words_differ_and_can_be_written_to():
    words = Bits(None).words(4)
    words[0] = 1
    assert set(Bits(None).words(4)) != set(Bits(None).words(4))


def test_nothing_is_kept_between_requests(monkeypatch):
    asked = []

    def urandom(size: int) -> bytes:
        asked.append(size)
        return bytes(size)

    monkeypatch.setattr(os, "urandom", urandom)
    bits = Bits(None)
    assert bits.words(3).tolist() == [0, 0, 0]
    assert bits.bytes(5).size == 5
    assert asked == [24, 8]


@pytest.mark.parametrize("rng", [1, "seed", np.random.RandomState(1), np.random])
def test_other_sources_are_refused(rng):
    with pytest.raises(TypeError, match=r"rng must be a numpy\.random\.Generator"):
        Bits(rng)
