"""How far estimates will be from the truth, and which groups are too small to be seen."""

from __future__ import annotations

import math
from collections.abc import Iterator

from shuffledp.accounting.crowd import Crowd
from shuffledp.basics.rounding import round_up
from shuffledp.basics.wording import counted
from shuffledp.collection.frequencies import largest_shift
from shuffledp.mechanisms import Joint, LocalRandomizer, SupportRandomizer, SymmetricNoise
from shuffledp.mechanisms.finite.identity import is_foreign
from shuffledp.planning.frequency_task import Frequency

#: Groups of fewer standard deviations are hard to tell from nobody.
_TOLD_APART = 2


def accuracy(randomizer: LocalRandomizer, crowd: Crowd) -> list[str]:
    """Return in sentences how large errors are; none where no formula is known here.

    >>> from shuffledp import parse
    >>> for sentence in accuracy(parse("krr(k=10, epsilon0=2)"), Crowd(10_000)):
    ...     print(sentence)
    An estimated share is off by at most 1.277 percentage points (one standard deviation).
    A group of fewer than 123 users is smaller than two standard deviations of its estimate.
    """
    return [f"{said}." for said in _errors(randomizer, crowd)]


def _errors(randomizer: LocalRandomizer, crowd: Crowd) -> Iterator[str]:
    n = crowd.n
    if is_foreign(randomizer):
        return
    if isinstance(randomizer, Joint):
        for place, part in enumerate(randomizer.parts):
            yield from (f"Attribute {place}: {said}" for said in _errors(part, crowd))
    elif isinstance(randomizer, SupportRandomizer):
        size = max(randomizer.inputs or 2, 2)
        held, other = Frequency(n=n, domain_size=size).variances(randomizer)
        points = round_up(100 * math.sqrt(max(held, other)))
        yield f"An estimated share is off by at most {points} percentage points {_DEVIATION}"
        if crowd.corrupted:
            moved = round_up(100 * largest_shift(randomizer, crowd.corrupted, n))
            lies = counted(crowd.corrupted, "corrupted user")
            yield f"Besides, {lies} can move it by up to {moved} points by sending what they like"
        few = math.ceil(_TOLD_APART * n * math.sqrt(other))
        yield (
            f"A group of fewer than {counted(few, 'user')} is smaller than two standard deviations "
            "of its estimate"
        )
    elif isinstance(randomizer, SymmetricNoise):
        error = round_up(math.sqrt(randomizer.noise_variance / n))
        numbers = f"numbers from 0 to {randomizer.largest_input:,}"
        yield f"An estimated mean of {numbers} is off by about {error} {_DEVIATION}"
        if crowd.corrupted:
            yield "Besides, corrupted users can move it as far as they like"


_DEVIATION = "(one standard deviation)"
