"""From files of reports to estimates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import singledispatch
from itertools import count
from pathlib import Path
from typing import cast

from shuffledp.collection import Aggregator, Estimate
from shuffledp.collection.estimate import Estimates
from shuffledp.collection.families import Candidates, tally_for
from shuffledp.files.attributes import Attribute, Shape
from shuffledp.files.chunk import rows_per_chunk
from shuffledp.files.columns import Column, candidates_of, readers_for
from shuffledp.files.formats import is_csv, reports_in
from shuffledp.files.problems import DataError
from shuffledp.files.sidecar import Sidecar, read_sidecar
from shuffledp.randomizers import LocalRandomizer, Parallel, Subsample
from shuffledp.randomizers.composition import Composition
from shuffledp.wording import counted


@dataclass(frozen=True, eq=False)
class Section:
    """What the reports tell about one column.

    Attributes:
        column: the column.
        mechanism: the part of the mechanism that tells it, if other parts tell something else
            about the same column; else None.
        is_mean: whether the estimate is a mean, and not frequencies.
        estimate: the estimate.
    """

    column: Column
    mechanism: str | None
    is_mean: bool
    estimate: Estimate

    @property
    def values(self) -> list[str]:
        """The labels or numbers of the values that the frequencies belong to."""
        labels = self.column.labels or ()
        return [*labels, *map(str, range(len(labels), self.estimate.values.size))]


@dataclass(frozen=True, eq=False)
class Estimation:
    """What files of reports tell.

    Attributes:
        sidecars: what goes with each of the files.
        sections: one for every estimate.
    """

    sidecars: tuple[Sidecar, ...]
    sections: tuple[Section, ...]

    @property
    def n(self) -> int:
        """The number of users in all files."""
        return sum(sidecar.n for sidecar in self.sidecars)

    @property
    def guarantee(self) -> tuple[float, float]:
        """The weakest guarantee of all files, epsilon and delta, which holds for all together.

        Neighbouring datasets differ in one user. If every user is in one file only, the other
        files have the same law under both.
        """
        guarantees = [sidecar.guarantee for sidecar in self.sidecars]
        return max(one.epsilon for one in guarantees), max(one.delta for one in guarantees)


def estimate_files(paths: Sequence[Path]) -> Estimation:
    """Check files of reports against their sidecars, and estimate from all of them together.

    Raises:
        DataError: if a file or its sidecar cannot be read or does not match the other, if files
            are of different mechanisms or columns, or equal; or if the reports do not determine
            the frequencies.
    """
    sidecars = tuple(checked_sidecar(path) for path in paths)
    for i, sidecar in enumerate(sidecars):
        _check_alike(paths[0], sidecars[0], paths[i], sidecar)
        for j in range(i):
            if sidecars[j].sha256 == sidecar.sha256:
                raise DataError(f"{str(paths[j])!r} and {str(paths[i])!r} hold the same reports")
    aggregator, shape, candidates = _mechanism(paths[0], sidecars[0])
    for path, sidecar in zip(paths, sidecars, strict=True):
        _add(aggregator, path, sidecar.n)
    try:
        estimates = aggregator.estimate()
    except ValueError as error:
        raise DataError(str(error)) from None
    told = _told(aggregator.randomizer, _places(shape, count()), candidates, None)
    sections = (
        Section(sidecars[0].columns[i], mechanism, part.estimates == "mean", estimate)
        for (i, part, mechanism), estimate in zip(told, _leaves(estimates), strict=True)
    )
    return Estimation(sidecars, tuple(sections))


def checked_sidecar(path: Path) -> Sidecar:
    """Return the sidecar of a file of reports, which must be as it says.

    Raises:
        DataError: if one of the two cannot be read, or they do not match.
    """
    is_csv(path)  # or it is a Parquet file, or refused
    sidecar = read_sidecar(path)
    sidecar.check_file(path)
    return sidecar


def _check_alike(first: Path, expected: Sidecar, path: Path, sidecar: Sidecar) -> None:
    if sidecar.mechanism != expected.mechanism:
        raise DataError(
            f"{str(path)!r} must be of the same mechanism as {str(first)!r}, "
            f"{expected.mechanism}, got {sidecar.mechanism}"
        )
    if sidecar.columns != expected.columns:
        raise DataError(f"{str(path)!r} must have the same columns and labels as {str(first)!r}")


def _mechanism(path: Path, sidecar: Sidecar) -> tuple[Aggregator, Shape, Candidates]:
    """Return an aggregator for the mechanism, the attributes it reads, the values to estimate."""
    try:
        randomizer = sidecar.randomizer()
        shape, readers = readers_for(randomizer, sidecar.columns)
        candidates = candidates_of(shape, readers)
        return Aggregator(randomizer, candidates=candidates), shape, candidates
    except (TypeError, ValueError) as error:
        raise DataError(f"the sidecar of {str(path)!r} contradicts itself: {error}") from None


def _add(aggregator: Aggregator, path: Path, n: int) -> None:
    """Add the reports of a file, which must be as many as its sidecar says."""
    dtype, before = aggregator.randomizer.report_dtype, aggregator.n
    for reports in reports_in(path, dtype).chunks(rows_per_chunk(dtype)):
        first = aggregator.n - before + 1
        try:
            aggregator.add(reports)
        except ValueError as error:
            rows = f"rows {first} to {first + reports.size - 1}"
            raise DataError(f"{str(path)!r}, {rows}: {error}") from None
    if aggregator.n - before != n:
        raise DataError(
            f"{str(path)!r} has {counted(aggregator.n - before, 'report')}, but its sidecar says "
            f"n = {n!r}"
        )


#: The number of a column, or one entry per part of a composition.
_Places = int | tuple["_Places", ...]


def _places(shape: Shape, numbers: Iterator[int]) -> _Places:
    """Number the attributes from left to right."""
    if isinstance(shape, Attribute):
        return next(numbers)
    return tuple(_places(entry, numbers) for entry in shape)


_Told = Iterator[tuple[int, LocalRandomizer, str | None]]


@singledispatch
def _told(
    randomizer: LocalRandomizer, places: _Places, candidates: Candidates, mechanism: str | None
) -> _Told:
    """Yield for every estimate, in order, its column, a mechanism behind it, and its name."""
    yield cast("int", places), randomizer, mechanism


@_told.register
def _told_by_some(
    randomizer: Subsample, places: _Places, candidates: Candidates, mechanism: str | None
) -> _Told:
    yield from _told(randomizer.part, places, candidates, mechanism)


@_told.register
def _told_by_attributes(
    randomizer: Composition, places: _Places, candidates: Candidates, mechanism: str | None
) -> _Told:
    own = cast("tuple[_Places, ...]", places)
    entries = [None] * len(own) if candidates is None else candidates
    for part, place, wanted in zip(randomizer.parts, own, entries, strict=True):
        yield from _told(part, place, wanted, mechanism)


@_told.register
def _told_by_parts(
    randomizer: Parallel, places: _Places, candidates: Candidates, mechanism: str | None
) -> _Told:
    subjects = {tally_for(part, candidates).subject for part in randomizer.parts}
    if len(subjects) == 1:
        yield from _told(randomizer.parts[0], places, candidates, mechanism)
    else:
        for part in randomizer.parts:
            yield from _told(part, places, candidates, str(part))


def _leaves(estimates: Estimates) -> Iterator[Estimate]:
    """Yield the estimates that nested tuples hold, in order."""
    if isinstance(estimates, tuple):
        for entry in estimates:
            yield from _leaves(entry)
    else:
        yield estimates
