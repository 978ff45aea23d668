"""From the rows of a table to the shuffled reports of a study."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting import ShuffleAccountant
from shuffledp.accounting.assumptions import ASSUMPTIONS
from shuffledp.basics.errors import check_integer, check_type
from shuffledp.basics.rounding import plain, round_up
from shuffledp.basics.wording import counted
from shuffledp.collection import shuffle
from shuffledp.deployment.files import Column, DataError, Guarantee, Ledger, Sidecar
from shuffledp.deployment.files.buckets import Buckets, buckets_for
from shuffledp.deployment.files.chunk import even_batches, rows_per_chunk
from shuffledp.deployment.files.columns import Cells
from shuffledp.deployment.files.draft import Draft, draft
from shuffledp.deployment.files.randomization import check_roles, check_unseeded
from shuffledp.deployment.files.report_files import reports_in
from shuffledp.deployment.files.sidecar import sidecar_path
from shuffledp.deployment.files.tables import parts_of, table_in
from shuffledp.deployment.study.frames import chunks
from shuffledp.deployment.study.shuffle import Assignment, Shuffle, users_of
from shuffledp.deployment.study.study_design import StudyDesign
from shuffledp.deployment.study.study_option import certified
from shuffledp.mechanisms.sampling import Bits

_ASSUMPTIONS = (*ASSUMPTIONS, "every row of the input is another user")

_PUBLIC = "which attribute a user reports does not depend on the answers; all may know it"


@dataclass(frozen=True, eq=False)
class StudyReports:
    """Shuffled reports of a study in memory.

    Attributes:
        design: what was run.
        reports: those of each shuffle, in random order.
        n: the number of users.
        guarantee: what all reports together reveal.
        each: what the reports of each shuffle reveal.
    """

    design: StudyDesign
    reports: tuple[NDArray[Any], ...]
    n: int
    guarantee: Guarantee
    each: tuple[Guarantee, ...]


def randomize_frame(
    design: StudyDesign, frame: Any, rng: np.random.Generator | None = None
) -> StudyReports:
    """Randomize and shuffle the rows of a frame of pandas or polars, one user each.

    Args:
        design: what to run, from a plan.
        frame: a frame with the columns of the study.
        rng: a generator, for simulations that can be repeated; None takes random bits from the
            operating system's secure source, as reports about people need.

    Raises:
        DataError: if a cell does not fit the study, or so few rows do not meet its target.
        ValueError: if a column is missing.
    """
    check_type("design", design, StudyDesign)
    names = [attribute.name for attribute in design.study.attributes]
    found: list[list[NDArray[Any]]] = [[] for _ in design.shuffles]
    for batch in _reports(design, chunks(frame, names, _rows(design)), rng, "the frame"):
        for kept, reports in zip(found, batch, strict=True):
            kept.append(reports)
    if not found[0]:
        raise DataError("the frame has no rows")
    users = tuple(sum(batch.size for batch in batches) for batches in found)
    n = _users(design, users)
    total, each = _certify(design, n)
    shuffled = tuple(shuffle(np.concatenate(batches), rng) for batches in found)
    return StudyReports(design, shuffled, n, total, each)


def randomize_file(
    design: StudyDesign,
    source: Path,
    out: Path,
    *,
    seed: int | None = None,
    force: bool = False,
    ledger: Ledger | None = None,
    on_rows: Callable[[int], None] | None = None,
) -> dict[Path, Sidecar]:
    """Randomize and shuffle the rows of a file; write reports and sidecars, all or none of them.

    With a ledger every shuffle is recorded as a round before the files appear. Where every user is
    in one shuffle only that is more than was spent: a ledger knows no rounds of other users.

    Args:
        design: what to run, from a plan.
        source: a CSV or Parquet file with the columns of the study, one user per row; or a folder
            of such files, or a pattern for their names, see
            :func:`~shuffledp.deployment.files.tables.parts_of`.
        out: the file of reports; if there are several shuffles, each has a file of its own, whose
            name also says which attribute it is about.
        seed: makes the reports repeatable, for simulations; None takes secure random bits.
        force: whether existing files may be replaced.
        ledger: where to record the shuffles.
        on_rows: called after each batch with the number of rows done.

    Returns:
        The files and what their sidecars hold.

    Raises:
        BudgetExceededError: if the ledger's budget does not allow these shuffles.
        DataError: if a file cannot be read or written, a cell does not fit the study, or so few
            rows do not meet its target.
        ValueError: if there are both a ledger and a seed, which leaves nothing to record.
    """
    check_unseeded(ledger, seed)
    rng = None if seed is None else np.random.default_rng(check_integer("seed", seed, 0))
    check_type("design", design, StudyDesign)
    names = [attribute.name for attribute in design.study.attributes]
    parts = parts_of(source)
    tables = [table_in(part, names, booleans=True) for part in parts]
    most = sum(table.max_rows for table in tables)
    paths = output_paths(design, out)
    dtypes = [one.mechanism.report_dtype for one in design.shuffles]
    for path, dtype in zip(paths, dtypes, strict=True):
        check_roles(parts, path, ledger)
        reports_in(path, dtype)  # a wrong ending, or a missing package, is said before the work
    with ExitStack() as stack:
        drafts = [stack.enter_context(draft(path, force=force)) for path in paths]
        buckets = [
            stack.enter_context(Buckets(new.folder, dtype, count=buckets_for(most, dtype), rng=rng))
            for new, dtype in zip(drafts, dtypes, strict=True)
        ]
        rows = chain.from_iterable(table.chunks(_rows(design)) for table in tables)
        for batch in _reports(design, rows, rng, repr(str(source))):
            for bucket, reports in zip(buckets, batch, strict=True):
                bucket.add(reports)
            if on_rows is not None:
                on_rows(_users(design, tuple(bucket.size for bucket in buckets)))
        n = _users(design, tuple(bucket.size for bucket in buckets))
        if not n:
            raise DataError(f"{str(source)!r} has no rows")
        if ledger is not None:
            pairs = zip(design.shuffles, buckets, strict=True)
            ledger.check_all([(one.mechanism, bucket.size) for one, bucket in pairs])
        run = _Run(design, n, *_certify(design, n), seeded=seed is not None)
        sidecars = [
            run.write(place, new, bucket)
            for place, (new, bucket) in enumerate(zip(drafts, buckets, strict=True))
        ]
        if ledger is not None:
            ledger.add_all([(one.mechanism, one.n, one.sha256) for one in sidecars])
        _publish(drafts, paths)
    return dict(zip(paths, sidecars, strict=True))


def output_paths(design: StudyDesign, out: Path) -> list[Path]:
    """Return the file of each shuffle."""
    if len(design.shuffles) == 1:
        return [out]
    words = [re.sub(r"\W+", "_", "-".join(one.names)) for one in design.shuffles]
    if len({word.casefold() for word in words}) < len(words):
        words = [f"{number}-{word}" for number, word in enumerate(words, start=1)]
    return [out.with_name(f"{out.stem}-{word}{out.suffix}") for word in words]


def _rows(design: StudyDesign) -> int:
    return min(rows_per_chunk(one.mechanism.report_dtype) for one in design.shuffles)


def _reports(
    design: StudyDesign,
    batches: Iterator[list[Cells]],
    rng: np.random.Generator | None,
    source: str,
) -> Iterator[list[NDArray[Any]]]:
    """Yield the reports of some rows at a time, those of each shuffle."""
    bits, row = Bits(rng), 1
    encodings = [design.encodings(one) for one in design.shuffles]
    shared = Assignment([one.share for one in design.shuffles]) if design.is_shared_out else None
    for cells in even_batches(batches, _rows(design)):
        count = len(cells[0])
        groups = None if shared is None else shared.groups(row - 1, count, rng)
        made = []
        for place, (one, own) in enumerate(zip(design.shuffles, encodings, strict=True)):
            columns = [
                encoding.encode(cells[design.study.place(name)], bits, row, source)
                for name, encoding in zip(one.names, own, strict=True)
            ]
            if groups is not None:
                columns = [column[groups == place] for column in columns]
            values = tuple(columns) if one.mechanism.attributes is not None else columns[0]
            if columns[0].size:
                made.append(one.mechanism.randomize(values, rng))
            else:  # nobody of a last, short batch is in the group
                made.append(np.empty(0, dtype=one.mechanism.report_dtype))
        yield made
        row += count


def _users(design: StudyDesign, counts: tuple[int, ...]) -> int:
    """Return how many users sent so many reports to the shuffles."""
    return sum(counts) if design.is_shared_out else counts[0]


def _certify(design: StudyDesign, n: int) -> tuple[Guarantee, tuple[Guarantee, ...]]:
    """Return the guarantee of all shuffles together, and of each.

    Raises:
        DataError: if it is above the target of the study.
    """
    study, users = design.study, users_of(design.shuffles, n)
    if min(users) < 1:
        raise DataError(f"{counted(n, 'row')} are too few to have some for each attribute")
    total = certified(design.shuffles, n, study.delta)
    if total.epsilon > study.epsilon:
        raise DataError(
            f"with {counted(n, 'row')} the plan has epsilon = {round_up(total.epsilon)} at delta = "
            f"{plain(study.delta)}, above the target {plain(study.epsilon)}; it was made for "
            f"{study.n:,}; nothing was written"
        )
    if len(design.shuffles) == 1:
        return total, (total,)
    accountants = [
        ShuffleAccountant(one.mechanism, count)
        for one, count in zip(design.shuffles, users, strict=True)
    ]
    return total, tuple(Guarantee.of(a.epsilon_report(study.delta)) for a in accountants)


@dataclass(frozen=True)
class _Run:
    """What the sidecars of all shuffles say."""

    design: StudyDesign
    n: int
    total: Guarantee
    each: tuple[Guarantee, ...]
    seeded: bool

    def write(self, place: int, new: Draft, bucket: Buckets) -> Sidecar:
        """Write the reports of one shuffle and their sidecar."""
        one = self.design.shuffles[place]
        dtype, n = one.mechanism.report_dtype, bucket.size
        reports_in(new.reports, dtype).write(bucket.empty(rows_per_chunk(dtype)))
        return Sidecar.beside(
            new.reports,
            one.mechanism,
            n,
            _columns(self.design, one),
            self.each[place],
            (*_ASSUMPTIONS, _PUBLIC) if self.design.is_shared_out else _ASSUMPTIONS,
            seeded=self.seeded,
            plan={
                "design": self.design.to_dict(),
                "shuffle": place,
                "users": self.n,
                "total": asdict(self.total),
            },
        )


def _columns(design: StudyDesign, one: Shuffle) -> tuple[Column, ...]:
    return tuple(Column(name, design.study[name].values or None) for name in one.names)


def _publish(drafts: Sequence[Draft], paths: Sequence[Path]) -> None:
    """Give all files their names; if that fails half-way, none of them stays."""
    done: list[Path] = []
    try:
        for new, path in zip(drafts, paths, strict=True):
            new.publish()
            done.append(path)
    except BaseException:
        for path in done:
            path.unlink(missing_ok=True)
            sidecar_path(path).unlink(missing_ok=True)
        raise
