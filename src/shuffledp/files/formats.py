"""Which kind of file a name stands for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shuffledp.files.csv_reports import CsvReports
from shuffledp.files.csv_table import CsvTable
from shuffledp.files.parquet_reports import ParquetReports
from shuffledp.files.parquet_table import ParquetTable
from shuffledp.files.problems import DataError
from shuffledp.files.report_file import ReportFile
from shuffledp.files.table import Table
from shuffledp.wording import shorten

#: The endings of the files that can be read and written.
SUFFIXES = (".csv", ".parquet")

_MAX_ECHO = 200


def table_in(path: Path, names: Sequence[str], *, booleans: bool = False) -> Table:
    """Return some columns of a file, whose ending says how it is read."""
    if is_csv(path):
        return CsvTable(path, names)
    return ParquetTable(path, names, booleans=booleans)


def reports_in(path: Path, dtype: np.dtype[Any]) -> ReportFile:
    """Return a file of reports of the given type, whose ending says how it is read."""
    return CsvReports(path, dtype) if is_csv(path) else ParquetReports(path, dtype)


def is_csv(path: Path) -> bool:
    """Whether a file is a CSV file, and not a Parquet file.

    Raises:
        DataError: if its ending says neither.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        known, given = " or ".join(SUFFIXES), shorten(str(path), _MAX_ECHO)
        raise DataError(f"the file name must end in {known}, got {given!r}")
    return suffix == ".csv"
