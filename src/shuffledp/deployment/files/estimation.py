"""From files of reports to estimates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from shuffledp.accounting.crowd import count_of
from shuffledp.basics.cluster import Client, in_pairs, merged
from shuffledp.basics.errors import check_types
from shuffledp.basics.wording import counted
from shuffledp.collection import Aggregator, Estimate
from shuffledp.collection.estimate import FloatArray
from shuffledp.collection.tallies import tally_for
from shuffledp.deployment.files.attributes import arrange, leaves
from shuffledp.deployment.files.chunk import rows_per_chunk
from shuffledp.deployment.files.columns import Column, candidates_of, readers_for
from shuffledp.deployment.files.problems import DataError
from shuffledp.deployment.files.published import attributes_of, read_published
from shuffledp.deployment.files.report_files import ReportFile, Reports, reports_in
from shuffledp.deployment.files.sidecar import Sidecar, read_sidecar, sidecar_path
from shuffledp.deployment.files.tables import is_csv, parts_of
from shuffledp.mechanisms import LocalRandomizer, Parallel, Subsample
from shuffledp.mechanisms.composed.composition import Composition

#: A column that an estimate is about, a mechanism behind it, and what that is called, if need be.
ToldColumn = tuple[Column, LocalRandomizer, str | None]


@dataclass(frozen=True, eq=False)
class Section:
    """What the reports tell about one column.

    Attributes:
        column: the column.
        mechanism: the part of the mechanism that tells it, if other parts tell something else
            about the same column; else None.
        is_mean: whether the estimate is a mean, and not frequencies.
        estimate: the estimate.
        shifts: how far corrupted users can move each of its values; None unless asked.
    """

    column: Column
    mechanism: str | None
    is_mean: bool
    estimate: Estimate
    shifts: FloatArray | None = None

    @property
    def values(self) -> list[str]:
        """The labels or numbers of the values that the frequencies belong to."""
        labels = self.column.labels or ()
        return [*labels, *map(str, range(len(labels), self.estimate.values.size))]


@dataclass(frozen=True, eq=False)
class Estimation:
    """What files of reports, a frame of them, or a published sum, tell.

    Attributes:
        mechanism: the text of the mechanism that made the reports.
        n: the number of users.
        sidecars: what goes with each of the files of reports.
        sections: one for every estimate.
        corrupted: how many users choose their reports.
    """

    mechanism: str
    n: int
    sidecars: tuple[Sidecar, ...]
    sections: tuple[Section, ...]
    corrupted: int = 0

    @property
    def guarantee(self) -> tuple[float, float]:
        """The weakest guarantee of all files, epsilon and delta, which holds for all together.

        Neighbouring datasets differ in one user. If every user is in one file only, the other
        files have the same law under both.

        Raises:
            ValueError: if there is no sidecar, so that nothing is known but mechanism and n.
        """
        if not self.sidecars:
            raise ValueError(
                "there is no sidecar that states a guarantee: compute it with "
                f"ShuffleAccountant({self.mechanism!r}, {self.n})"
            )
        guarantees = [sidecar.guarantee for sidecar in self.sidecars]
        return max(one.epsilon for one in guarantees), max(one.delta for one in guarantees)


def estimate_files(
    paths: Sequence[Path],
    corrupted: float | Fraction = 0,
    *,
    client: Client | None = None,
) -> Estimation:
    """Check files of reports against their sidecars, and estimate from all of them together.

    Every file is added up on its own, then the sums of neighbours are merged, then those of
    neighbouring pairs, and so on; with and without a cluster the result is the same.

    Args:
        paths: the files; also folders of such files, or patterns for their names, see
            :func:`~shuffledp.deployment.files.tables.parts_of`.
        corrupted: how many users may have chosen their reports, a number or a share.
        client: of a dask cluster. Its workers then add up and merge; they must see the files.

    Raises:
        ValueError: if there are no files.
        DataError: if a file or its sidecar cannot be read or does not match the other, if files
            are of different mechanisms or columns, or equal; or if the reports do not determine
            the frequencies.
        ClusterError: if the cluster is lost.
    """
    if not (given := check_types("paths", paths, Path)):
        raise ValueError("paths must hold at least one file, got none")
    paths = [part for path in given for part in parts_of(path)]
    sidecars = tuple(_sidecar(path) for path in paths)
    for path, sidecar in zip(paths, sidecars, strict=True):
        _check_alike(paths[0], sidecars[0], path, sidecar)
    refuse_copies(paths, sidecars)
    files = list(zip(paths, sidecars, strict=True))
    if client is None:
        aggregator = in_pairs(map(sums_of, files), together)
    else:
        seen = [(path.resolve(), sidecar) for path, sidecar in files]
        aggregator = merged(sums_of, seen, together, client)
    columns = told_columns(paths[0], sidecars[0])
    return estimation_of(aggregator, columns, sidecars, corrupted)


def refuse_copies(paths: Sequence[Path], sidecars: Sequence[Sidecar]) -> None:
    """Refuse files that hold the same reports."""
    known: dict[str, Path] = {}
    for path, sidecar in zip(paths, sidecars, strict=True):
        if sidecar.sha256 in known:
            first = known[sidecar.sha256]
            raise DataError(f"{str(first)!r} and {str(path)!r} hold the same reports")
        known[sidecar.sha256] = path


def told_columns(path: Path, sidecar: Sidecar) -> list[ToldColumn]:
    """Return what :func:`asked` does about a file of reports."""
    return _asked(path, sidecar)[1]


def asked(
    randomizer: LocalRandomizer, columns: Sequence[Column]
) -> tuple[Aggregator, list[ToldColumn]]:
    """Return what adds up reports about some columns, and what they tell.

    The second is for every estimate, in order, its column, a mechanism behind it, and its name.

    Raises:
        TypeError: if nothing can be estimated from the reports.
        ValueError: if mechanism, columns and labels do not fit together.
    """
    shape, readers = readers_for(randomizer, columns)
    candidates = candidates_of(shape, readers)
    aggregator = Aggregator(randomizer, candidates=candidates)
    nested = arrange(shape, iter(columns))
    return aggregator, list(_told(randomizer, nested, candidates, None))


def estimate_published(
    path: Path, randomizer: LocalRandomizer | None, corrupted: float | Fraction = 0
) -> Estimation:
    """Estimate from a sum that was published, and nothing else.

    Args:
        path: a JSON or CSV file, see :func:`shuffledp.deployment.files.published.read_published`.
        randomizer: the mechanism that made the reports; None if a sidecar says it.
        corrupted: how many users may have chosen their reports, a number or a share.

    Raises:
        DataError: if the file cannot be read, holds no sum of such reports, or has no sidecar that
            says of which; or if the sidecar says something else.
    """
    published = read_published(path)
    if randomizer is not None and not sidecar_path(path).exists():
        aggregator = published.added_up(randomizer)
        columns = _by_attribute(published.columns(randomizer), randomizer)
        return estimation_of(aggregator, columns, (), corrupted)
    sidecar = read_sidecar(path)
    sidecar.check_file(path)
    own = sidecar.randomizer()
    if sidecar.view != "sum" or sidecar.n != published.n:
        raise DataError(f"{str(path)!r} has the sidecar of something else")
    if randomizer is not None and str(randomizer) != sidecar.mechanism:
        raise DataError(f"{str(path)!r} is of {sidecar.mechanism}, not of {randomizer}")
    aggregator = published.added_up(own)
    if len(sidecar.columns) != len(published.attributes):
        raise DataError(f"{str(path)!r} has the sidecar of other columns")
    columns = _by_attribute(sidecar.columns, own)
    return estimation_of(aggregator, columns, (sidecar,), corrupted)


def _by_attribute(columns: Sequence[Column], randomizer: LocalRandomizer) -> list[ToldColumn]:
    """Return the columns with what each was reported by."""
    parts = attributes_of(randomizer)
    return [(column, part, None) for column, part in zip(columns, parts, strict=True)]


def estimation_of(
    aggregator: Aggregator,
    columns: Sequence[ToldColumn],
    sidecars: tuple[Sidecar, ...],
    corrupted: float | Fraction,
) -> Estimation:
    """Estimate, and name what is estimated."""
    number = count_of("corrupted", corrupted, aggregator.n)
    try:
        estimates = list(leaves(aggregator.estimate()))
        shifts: list[FloatArray | None] = [None] * len(estimates)
        if number:
            shifts = list(leaves(aggregator.largest_shifts(number)))
    except (TypeError, ValueError) as error:
        raise DataError(str(error)) from None
    sections = tuple(
        Section(column, mechanism, part.estimates == "mean", estimate, shift)
        for (column, part, mechanism), estimate, shift in zip(
            columns, estimates, shifts, strict=True
        )
    )
    text = sidecars[0].mechanism if sidecars else str(aggregator.randomizer)
    return Estimation(text, aggregator.n, sidecars, sections, number)


def checked_sidecar(path: Path) -> Sidecar:
    """Return the sidecar of a file of reports, which must be as it says.

    Raises:
        DataError: if one of the two cannot be read, or they do not match.
    """
    sidecar = _sidecar(path)
    sidecar.check_file(path)
    return sidecar


def _sidecar(path: Path) -> Sidecar:
    is_csv(path)  # or it is a Parquet file, or refused
    sidecar = read_sidecar(path)
    if sidecar.view != "multiset":
        raise DataError(f"{str(path)!r} holds reports, but its sidecar is that of a sum")
    return sidecar


def _check_alike(first: Path, expected: Sidecar, path: Path, sidecar: Sidecar) -> None:
    if sidecar.mechanism != expected.mechanism:
        raise DataError(
            f"{str(path)!r} must be of the same mechanism as {str(first)!r}, "
            f"{expected.mechanism}, got {sidecar.mechanism}"
        )
    if sidecar.columns != expected.columns:
        raise DataError(f"{str(path)!r} must have the same columns and labels as {str(first)!r}")


def _asked(path: Path, sidecar: Sidecar) -> tuple[Aggregator, list[ToldColumn]]:
    try:
        return asked(sidecar.randomizer(), sidecar.columns)
    except (TypeError, ValueError) as error:
        raise DataError(f"the sidecar of {str(path)!r} contradicts itself: {error}") from None


def sums_of(file: tuple[Path, Sidecar]) -> Aggregator:
    """Add up the reports of a file, which must be as its sidecar says, and as many."""
    path, sidecar = file
    sidecar.check_file(path)
    aggregator, _ = _asked(path, sidecar)
    add_file(aggregator.add, reports_in(path, aggregator.randomizer.report_dtype), sidecar)
    return aggregator


def add_up(add: Callable[[NDArray[Any]], None], reports: Reports) -> int:
    """Add reports to an aggregator, a few thousand at a time; return how many there are.

    Raises:
        DataError: if they cannot be read, or one cannot be of this mechanism.
    """
    done = 0
    for some in reports.chunks(rows_per_chunk(reports.dtype)):
        try:
            add(some)
        except ValueError as error:
            rows = f"rows {done + 1} to {done + some.size}"
            raise DataError(f"{reports.label}, {rows}: {error}") from None
        done += some.size
    return done


def add_file(add: Callable[[NDArray[Any]], None], file: ReportFile, sidecar: Sidecar) -> None:
    """Add up the reports of a file, which must be as many as its sidecar says.

    Raises:
        DataError: if they are not, or as :func:`add_up` does.
    """
    count = add_up(add, file)
    if count != sidecar.n:
        raise DataError(
            f"{file.label} has {counted(count, 'report')}, but its sidecar says n = {sidecar.n!r}"
        )


def together(one: Aggregator, other: Aggregator) -> Aggregator:
    """Return the sums of two; they stay as they are, since a cluster may ask for this again."""
    both = copy(one)
    both.merge(other)
    return both


@singledispatch
def _told(
    randomizer: LocalRandomizer, columns: Any, candidates: Any, mechanism: str | None
) -> Iterator[ToldColumn]:
    """Yield for every estimate, in order, its column, a mechanism behind it, and its name."""
    yield columns, randomizer, mechanism


@_told.register
def _told_by_some(
    randomizer: Subsample, columns: Any, candidates: Any, mechanism: str | None
) -> Iterator[ToldColumn]:
    yield from _told(randomizer.part, columns, candidates, mechanism)


@_told.register
def _told_by_attributes(
    randomizer: Composition, columns: Any, candidates: Any, mechanism: str | None
) -> Iterator[ToldColumn]:
    for part, own, wanted in zip(randomizer.parts, columns, candidates, strict=True):
        yield from _told(part, own, wanted, mechanism)


@_told.register
def _told_by_parts(
    randomizer: Parallel, columns: Any, candidates: Any, mechanism: str | None
) -> Iterator[ToldColumn]:
    subjects = {tally_for(part, candidates).subject for part in randomizer.parts}
    if len(subjects) == 1:
        yield from _told(randomizer.parts[0], columns, candidates, mechanism)
    else:
        for part in randomizer.parts:
            yield from _told(part, columns, candidates, str(part))
