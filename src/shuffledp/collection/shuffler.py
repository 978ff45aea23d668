"""The shuffler."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.basics.errors import MAX_USERS, check_integer
from shuffledp.mechanisms import LocalRandomizer, as_randomizer
from shuffledp.mechanisms.sampling import Bits
from shuffledp.mechanisms.sampling.checks import bare_vector


def shuffle(
    reports: object,
    rng: np.random.Generator | None = None,
    *,
    dummies: int = 0,
    randomizer: LocalRandomizer | str | None = None,
) -> NDArray[Any]:
    """Return the reports in a uniformly random order, in a new array that holds nothing else.

    Every report gets 64 random bits and they are sorted by these; should two be equal, all are
    drawn again. No index, label or name of the input survives, and of records only their fields:
    what lies between these in memory, such as fields that were not selected, is left behind.

    Args:
        reports: numbers, or records and bytes as :meth:`LocalRandomizer.randomize` returns them: a
            one-dimensional array, list or tuple, or a column of pandas, polars or pyarrow.
        rng: a generator, for simulations that can be repeated; None takes random bits from the
            operating system's secure source.
        dummies: how many reports to add, drawn from the law that hides best: that of the blanket,
            as :class:`shuffledp.MixedAccountant` counts them.
        randomizer: the mechanism that made the reports, which dummies need, or its text.

    >>> sorted(shuffle([3, 1, 4, 1, 5]).tolist())
    [1, 1, 3, 4, 5]

    Raises:
        TypeError: if the reports are of another type, such as text or Python objects.
        ValueError: if they are not one-dimensional.
    """
    array = bare_vector("reports", reports, "biufV", "numbers, or what randomize returns")
    bits = Bits(rng)
    if check_integer("dummies", dummies, 0, MAX_USERS):
        if randomizer is None:
            raise ValueError("dummies need the randomizer that made the reports, got None")
        made = as_randomizer(randomizer)
        added = made.draw_dummies(dummies, bits)
        array = np.concatenate([made.check_reports(array), added])
    while True:
        keys = bits.words(array.size)
        order = np.argsort(keys)
        if (np.diff(keys[order]) > 0).all():
            return _without_gaps(array[order])


def _without_gaps(records: NDArray[Any]) -> NDArray[Any]:
    """Return records whose fields follow each other; other arrays as they are."""
    if records.dtype.names is None:
        return records
    # Loaded here: few reports are records, and numpy itself does not load it.
    from numpy.lib.recfunctions import repack_fields

    packed: NDArray[Any] = repack_fields(records, align=False, recurse=True)
    return packed
