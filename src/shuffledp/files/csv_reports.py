"""Files of reports in CSV."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.files.problems import DataError, naming
from shuffledp.files.report_file import ReportFile
from shuffledp.files.reports import TITLE

_INTEGERS = re.compile(r"(-?[0-9]+\n)*(-?[0-9]+)?")


class CsvReports(ReportFile):
    """A CSV file: numbers in decimal, other reports in hexadecimal."""

    def write(self, chunks: Iterable[NDArray[Any]]) -> None:
        """Write one line per report after the title."""
        with self.path.open("x", encoding="ascii", newline="\n") as out:
            out.write(f"{TITLE}\n")
            for chunk in chunks:
                out.write(self._text(chunk))

    def _text(self, reports: NDArray[Any]) -> str:
        if self.holds_numbers:
            return "".join(f"{number!r}\n" for number in reports.tolist())
        return reports.tobytes().hex("\n", self.dtype.itemsize) + "\n"

    def chunks(self, rows: int) -> Iterator[NDArray[Any]]:
        """Yield the reports."""
        with naming(self.path, "read"), self.path.open(encoding="ascii", newline="\n") as file:
            try:
                if file.readline() != f"{TITLE}\n":
                    raise DataError(f"{str(self.path)!r} must have the one title {TITLE!r}")
                done = 0
                while lines := list(islice(file, rows)):
                    yield self._reports(lines, done + 1)
                    done += len(lines)
            except UnicodeDecodeError:
                raise DataError(f"{str(self.path)!r} is not a CSV file of reports") from None

    def _reports(self, lines: list[str], first_row: int) -> NDArray[Any]:
        try:
            return self._decode(lines)
        except ValueError:
            raise DataError(self._foreign(first_row, first_row + len(lines) - 1)) from None

    def _decode(self, lines: list[str]) -> NDArray[Any]:
        if not self.holds_numbers:
            width = 2 * self.dtype.itemsize + 1
            if any(len(line) != width for line in lines):
                raise ValueError("a report is of another length")
            return np.frombuffer(bytes.fromhex("".join(lines)), dtype=self.dtype)
        if not _INTEGERS.fullmatch("".join(lines)):
            raise ValueError("a report is not a number")
        numbers, limits = [int(line) for line in lines], np.iinfo(self.dtype)
        if min(numbers) < limits.min or max(numbers) > limits.max:
            raise ValueError("a report is too large for its type")
        return np.array(numbers, dtype=self.dtype)
