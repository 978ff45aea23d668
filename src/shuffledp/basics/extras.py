"""Packages that only some features need, and what to install where one is missing."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class _Package:
    """An optional package: its name for pip, the extra that brings it, and what needs it."""

    name: str
    extra: str
    purpose: str


_PACKAGES = {
    "distributed": _Package("distributed", "cluster", "clusters"),
    "dp_accounting": _Package("dp-accounting", "pld", "privacy loss distributions"),
    "fastapi": _Package("fastapi", "web", "local pages"),
    "matplotlib": _Package("matplotlib", "plot", "pictures"),
    "pandas": _Package("pandas", "pandas", "data frames"),
    "polars": _Package("polars", "polars", "data frames of polars"),
    "plotly": _Package("plotly", "web", "local pages"),
    "pyarrow": _Package("pyarrow", "parquet", "Parquet files"),
    "starlette": _Package("fastapi", "web", "local pages"),
    "uvicorn": _Package("uvicorn", "web", "local pages"),
}


class MissingExtraError(ImportError):
    """A package that a feature needs is not installed, or broken.

    Args:
        module: the module that could not be imported.

    >>> raise MissingExtraError("pyarrow.parquet")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    shuffledp.basics.extras.MissingExtraError: Parquet files need pyarrow: ...
    """

    def __init__(self, module: str) -> None:
        package = _PACKAGES[module.partition(".")[0]]
        super().__init__(
            f'{package.purpose} need {package.name}: pip install "shuffledp[{package.extra}]"',
            name=module,
        )

    def __reduce__(self) -> tuple[type[MissingExtraError], tuple[str | None]]:
        """Travel from a worker that lacks the package as what it was made of."""
        return type(self), (self.name,)


def import_extra(module: str) -> Any:
    """Return a module of an optional package.

    >>> import_extra("matplotlib.figure").Figure.__name__
    'Figure'

    Raises:
        MissingExtraError: if it cannot be imported.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(module) from error
