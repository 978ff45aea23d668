"""Shuffling through files."""

from __future__ import annotations

import io
import sys
import tempfile
from collections import Counter
from itertools import chain, permutations

import numpy as np
import pytest

from shuffledp.deployment.files import buckets as module
from shuffledp.deployment.files.buckets import Buckets, buckets_for


def shuffled(folder, batches, count, rng=None, rows=2):
    dtype = np.asarray(batches[0]).dtype
    with Buckets(folder, dtype, count=count, rng=rng) as buckets:
        for batch in batches:
            buckets.add(np.asarray(batch))
        assert buckets.size == sum(map(len, batches))
        return list(buckets.empty(rows))


@pytest.mark.heavy
@pytest.mark.parametrize("count", [1, 3])
def test_all_orders_are_equally_likely(tmp_path, count):
    rng, runs = np.random.default_rng(count), 960
    found = Counter(
        tuple(np.concatenate(shuffled(tmp_path, [[0, 1, 2], [3]], count, rng)).tolist())
        for _ in range(runs)
    )
    expected = runs / 24
    chi_square = sum((found[order] - expected) ** 2 for order in permutations(range(4))) / expected
    assert sum(found.values()) == runs
    assert chi_square < 49.7  # the 0.999 quantile for 23 degrees of freedom


def test_nothing_is_lost_and_nothing_stays(tmp_path):
    batches = [np.arange(i, i + 100) for i in range(0, 1000, 100)]
    chunks = shuffled(tmp_path, batches, 7, rows=13)
    assert [chunk.size for chunk in chunks] == [13] * 76 + [12]  # buckets cannot be told apart
    reports = np.concatenate(chunks)
    assert sorted(reports.tolist()) == list(range(1000))
    assert reports.tolist() != list(range(1000))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="there files have names while they are open")
def test_the_files_have_no_names(tmp_path):
    with Buckets(tmp_path, np.dtype("u1"), count=3, rng=None) as buckets:
        buckets.add(np.arange(200, dtype=np.uint8))
        assert list(tmp_path.iterdir()) == []
        assert np.concatenate(list(buckets.empty(50))).size == 200


def test_files_do_not_hold_reports_in_the_order_in_which_they_came(tmp_path, monkeypatch):
    written = []

    class File(io.BytesIO):
        def close(self):
            if not self.closed:
                written.append(list(self.getvalue()))
            super().close()

    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **options: File())
    with Buckets(tmp_path, np.dtype("u1"), count=2, rng=None) as buckets:
        for start in (0, 100):
            buckets.add(np.arange(start, start + 100, dtype=np.uint8))
    assert sorted(chain(*written)) == list(range(200))
    for content in written:
        for own in ([x for x in content if x < 100], [x for x in content if x >= 100]):
            assert own != sorted(own)


def test_more_buckets_than_reports(tmp_path):
    assert np.concatenate(shuffled(tmp_path, [[5]], 20)).tolist() == [5]


def test_reports_with_fields(tmp_path):
    dtype = np.dtype([("function", "<u8", (2,)), ("bucket", "u1")])
    reports = np.zeros(50, dtype=dtype)
    reports["bucket"] = np.arange(50)
    found = np.concatenate(shuffled(tmp_path, [reports], 3))
    assert found.dtype == dtype
    assert sorted(found["bucket"].tolist()) == list(range(50))


def test_the_number_of_buckets_is_bounded(monkeypatch):
    assert buckets_for(0, np.dtype("u1")) == 1
    assert buckets_for(10**15, np.dtype("u1")) == 512
    monkeypatch.setattr(module, "BUCKET_BYTES", 250)
    assert buckets_for(21, np.dtype("u1")) == 3
