"""Of which sums it can be proved what they reveal by themselves, derived from the mechanisms."""

from __future__ import annotations

from shuffledp.basics.wording import shorten
from shuffledp.mechanisms import (
    OUE,
    RAPPOR,
    BinaryLocalHash,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    LocalHash,
    LocalRandomizer,
    UnaryEncoding,
)
from shuffledp.mechanisms.sampling.hashing import AllFunctions

#: Up to so many users the worst dataset of sums of bits is found within a minute or so.
MAX_USERS = 10**7

_UNARY, _HASHING = (RAPPOR, OUE, UnaryEncoding), (BinaryLocalHash, LocalHash)


def is_noise(randomizer: LocalRandomizer) -> bool:
    """Whether a report is the value plus noise, so that the sum is that of values and of noise."""
    # Exactly these classes: one derived from them may state another law.
    return type(randomizer) in (Gaussian, Laplace, DiscreteLaplace)


def has_bits(randomizer: LocalRandomizer) -> bool:
    """Whether a report supports every value independently, given the user's.

    Bits of unary encodings do, and values hashed by a function that is drawn among all.
    """
    if type(randomizer) in _UNARY:
        return True
    if not isinstance(randomizer, _HASHING) or type(randomizer) not in _HASHING:
        return False
    size = randomizer.domain_size
    return size is not None and isinstance(randomizer.hash_family, AllFunctions)


def why_unknown(randomizer: LocalRandomizer, n: int) -> str | None:
    """Return why the prover does not know the sum of n reports, None if it does.

    >>> from shuffledp.mechanisms import parse
    >>> why_unknown(parse("oue(1)"), 10**7) is None
    True
    >>> why_unknown(parse("oue(1)"), 10**8)
    'sums of bits are proved for up to 10,000,000 users'
    """
    if is_noise(randomizer):
        return None
    if not has_bits(randomizer):
        return (
            f"what the sum of reports of {shorten(str(randomizer))} reveals by itself is not known "
            "to the prover, which knows sums of noise and of independent bits"
        )
    return None if n <= MAX_USERS else f"sums of bits are proved for up to {MAX_USERS:,} users"
