"""From a table of answers to a file of shuffled reports."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from shuffledp.accounting import Report, ShuffleAccountant
from shuffledp.accounting.sum_view import View
from shuffledp.basics.cluster import Client
from shuffledp.basics.errors import NoAnswerError, check_delta, check_integer
from shuffledp.basics.rounding import plain
from shuffledp.basics.wording import counted
from shuffledp.collection import Aggregator
from shuffledp.deployment.files.attributes import arrange, leaves
from shuffledp.deployment.files.buckets import Buckets, buckets_for
from shuffledp.deployment.files.chunk import rows_per_chunk
from shuffledp.deployment.files.columns import Column, candidates_of, readers_for
from shuffledp.deployment.files.draft import draft
from shuffledp.deployment.files.frame_table import DaskFrame, FrameTable, partitions
from shuffledp.deployment.files.mechanism_text import self_contained
from shuffledp.deployment.files.problems import DataError
from shuffledp.deployment.files.published import attributes_of
from shuffledp.deployment.files.report_files import reports_in
from shuffledp.deployment.files.sidecar import Guarantee, Sidecar, sidecar_path
from shuffledp.deployment.files.spread_buckets import SpreadBuckets
from shuffledp.deployment.files.tables import Table, parts_of, table_in, would_join
from shuffledp.deployment.ledger.ledger import Ledger
from shuffledp.mechanisms import LocalRandomizer
from shuffledp.mechanisms.base import Values
from shuffledp.mechanisms.support.support import SupportRandomizer

#: So many buckets, or parts, can be shuffled at the same time also where fewer would do.
_SIDE_BY_SIDE = 64


def check_unseeded(ledger: Ledger | None, seed: int | None) -> None:
    """Refuse a ledger for reports that can be repeated.

    Raises:
        ValueError: if there are both.
    """
    if ledger is not None and seed is not None:
        raise ValueError("reports from a seed have no guarantee, so no ledger records them")


def check_roles(parts: Sequence[Path], out: Path, ledger: Ledger | None) -> None:
    """Refuse files that would be two of what is read, what is written, and a ledger.

    Raises:
        DataError: if there is one.
    """
    if out.exists() and any(out.samefile(part) for part in parts):
        raise DataError(f"cannot write {str(out)!r}: it is the file that is read")
    for path in (*parts, out, sidecar_path(out)):
        if ledger is not None and path.exists() and path.samefile(ledger.path):
            raise DataError(f"cannot use {str(path)!r}: it is the ledger")


class Randomization:
    """A mechanism, the columns it reads, and the source of its random bits.

    Args:
        randomizer: what is run on every row, which is one user.
        columns: one column per attribute.
        seed: makes the reports repeatable, for simulations; None takes random bits from the
            operating system's secure source, as reports about people need.

    Raises:
        TypeError: if the mechanism cannot run.
        ValueError: if mechanism, columns and labels do not fit together, or nothing could be
            estimated from the reports.
    """

    def __init__(
        self, randomizer: LocalRandomizer, columns: Sequence[Column], *, seed: int | None = None
    ) -> None:
        self._randomizer = self_contained(randomizer)
        self._columns = tuple(columns)
        self._shape, self._readers = readers_for(self._randomizer, self._columns)
        Aggregator(self._randomizer, candidates=candidates_of(self._shape, self._readers))
        self._seed = None if seed is None else check_integer("seed", seed, 0)

    def run(
        self,
        source: Path | DaskFrame,
        out: Path,
        *,
        target_delta: float,
        assumptions: Sequence[str],
        force: bool = False,
        ledger: Ledger | None = None,
        client: Client | None = None,
    ) -> Sidecar:
        """Randomize and shuffle the rows of a table; write the reports and their sidecar.

        Nothing else of the table is written, and both files appear complete or not at all. With a
        ledger the round is recorded before they appear: reports that somebody can see are in it,
        whatever happens in between. If it is a crash, a round is in it that nobody has seen.

        Args:
            source: the file with the columns; also a folder of such files, or a pattern for their
                names, see :func:`~shuffledp.deployment.files.tables.parts_of`; or a dask DataFrame.
            out: the file of reports.
            target_delta: the delta at which the guarantee is stated.
            assumptions: what the guarantee rests on, besides what every answer assumes.
            force: whether existing files may be replaced.
            ledger: where to record the round.
            client: of a dask cluster. Its workers then randomize and shuffle, one file at a time
                each; they must see the files of the table and the folder of the reports.

        Raises:
            BudgetExceededError: if the ledger's budget does not allow this round.
            ValueError: if there are both a ledger and a seed, which leaves nothing to record.
            DataError: if a file cannot be read or written, or a cell does not fit the mechanism.
            NoAnswerError: if there is no guarantee at this delta.
            ClusterError: if the cluster is lost.
        """
        delta, dtype = check_delta(target_delta), self._randomizer.report_dtype
        rows = rows_per_chunk(dtype)
        check_unseeded(ledger, self._seed)
        parts, most = self._parts(source, out, client, ledger)
        reports_in(out, dtype)  # a wrong ending, or a missing package, is said before the work
        with (
            draft(out, force=force) as new,
            self._filled(parts, most, new.folder, client) as buckets,
        ):
            if not buckets.size:
                where = repr(str(source)) if isinstance(source, Path) else "the frame"
                raise DataError(f"{where} has no rows")
            answer = self._answer(buckets.size, delta)
            if ledger is not None:
                ledger.check(answer.randomizer, answer.n)
            reports_in(new.reports, dtype).write(buckets.empty(rows))
            sidecar = self._describe(new.reports, answer, assumptions)
            if ledger is not None:
                ledger.add(answer.randomizer, answer.n, reports=sidecar.sha256)
            new.publish()
        return sidecar

    def publish(
        self,
        source: Path,
        out: Path,
        *,
        target_delta: float,
        assumptions: Sequence[str],
        force: bool = False,
    ) -> Sidecar:
        """Randomize the rows of a table; write nothing but the sum of the reports, and its sidecar.

        The file is what :func:`shuffledp.deployment.files.published.read_published` reads.

        Args:
            source: as for :meth:`run`.
            out: the JSON file with the sum.
            target_delta: the delta at which the guarantee is stated.
            assumptions: what the guarantee rests on, besides what every answer assumes.
            force: whether existing files may be replaced.

        Raises:
            DataError: if a file cannot be read or written, or a cell does not fit the mechanism.
            NoAnswerError: if there is no guarantee at this delta.
            TypeError: if estimates need more than the sum.
        """
        delta = check_delta(target_delta)
        rng = None if self._seed is None else np.random.default_rng(self._seed)
        parts, _ = self._parts(source, out)
        aggregator = Aggregator(
            self._randomizer, candidates=candidates_of(self._shape, self._readers)
        )
        _ = aggregator.total  # or refused before the work
        if out.suffix.lower() != ".json":
            raise DataError(f"{str(out)!r} must be a .json file, for a sum")
        with draft(out, force=force) as new:
            for values in (values for part in parts for values in self._values(part)):
                aggregator.add(self._randomizer.randomize(values, rng))
            if not aggregator.n:
                raise DataError(f"{str(source)!r} has no rows")
            answer = self._answer(aggregator.n, delta, "sum")
            content = self._content(aggregator)
            new.reports.write_text(json.dumps(content, allow_nan=False) + "\n", encoding="utf-8")
            sidecar = self._describe(new.reports, answer, assumptions)
            new.publish()
        return sidecar

    def _content(self, aggregator: Aggregator) -> dict[str, object]:
        """Return what the file of a sum holds."""
        entries: list[dict[str, object]] = []
        parts, totals = attributes_of(self._randomizer), leaves(aggregator.total)
        for column, part, total in zip(self._columns, parts, totals, strict=True):
            entry: dict[str, object] = {"counts" if isinstance(total, list) else "sum": total}
            if column.labels is not None and isinstance(part, SupportRandomizer):
                entry["values"] = list(column.labels)  # those of a matrix are not what is counted
            entries.append(entry)
        if len(entries) == 1:
            return {"n": aggregator.n, **entries[0]}
        named = [
            {"name": column.name, **entry}
            for column, entry in zip(self._columns, entries, strict=True)
        ]
        return {"n": aggregator.n, "attributes": named}

    def _describe(self, reports: Path, answer: Report, assumptions: Sequence[str]) -> Sidecar:
        """Write the sidecar of a file."""
        return Sidecar.beside(
            reports,
            answer.randomizer,
            answer.n,
            self._columns,
            Guarantee.of(answer),
            (*answer.assumptions, *assumptions),
            seeded=self._seed is not None,
            view=answer.view,
        )

    @property
    def _names(self) -> list[str]:
        return [column.name for column in self._columns]

    def _parts(
        self,
        source: Path | DaskFrame,
        out: Path,
        client: Client | None = None,
        ledger: Ledger | None = None,
    ) -> tuple[Sequence[Any], int]:
        """Return files or partitions, and no less than the number of their rows."""
        if not isinstance(source, Path):
            check_roles([], out, ledger)
            expected = "source must be a Path or a dask DataFrame"
            return partitions(source, self._names, client, expected=expected)
        parts = parts_of(source)
        most = sum(table_in(part, self._names).max_rows for part in parts)
        check_roles(parts, out, ledger)
        if would_join(source, out):
            raise DataError(f"cannot write {str(out)!r}: it would be read with {str(source)!r}")
        return parts if client is None else [part.resolve() for part in parts], most

    @contextmanager
    def _filled(
        self, parts: Sequence[Any], most: int, folder: Path, client: Client | None
    ) -> Iterator[Buckets | SpreadBuckets]:
        """Give buckets that hold the reports of all rows, of which there are no more than most."""
        dtype = self._randomizer.report_dtype
        count = buckets_for(most, dtype)
        if client is None:
            rng = None if self._seed is None else np.random.default_rng(self._seed)
            with Buckets(folder, dtype, count=count, rng=rng) as buckets:
                for part in parts:
                    self._pour(buckets, part, rng)
                yield buckets
        else:
            count = max(count, min(len(parts), _SIDE_BY_SIDE))
            spread = SpreadBuckets(folder, dtype, count=count, seed=self._seed, client=client)
            spread.add(self._pour, parts)
            yield spread

    def _pour(self, buckets: Buckets, part: Any, rng: np.random.Generator | None) -> None:
        """Put the reports of all rows of a file or partition into buckets."""
        for values in self._values(part):
            buckets.add(self._randomizer.randomize(values, rng))

    def _values(self, part: Any) -> Iterator[Values]:
        """Yield the inputs of some users at a time."""
        first_row, rows = 1, rows_per_chunk(self._randomizer.report_dtype)
        table: Table | FrameTable
        if isinstance(part, Path):
            table, label = table_in(part, self._names), str(part)
        else:
            frame, count = part
            table, label = FrameTable(frame, count, self._names), FrameTable.label
        for cells in table.chunks(rows):
            columns = [
                reader.read(own, first_row, label)
                for reader, own in zip(self._readers, cells, strict=True)
            ]
            yield arrange(self._shape, iter(columns))
            first_row += len(cells[0])

    def _answer(self, n: int, delta: float, view: View = "multiset") -> Report:
        report = ShuffleAccountant(self._randomizer, n, view=view).epsilon_report(delta)
        if math.isinf(report.guarantee.upper):
            raise NoAnswerError(
                f"no finite epsilon can be certified at delta = {plain(delta)} for "
                f"{counted(n, 'report')} of {self._randomizer}; nothing was written"
            )
        return report
