"""Who reports what: sizes that chance does not change, and no look at the answers."""

from __future__ import annotations

import numpy as np
import pytest
from designs import design, rows
from hypothesis import given
from hypothesis import strategies as st

from shuffledp import ShuffleAccountant
from shuffledp.deployment.files import DataError, Guarantee
from shuffledp.deployment.files.chunk import even_batches
from shuffledp.deployment.study import (
    Shuffle,
    estimate_study_files,
    randomize_file,
    randomize_frame,
)
from shuffledp.deployment.study.shuffle import PARTS, Assignment, users_of
from shuffledp.deployment.study.study_option import certified

ONE = Guarantee(epsilon=2.0, delta=1e-6, lower_bound=1.9)
CERTIFIED = ONE, (ONE,) * 4


@given(
    st.lists(st.integers(1, 400), min_size=1, max_size=20),
    st.integers(1, 30_000),
    st.integers(1, 5000),
)
def test_sizes_are_those_of_every_draw(weights, n, batch):
    counts = [weight * (PARTS // sum(weights)) for weight in weights]
    counts[0] += PARTS - sum(counts)
    assignment = Assignment([count / PARTS for count in counts])
    sizes = assignment.sizes(n)
    assert sum(sizes) == n
    for size, count in zip(sizes, counts, strict=True):
        assert abs(size - n * count / PARTS) < 1 + len(counts) / 2
    rng, found = np.random.default_rng(1), np.zeros(len(counts), dtype=int)
    for first in range(0, n, batch):
        groups = assignment.groups(first, min(batch, n - first), rng)
        found += np.bincount(groups, minlength=len(counts))
    assert tuple(found) == sizes


def test_everybody_has_the_same_chance():
    assignment, rng = Assignment((0.7, 0.3)), np.random.default_rng(2)
    often = np.mean([assignment.groups(0, 50, rng) for _ in range(4000)], axis=0)
    assert np.abs(often - 0.3).max() < 5 * (0.21 / 4000) ** 0.5


@pytest.mark.parametrize(
    "shares", [(0.5, 0.4), (0.5, 0.50001), (1.0, 0.0), (0.33333, 0.66667), (1.5, -0.5)]
)
def test_bad_shares(shares):
    with pytest.raises(ValueError, match="ten-thousandths that sum to 1"):
        Assignment(shares)


@given(st.lists(st.integers(1, 7), max_size=12), st.integers(1, 9))
def test_batches_do_not_show_how_rows_came(sizes, rows):
    source, first = [], 0
    for size in sizes:
        numbers = np.arange(first, first + size)
        source.append([numbers if size % 2 else numbers.tolist(), numbers])
        first += size
    batches = list(even_batches(iter(source), rows))
    assert [len(batch[0]) for batch in batches[:-1]] == [rows] * (len(batches) - 1)
    for column in range(2):
        assert [int(x) for batch in batches for x in batch[column]] == list(range(first))


@pytest.mark.heavy
def test_the_guarantee_is_that_of_the_weakest_group():
    made = design("one public attribute per user")
    each = [
        ShuffleAccountant(one.mechanism, users).get_epsilon(1e-6)
        for one, users in zip(made.shuffles, users_of(made.shuffles, 1001), strict=True)
    ]
    assert certified(made.shuffles, 1001, 1e-6).epsilon == max(each)


def test_too_few_rows_for_all_groups(tmp_path):
    made = design("one public attribute per user")
    rows(2).to_csv(tmp_path / "people.csv", index=False)
    with pytest.raises(DataError, match="2 rows are too few to have some for each attribute"):
        randomize_file(made, tmp_path / "people.csv", tmp_path / "reports.csv")
    with pytest.raises(DataError, match="2 rows are too few"):
        randomize_frame(made, rows(2))
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


def test_a_short_last_batch_may_leave_groups_out(tmp_path, monkeypatch):
    monkeypatch.setattr("shuffledp.deployment.files.chunk.CHUNK_ROWS", 50)
    made, frame = design("one public attribute per user"), rows(101)
    wanted = users_of(made.shuffles, 101)
    monkeypatch.setattr(
        "shuffledp.deployment.study.study_randomization._certify", lambda design, n: CERTIFIED
    )
    assert tuple(one.size for one in randomize_frame(made, frame).reports) == wanted
    frame.to_csv(tmp_path / "people.csv", index=False)
    files = randomize_file(made, tmp_path / "people.csv", tmp_path / "reports.csv")
    assert tuple(sidecar.n for sidecar in files.values()) == wanted
    assert {sidecar.plan["users"] for sidecar in files.values()} == {101}
    assert estimate_study_files(list(files)).n == 101


@pytest.mark.parametrize("share", [0.0, -1.0, 1.1, float("nan"), True, "a"])
def test_shares_of_shuffles(share):
    mechanism = design("separate shuffles").shuffles[0].mechanism
    with pytest.raises((ValueError, TypeError), match="share"):
        Shuffle(("region",), mechanism, share)
