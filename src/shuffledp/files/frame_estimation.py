"""From frames of reports, in the hands of a dask cluster, to estimates."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from fractions import Fraction
from functools import partial
from typing import Any, cast

from shuffledp.cluster import Client, merged
from shuffledp.collection import Aggregator
from shuffledp.files.columns import Column
from shuffledp.files.estimation import Estimation, add_up, asked, estimation_of, together
from shuffledp.files.frame_reports import FrameReports
from shuffledp.files.frame_table import DaskFrame, partitions
from shuffledp.files.mechanism_text import self_contained
from shuffledp.files.problems import DataError
from shuffledp.files.reports import TITLE
from shuffledp.randomizers import LocalRandomizer, as_randomizer

_EXPECTED = "frame must be a dask DataFrame (an Aggregator adds up what is in memory)"


def estimate_frame(
    frame: DaskFrame,
    randomizer: LocalRandomizer | str,
    columns: Sequence[Column],
    corrupted: float | Fraction = 0,
    *,
    client: Client | None = None,
) -> Estimation:
    """Estimate from a dask DataFrame of reports, one user per row, partition by partition.

    The workers add up every partition on its own and merge the sums as
    :func:`shuffledp.files.estimate_files` does: if every partition holds the reports of one file,
    the estimates are the same to the last bit. A frame has no sidecar. So the caller says what a
    sidecar would, nobody checks that the reports are those that were written, and the result
    states no guarantee: ``ShuffleAccountant(randomizer, estimation.n)`` does.

    Args:
        frame: its column ``report`` holds what files of reports hold: numbers, or bytes, also in
            hexadecimal. Other columns are not looked at.
        randomizer: the mechanism that made the reports, or its text.
        columns: what the reports are about, as :class:`shuffledp.files.Randomization` was told:
            one column per attribute, with its labels.
        corrupted: how many users may have chosen their reports, a number or a share.
        client: of the dask cluster whose workers hold the partitions, or compute them.

    Raises:
        TypeError: if the frame is none of dask, there is no client, or nothing can be estimated
            from such reports.
        ValueError: if mechanism, columns and labels do not fit together.
        DataError: if the frame has no rows or not one column ``report``, if a cell is no report of
            this mechanism, if a partition that was lost has another number of rows when it is
            computed again, or if the reports do not determine the frequencies.
        ClusterError: if the cluster is lost.

    >>> import dask.dataframe
    >>> import pandas
    >>> from shuffledp.cluster import connected
    >>> from shuffledp.files import Column
    >>> reports = pandas.DataFrame({"report": [0] * 700 + [1] * 300})
    >>> frame = dask.dataframe.from_pandas(reports, npartitions=4)
    >>> page = Column("page", ("news", "mail"))
    >>> with connected("local:1") as client:  # or distributed.Client("tcp://...")
    ...     estimation = estimate_frame(frame, "krr(k=2, epsilon0=2)", [page], client=client)
    >>> [section] = estimation.sections
    >>> estimation.n, section.values, section.estimate.values.round(4).tolist()
    (1000, ['news', 'mail'], [0.7626, 0.2374])
    """
    aggregator, told = asked(self_contained(as_randomizer(randomizer)), columns)
    parts, rows = partitions(frame, [TITLE], client, expected=_EXPECTED)
    if not rows:
        raise DataError("the frame has no rows")
    workers = cast("Client", client)  # partitions refuses None
    total = merged(partial(sums_of_partition, aggregator), parts, together, workers)
    return estimation_of(total, told, (), corrupted)


def sums_of_partition(empty: Aggregator, part: tuple[Any, int]) -> Aggregator:
    """Add up the reports of a partition, which must have as many rows as when it was counted."""
    frame, rows = part
    aggregator = copy(empty)  # a worker may have to do this once more
    add_up(aggregator, FrameReports(frame, rows, aggregator.randomizer.report_dtype))
    return aggregator
