"""Estimates from users of different levels: a file for each tier, or one sum of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from shuffledp.accounting import Group
from shuffledp.collection.tiers import Mixture, estimate_tiers
from shuffledp.deployment.files.attributes import leaves
from shuffledp.deployment.files.estimation import (
    Estimation,
    Section,
    checked_sidecar,
    refuse_copies,
    sums_of,
    told_columns,
)
from shuffledp.deployment.files.problems import DataError
from shuffledp.deployment.files.published import read_published


@dataclass(frozen=True, eq=False)
class PooledEstimation(Estimation):
    """What the sum of tiers tells that cannot be told apart.

    Attributes:
        loss: how many times larger standard errors are than with the same tiers known.
    """

    loss: float = 1.0


def estimate_tier_files(paths: Sequence[Path]) -> Estimation:
    """Estimate from a file of reports for each tier, each debiased by its own law.

    Raises:
        DataError: if a file or its sidecar cannot be read or does not match the other, or if the
            files estimate different things.
    """
    sidecars = tuple(checked_sidecar(path) for path in paths)
    refuse_copies(paths, sidecars)
    for path, sidecar in zip(paths, sidecars, strict=True):
        if sidecar.columns != sidecars[0].columns:
            raise DataError(
                f"{str(path)!r} must have the same columns and labels as {str(paths[0])!r}"
            )
    aggregators = [sums_of(file) for file in zip(paths, sidecars, strict=True)]
    try:
        estimates = list(leaves(estimate_tiers(aggregators)))
    except ValueError as error:
        raise DataError(f"tiers {error}".replace("tiers aggregators", "tiers", 1)) from None
    columns = told_columns(paths[0], sidecars[0])
    sections = tuple(
        Section(column, mechanism, part.estimates == "mean", estimate)
        for (column, part, mechanism), estimate in zip(columns, estimates, strict=True)
    )
    texts = dict.fromkeys(sidecar.mechanism for sidecar in sidecars)
    n = sum(aggregator.n for aggregator in aggregators)
    return Estimation("; ".join(texts), n, sidecars, sections)


def estimate_pooled_counts(path: Path, groups: Sequence[Group]) -> PooledEstimation:
    """Estimate from the counts of all reports of tiers that nobody can tell apart.

    Args:
        path: a JSON or CSV file with counts, see
            :func:`shuffledp.deployment.files.published.read_published`.
        groups: the tiers.

    Raises:
        DataError: if the file cannot be read, or holds no counts of such reports.
    """
    published = read_published(path)
    try:
        mixture = Mixture.of([(group.randomizer, group.n) for group in groups])
        published.added_up(mixture.first)  # refuses what is no count of such reports
        estimate = mixture.estimate(np.asarray(published.only.total), published.n)
    except ValueError as error:
        raise DataError(f"{str(path)!r}: {error}") from None
    column = published.only.column(mixture.first, "counts")
    section = Section(column, None, False, estimate)
    text = "; ".join(f"{group.randomizer}={group.n}" for group in groups)
    loss = mixture.loss(estimate.values.size)
    return PooledEstimation(text, published.n, (), (section,), loss=loss)
