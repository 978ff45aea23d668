"""Tables in Parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from shuffledp.files.columns import Cells
from shuffledp.files.parquet import cells_of, check_kinds, open_parquet
from shuffledp.files.table import Table


class ParquetTable(Table):
    """A Parquet file; its columns must hold numbers or text, or booleans if these are allowed."""

    def __init__(self, path: Path, names: Sequence[str], *, booleans: bool = False) -> None:
        super().__init__(path, names)
        with open_parquet(path) as file:
            check_kinds(file.schema_arrow, names, repr(str(path)), booleans=booleans)

    def _read_titles(self) -> list[str]:
        with open_parquet(self.path) as file:
            return list(file.schema_arrow.names)

    @property
    def max_rows(self) -> int:
        """The number of its rows."""
        with open_parquet(self.path) as file:
            return int(file.metadata.num_rows)

    def chunks(self, rows: int) -> Iterator[list[Cells]]:
        """Yield numbers as arrays; text, and numbers with gaps, as lists."""
        with open_parquet(self.path) as file:
            for batch in file.iter_batches(batch_size=rows, columns=list(set(self.names))):
                if batch.num_rows:
                    yield cells_of(batch, self.names)
