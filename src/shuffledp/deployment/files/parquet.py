"""Parquet files, through pyarrow, which is imported only here and only when it is needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shuffledp.basics.extras import import_extra
from shuffledp.deployment.files.columns import Cells
from shuffledp.deployment.files.problems import DataError, naming


def arrow() -> Any:
    """Return pyarrow, its module ``parquet`` included.

    Raises:
        MissingExtraError: if it is not installed.
    """
    import_extra("pyarrow.parquet")
    return import_extra("pyarrow")


@contextmanager
def open_parquet(path: Path) -> Iterator[Any]:
    """Open a file to read it.

    Raises:
        DataError: if it cannot be read, or is damaged or something else.
    """
    pa = arrow()
    try:
        with naming(path, "read"), path.open("rb") as raw, pa.parquet.ParquetFile(raw) as file:
            yield file
    except pa.ArrowException as error:
        why = str(error).partition("\n")[0]
        raise DataError(f"{str(path)!r} is not a Parquet file, or damaged: {why}") from None


def is_number(kind: Any) -> bool:
    """Whether a column of this type holds integers or floating-point numbers."""
    types = arrow().types
    return bool(types.is_integer(kind) or types.is_floating(kind))


def is_text(kind: Any) -> bool:
    """Whether a column of this type holds text, also if each text is stored only once."""
    types = arrow().types
    plain = kind.value_type if types.is_dictionary(kind) else kind
    return bool(types.is_string(plain) or types.is_large_string(plain))


def is_binary(kind: Any) -> bool:
    """Whether a column of this type holds bytes."""
    types = arrow().types
    return bool(
        types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind)
    )


def check_kinds(
    schema: Any,
    names: Sequence[str],
    where: str,
    *,
    booleans: bool = False,
    binary: bool = False,
) -> None:
    """Refuse columns that hold other things than numbers and text, or else what is allowed.

    A column without a type has no rows, or nothing but empty cells, which are refused later.

    Raises:
        DataError: if one does.
    """
    for name in names:
        kind = schema.field(name).type
        known = is_number(kind) or is_text(kind) or str(kind) == "null"
        more = (booleans and str(kind) == "bool") or (binary and is_binary(kind))
        if not (known or more):
            what = kinds(binary)
            raise DataError(f"{where}: column {name!r} must hold {what}, got {kind}")


def kinds(binary: bool) -> str:
    """Return what columns may hold, in words."""
    return "numbers, text or bytes" if binary else "numbers or text"


def cells_of(batch: Any, names: Sequence[str]) -> list[Cells]:
    """Return numbers as arrays; text, and numbers with gaps, as lists."""
    return [_cells(batch.column(name)) for name in names]


def _cells(column: Any) -> Cells:
    whole = is_number(column.type) and not column.null_count
    cells: Cells = column.to_numpy() if whole else column.to_pylist()
    return cells
