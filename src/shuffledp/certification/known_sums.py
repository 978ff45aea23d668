"""Of which sums it can be proved what they reveal by themselves."""

from __future__ import annotations

from shuffledp.randomizers import LocalRandomizer
from shuffledp.randomizers.aggregate import BitSums, GeometricSum, LaplaceSum, NormalSum
from shuffledp.wording import shorten

#: Up to so many users the worst dataset of sums of bits is found within a minute or so.
MAX_USERS = 10**7


def why_unknown(randomizer: LocalRandomizer, n: int) -> str | None:
    """Return why the prover does not know the sum of n reports, None if it does.

    >>> from shuffledp.randomizers import parse
    >>> why_unknown(parse("oue(1)"), 10**7) is None
    True
    >>> why_unknown(parse("oue(1)"), 10**8)
    'sums of bits are proved for up to 10,000,000 users'
    """
    seen = randomizer.aggregate
    if isinstance(seen, NormalSum | LaplaceSum | GeometricSum):
        return None
    if not isinstance(seen, BitSums):
        return (
            f"what the sum of reports of {shorten(str(randomizer))} reveals by itself is not known "
            "to the prover, which knows sums of noise and of independent bits"
        )
    return None if n <= MAX_USERS else f"sums of bits are proved for up to {MAX_USERS:,} users"
