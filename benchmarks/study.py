"""A study of three attributes from file to estimates: ``python benchmarks/study.py``.

Times are ratios to ``numpy.random.Generator.random(rows)`` in the same run. The largest resident
memory of the process is read before and after: what is between does not grow with the rows.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from timing import seconds

from shuffledp.deployment.study import (
    Attribute,
    Shuffle,
    Study,
    StudyDesign,
    estimate_study_files,
    randomize_file,
)
from shuffledp.deployment.study.study_option import certified
from shuffledp.mechanisms import parse

REGIONS = [f"region {letter}" for letter in "ABCDEFGHIJKL"]
BATCH = 1 << 17


def design(rows: int, strategy: str) -> StudyDesign:
    study = Study(
        (
            Attribute.categories("region", REGIONS, missing="leave out"),
            Attribute.yes_no("member"),
            Attribute.categories("score", range(50), ordered=True),
        ),
        rows,
        20.0,
        0.01 / rows,
    )
    parts = ["krr(k=13, epsilon0=4)", "krr(k=2, epsilon0=4)", "krr(k=50, epsilon0=4)"]
    names = tuple(attribute.name for attribute in study.attributes)
    if strategy == "joint report":
        shuffles: tuple[Shuffle, ...] = (Shuffle(names, parse(f"joint({', '.join(parts)})")),)
    else:
        shares = (0.5, 0.2, 0.3) if strategy == "one public attribute per user" else (1.0,) * 3
        entries = zip(names, parts, shares, strict=True)
        shuffles = tuple(Shuffle((name,), parse(part), share) for name, part, share in entries)
    return StudyDesign(study, strategy, shuffles, 20.0, {})


def write_people(path: Path, rows: int) -> None:
    rng, labels = np.random.default_rng(1), np.array([*REGIONS, None], dtype=object)
    schema = pa.schema([("region", pa.string()), ("member", pa.bool_()), ("score", pa.int64())])
    csv = path.suffix == ".csv"
    writer = (pa.csv.CSVWriter if csv else pa.parquet.ParquetWriter)(path, schema)
    with writer:
        for start in range(0, rows, BATCH):
            n = min(BATCH, rows - start)
            columns = labels[rng.integers(0, 13, n)], rng.random(n) < 0.3, rng.integers(0, 50, n)
            writer.write_table(pa.table(dict(zip(schema.names, columns, strict=True)), schema))


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10**5, help="number of people")
    parser.add_argument("--format", choices=("parquet", "csv"), default="parquet")
    parser.add_argument(
        "--strategy",
        choices=("separate shuffles", "joint report", "one public attribute per user"),
        default="separate shuffles",
    )
    options = parser.parse_args()
    rng, rows = np.random.default_rng(2), options.rows
    unit = seconds(lambda: rng.random(rows), 3)
    made = design(rows, options.strategy)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / f"people.{options.format}"
        write_people(source, rows)
        out = folder / f"reports.{options.format}"
        certify = seconds(lambda: certified(made.shuffles, rows, made.study.delta))
        before = peak()
        files: list[Path] = []
        randomize = seconds(lambda: files.extend(randomize_file(made, source, out)), 1)
        between = peak()
        estimate = seconds(lambda: estimate_study_files(files), 1)
        after, size = peak(), sum(path.stat().st_size for path in files)
    print(
        f"{rows:,} people, {options.strategy}, {options.format}, {size / 2**20:.1f} MiB of reports"
    )
    print(f"times in units of rng.random(rows) = {1e3 * unit:.1f} ms; memory in MiB")
    print(f"randomize {randomize / unit:8.0f}   memory {before:6.0f} -> {between:6.0f}")
    print(f"estimate  {estimate / unit:8.0f}   memory {between:6.0f} -> {after:6.0f}")
    print(f"certify   {certify / unit:8.0f}   once more, as a part of randomize")


if __name__ == "__main__":
    main()
