"""The shuffle of a cluster: nobody is lost, and the order tells nothing."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq
import pytest
from breaking import USERS, names, randomize, reports, write_people

from shuffledp import parse
from shuffledp.deployment.files import (
    Column,
    DataError,
    Randomization,
    buckets,
    chunk,
    estimate_files,
    spread_buckets,
)
from shuffledp.deployment.files.report_files import reports_in

KRR = "krr(k=10, epsilon0=2)"


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize("count", [1, 2, 3])
def test_every_order_is_equally_likely(monkeypatch, tmp_path, count):
    """Three reports in two parts: all six orders, whichever part and bucket they were in."""
    monkeypatch.setattr(spread_buckets, "spread", lambda function, own, _: list(map(function, own)))
    runs, found = 150, {}
    for seed in range(runs):
        shuffled = spread_buckets.SpreadBuckets(
            tmp_path, np.dtype("u1"), count=count, seed=seed, client=None
        )
        shuffled.add(_pour, [tmp_path / "01", tmp_path / "2"])
        assert shuffled.size == 3
        order = tuple(np.concatenate(list(shuffled.empty(2))).tolist())
        found[order] = found.get(order, 0) + 1
    assert len(found) == 6
    expected = runs / 6
    assert sum((n - expected) ** 2 / expected for n in found.values()) < 20.5  # 0.1% of 5 degrees


def _pour(buckets, part, rng):
    buckets.add(np.array([int(digit) for digit in part.name], dtype="u1"))


def test_attempts_that_do_not_count_are_never_read(monkeypatch, tmp_path):
    """Every task runs twice, as after a worker that only seemed lost: one of each pair counts."""

    def twice(function, own, _):
        return [[function(argument), function(argument)][i % 2] for i, argument in enumerate(own)]

    monkeypatch.setattr(spread_buckets, "spread", twice)
    source = write_people(tmp_path / "people")
    randomize(source, tmp_path / "out.csv", client=object())
    assert sorted(reports(tmp_path / "out.csv")) == list(range(USERS))
    assert names(tmp_path) == ["out.csv", "out.csv.json", "people"]


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize("far", [False, True])
def test_groups_of_rows_do_not_show_the_buckets(monkeypatch, tmp_path, far):
    monkeypatch.setattr(spread_buckets, "spread", lambda function, own, _: list(map(function, own)))
    monkeypatch.setattr(chunk, "CHUNK_ROWS", 64)
    monkeypatch.setattr(buckets, "BUCKET_BYTES", 1000)
    source, out = write_people(tmp_path / "people"), tmp_path / "out.parquet"
    randomize(source, out, client=object() if far else None)
    shown = pq.read_metadata(out)
    groups = [shown.row_group(i).num_rows for i in range(shown.num_row_groups)]
    assert groups == [64, 64, 64, USERS - 3 * 64]
    assert sorted(reports(out)) == list(range(USERS))


def test_reports_with_fields(monkeypatch, tmp_path):
    monkeypatch.setattr(spread_buckets, "spread", lambda function, own, _: list(map(function, own)))
    (tmp_path / "answers.csv").write_text("answer\n" + "3\n" * 2000)
    made = Randomization(parse("olh(epsilon0=4, domain_size=5)"), [Column("answer")], seed=1)
    out = tmp_path / "out.parquet"
    made.run(tmp_path / "answers.csv", out, target_delta=0.5, assumptions=(), client=object())
    estimate = estimate_files([out]).sections[0].estimate
    assert abs(estimate.values - [0, 0, 0, 1, 0]).max() < 6 * estimate.standard_errors.max()


def test_a_file_that_is_cut_off_is_noticed(monkeypatch, tmp_path):
    monkeypatch.setattr(spread_buckets, "spread", lambda function, own, _: list(map(function, own)))
    shuffled = spread_buckets.SpreadBuckets(
        tmp_path, np.dtype("u1"), count=1, seed=None, client=None
    )
    shuffled.add(_pour, [tmp_path / "01"])
    (file,) = tmp_path.iterdir()
    file.write_bytes(b"\0")
    with pytest.raises(DataError, match="is cut off"):
        list(shuffled.empty(10))


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
@pytest.mark.parametrize("text", [KRR, "laplace(epsilon0=1.0)", "olh(epsilon0=2.0, domain_size=5)"])
def test_a_file_tells_the_order_of_the_reports_and_nothing_else(tmp_path, name, text):
    """Its groups, dictionaries and statistics are the same wherever the buckets ended."""
    made = parse(text)
    values = np.zeros(3000) if text.startswith("laplace") else np.zeros(3000, dtype=int)
    order = made.randomize(values, np.random.default_rng(4))
    files = set()
    for ends in ([], [1], [1500, 1500, 2999], range(0, 3000, 7)):
        (tmp_path / name).unlink(missing_ok=True)
        pieces = np.split(order, list(ends))
        reports_in(tmp_path / name, made.report_dtype).write(chunk.even_chunks(pieces, 1000))
        files.add((tmp_path / name).read_bytes())
    assert len(files) == 1
