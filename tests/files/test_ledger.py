"""A ledger: what it answers, what it refuses, and what crashes and other writers leave of it."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import sys
import threading
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from shuffledp import (
    KRR,
    BudgetExceededError,
    Ledger,
    MatrixRandomizer,
    Rounds,
    ShuffleAccountant,
    joint,
    parse,
    subsample,
)
from shuffledp.accounting.rounds.renyi import renyi_divergence
from shuffledp.deployment.files import Column, DataError, Randomization, sidecar_path
from shuffledp.deployment.files.draft import Draft, lock
from shuffledp.deployment.ledger import ledger as module

WEEKLY, N = "krr(k=3, epsilon0=1.0)", 1000
ONE = ShuffleAccountant(WEEKLY, N)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "spent.jsonl"


@pytest.fixture
def ledger(path):
    return Ledger.create(path, epsilon=0.5, delta=1e-6)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_an_empty_one_has_spent_nothing(ledger):
    assert (ledger.rounds, ledger.times, ledger.recorded) == (None, 0, ())
    assert (ledger.spent_epsilon(), ledger.spent_delta(), ledger.left_epsilon()) == (0.0, 0.0, 0.5)


@pytest.mark.heavy
def test_it_answers_what_rounds_answer(ledger, path):
    ledger.add(WEEKLY, N, times=3)
    ledger.add(parse("krr(k=4, epsilon0=1)"), 500)
    ledger.add(WEEKLY, N)
    survey = ShuffleAccountant("krr(k=4, epsilon0=1)", 500)
    rounds = Rounds([(ONE, 4), (survey, 1)])
    for found in (ledger, Ledger(path)):
        assert found.times == 5
        assert found.spent_epsilon() == rounds.get_epsilon(1e-6)
        assert found.spent_epsilon(1e-3) == rounds.get_epsilon(1e-3)
        assert found.spent_delta() == rounds.get_delta(0.5)
        assert found.spent_delta(0.2) == rounds.get_delta(0.2)
        left = Fraction(0.5) - Fraction(rounds.get_epsilon(1e-6))
        assert left * Fraction(999, 1000) < Fraction(found.left_epsilon()) <= left
    assert [entry.times for entry in ledger.recorded] == [3, 1, 1]


@pytest.mark.heavy
def test_what_fits_is_let_in_and_one_more_is_not(ledger, path):
    ledger.add("krr(k=4, epsilon0=1)", 2000)
    times = ledger.fitting(WEEKLY, N)
    assert times > 1
    ledger.check(WEEKLY, N, times)
    before = path.read_bytes()
    with pytest.raises(BudgetExceededError, match=r"krr\(k=3, epsilon0=1.0\) with n = 1000: all"):
        ledger.add(WEEKLY, N, times + 2)
    with pytest.raises(BudgetExceededError):
        ledger.check(WEEKLY, N, times + 2)
    assert path.read_bytes() == before
    ledger.add(WEEKLY, N, times)
    assert ledger.fitting(WEEKLY, N) <= 1
    assert ledger.spent_epsilon() <= 0.5
    assert ledger.spent_delta() <= 1e-6


def test_nothing_fits(ledger):
    assert ledger.fitting("krr(k=3, epsilon0=5)", 2) == 0


@pytest.mark.heavy
def test_what_happened_is_recorded_even_beyond_the_budget(ledger):
    ledger.add("krr(k=3, epsilon0=5)", 2, beyond=True)
    assert ledger.spent_epsilon() > 0.5
    assert ledger.left_epsilon() == 0
    assert ledger.fitting(WEEKLY, N) == 0
    with pytest.raises(BudgetExceededError):
        ledger.add(WEEKLY, N)


def test_the_budget_is_checked_against_what_others_added(ledger, path):
    times = ledger.fitting(WEEKLY, N)
    Ledger(path).add(WEEKLY, N, times)
    with pytest.raises(BudgetExceededError):  # this one was read before
        ledger.add(WEEKLY, N, times)
    ledger.add("krr(k=3, epsilon0=1e-3)", N, beyond=True)
    assert [entry.times for entry in ledger.recorded] == [times, 1]


def test_the_best_bound_is_kept(path):
    ledger = Ledger.create(path, epsilon=1.0, delta=1e-6, bound="best")
    ledger.add("krr(k=10, epsilon0=2)", N)
    best = ShuffleAccountant("krr(k=10, epsilon0=2)", N, bound="best")
    assert Ledger(path).spent_epsilon() == best.get_epsilon(1e-6)


def test_lines_are_only_added_and_hold_the_checksum_of_the_one_before(ledger, path):
    before = path.read_text()
    ledger.add(WEEKLY, N, reports="ab")
    assert path.read_text().startswith(before)
    previous = ""
    for line in path.read_text().splitlines():
        content = json.loads(line)
        checksum = content.pop("checksum")
        assert content["previous"] == previous
        text = json.dumps(content, sort_keys=True)
        assert checksum == hashlib.sha256(text.encode()).hexdigest()
        previous = checksum
    assert previous == ledger.checksum == Ledger(path).checksum
    assert ledger.recorded[0].reports == "ab"


def forged(**changes):
    """A line as somebody who knows the format would write it."""

    def change(line: str) -> str:
        content = {**json.loads(line), **changes}
        del content["checksum"]
        checksum = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        return json.dumps({**content, "checksum": checksum})

    return change


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda a, b, c: "", "it is empty"),
        (lambda a, b, c: "\n", "line 1: "),
        (lambda a, b, c: "[]\n", "line 1: it is no JSON object"),
        (lambda a, b, c: f"{a}\n{b}\n{c}", "its last line is not complete"),
        (lambda a, b, c: f"{a}\n{b}\n{c[:9]}\n", "line 3: "),
        (lambda a, b, c: f"{a}\n{c}\n", "line 2: it does not follow the line before"),
        (lambda a, b, c: f"{a}\n{c}\n{b}\n", "line 2: it does not follow"),
        (lambda a, b, c: f"{b}\n{c}\n", "line 1: it does not follow"),
        (lambda a, b, c: f"{a}\n\n{b}\n{c}\n", "line 2: "),
        (lambda a, b, c: f"{a.replace('0.5', '5.0')}\n", "line 1: its checksum is wrong"),
        (lambda a, b, c: a.replace("0.5", "NaN") + "\n", "line 1: NaN is no number"),
        (lambda a, b, c: f"{a}\n{b.replace('1000', '9999')}\n", "line 2: its checksum is wrong"),
        (lambda a, b, c: f"{a}\n{forged(n=0)(b)}\n", "line 2: n must be an integer of at least 1"),
        (lambda a, b, c: f"{a}\n{forged(times=True)(b)}\n", "line 2: times must be an integer"),
        (lambda a, b, c: f"{a}\n{forged(mechanism='x(1)')(b)}\n", "line 2: unknown mechanism"),
        (lambda a, b, c: f"{a}\n{forged(mechanism=1)(b)}\n", "line 2: mechanism must be a text"),
        (lambda a, b, c: f"{a}\n{forged(more=1)(b)}\n", "line 2: its fields must be "),
        (lambda a, b, c: forged(epsilon=-1)(a) + "\n", "line 1: epsilon must be between 0"),
        (lambda a, b, c: forged(bound="x")(a) + "\n", "line 1: bound must be one of"),
        (lambda a, b, c: forged(format="2")(a) + "\n", "line 1: its format is '2'"),
        (lambda a, b, c: a.replace("{", "{ ") + "\n", "it is not written as this package writes"),
        (lambda a, b, c: f"{a}\r\n{b}\r\n", "line 1: it is not written as"),
        (lambda a, b, c: "[" * 99_999 + "\n", "line 1: "),
    ],
)
def test_damage_is_found(ledger, path, damage, message):
    ledger.add(WEEKLY, N, beyond=True)
    ledger.add(WEEKLY, N, beyond=True)
    path.write_bytes(damage(*path.read_text().splitlines()).encode())
    damaged = path.read_bytes()
    with pytest.raises(DataError, match=r"spent\.jsonl' is no ledger, or was changed: ") as caught:
        Ledger(path)
    assert message in str(caught.value)
    with pytest.raises(DataError, match="is no ledger"):
        ledger.add(WEEKLY, N)
    assert path.read_bytes() == damaged
    assert names(path.parent) == [path.name]


def test_bytes_that_are_no_text(path):
    path.write_bytes(b"\xff\n")
    with pytest.raises(DataError, match="is no ledger"):
        Ledger(path)


def test_unknown_and_known_files(path, ledger):
    with pytest.raises(DataError, match=r"cannot read .*no such.*: No such file"):
        Ledger(path.with_name("no such"))
    with pytest.raises(DataError, match="is no name of a file"):
        Ledger("\0")
    with pytest.raises(DataError, match="exists already; a ledger is never replaced"):
        Ledger.create(path, epsilon=1, delta=1e-6)
    assert Ledger(path).budget.epsilon == 0.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 0}, "n must be"),
        ({"times": 0}, "times must be"),
        ({"times": -1}, "times must be"),
        ({"mechanism": "nosuch(1)"}, "unknown mechanism"),
    ],
)
def test_rounds_that_are_none(ledger, path, arguments, message):
    before = path.read_bytes()
    with pytest.raises(ValueError, match=message):
        ledger.add(**{"mechanism": WEEKLY, "n": N, **arguments})
    assert path.read_bytes() == before


def test_budgets_that_are_none(path):
    for bad in ({"epsilon": -1}, {"delta": 2}, {"bound": "x"}):
        with pytest.raises(ValueError, match="must be"):
            Ledger.create(path, **{"epsilon": 1, "delta": 1e-6, **bad})
    assert not path.exists()


def test_writers_wait_for_each_other(ledger, path):
    threads = [
        threading.Thread(target=lambda: Ledger(path).add(WEEKLY, N, beyond=True)) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Ledger(path).times == 8
    assert names(path.parent) == [path.name]


def test_they_do_not_wait_for_ever(ledger, monkeypatch):
    monkeypatch.setattr(module, "_PATIENCE", 0.05)
    with lock(ledger.path), pytest.raises(DataError, match="another run is writing it"):
        ledger.add(WEEKLY, N)


def test_hard_links_are_refused(ledger, path):
    path.with_name("copy").hardlink_to(path)
    for name in ("copy", path.name):
        with pytest.raises(DataError, match="one of 2 hard links"):
            Ledger(path.with_name(name))
    with pytest.raises(DataError, match="one of 2 hard links"):
        ledger.add(WEEKLY, N)
    path.with_name("copy").unlink()
    ledger.add(WEEKLY, N)


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights")
def test_a_link_leads_to_the_one_ledger(ledger, path):
    link = path.with_name("link")
    link.symlink_to(path)
    Ledger(link).add(WEEKLY, N)
    assert link.is_symlink()
    assert Ledger(path).times == 1


@pytest.mark.skipif(sys.platform == "win32", reason="files have no such modes")
def test_who_may_read_it_stays(ledger, path):
    path.chmod(0o600)
    ledger.add(WEEKLY, N)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_that_is_read_only_stays_as_it_is(ledger, path, monkeypatch):
    """It could be replaced in its folder. To root nothing is read-only, hence a fake."""
    before = path.read_bytes()
    monkeypatch.setattr("os.access", lambda where, mode: Path(where) != path or mode != os.W_OK)
    with pytest.raises(DataError, match="cannot write"):
        ledger.add(WEEKLY, N)
    assert path.read_bytes() == before
    assert names(path.parent) == [path.name]


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt()], ids=repr)
def test_a_failure_leaves_it_as_it_was(ledger, path, monkeypatch, error):
    before = path.read_bytes()

    def fail(*arguments):
        raise error

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(DataError if isinstance(error, OSError) else KeyboardInterrupt):
        ledger.add(WEEKLY, N)
    assert path.read_bytes() == before
    assert names(path.parent) == [path.name]
    assert ledger.times == 0


def test_matrices_are_spelt_out(ledger, tmp_path):
    matrix = tmp_path / "m.csv"
    matrix.write_text("0.6,0.4\n0.4,0.6\n")
    ledger.add(f"matrix({str(matrix)!r})", N)
    matrix.unlink()
    assert Ledger(ledger.path).recorded[0].mechanism == "matrix([[0.6, 0.4], [0.4, 0.6]])"


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("answer\n" + "0\n1\n2\n" * 300)
    return path


def randomize(source, ledger, seed=None, out="reports.csv", **options):
    return Randomization(parse(WEEKLY), [Column("answer")], seed=seed).run(
        source,
        source.with_name(out),
        target_delta=1e-6,
        assumptions=(),
        ledger=ledger,
        **options,
    )


def test_randomization_records_its_round(source, ledger, path):
    sidecar = randomize(source, ledger)
    (entry,) = Ledger(path).recorded
    assert (entry.mechanism, entry.n, entry.times) == (WEEKLY, 900, 1)
    assert entry.reports == sidecar.sha256


def test_randomization_refuses_to_exceed_the_budget(source, path):
    ledger = Ledger.create(path, epsilon=0.01, delta=1e-6)
    before = path.read_bytes()
    with pytest.raises(BudgetExceededError):
        randomize(source, ledger)
    assert path.read_bytes() == before
    assert names(path.parent) == ["answers.csv", "spent.jsonl"]


def test_the_round_is_recorded_before_the_reports_appear(source, ledger, path, monkeypatch):
    """What may have been seen is in the ledger, also if the process dies right before or after."""
    seen = []

    def die(draft):
        seen.append(Ledger(path).times)
        raise KeyboardInterrupt

    monkeypatch.setattr(Draft, "publish", die)
    with pytest.raises(KeyboardInterrupt):
        randomize(source, ledger)
    assert seen == [1]
    assert not source.with_name("reports.csv").exists()


def test_a_ledger_that_cannot_be_written_leaves_no_reports(source, ledger, path, monkeypatch):
    def fail(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(module, "write_whole", fail)
    with pytest.raises(DataError, match=r"spent\.jsonl': No space left"):
        randomize(source, ledger)
    assert names(path.parent) == ["answers.csv", "spent.jsonl"]
    assert Ledger(path).times == 0


def test_the_ledger_is_never_overwritten_by_reports(source, tmp_path):
    for name in ("reports.csv", sidecar_path(Path("reports.csv")).name):
        path = tmp_path / name
        ledger = Ledger.create(path, epsilon=1, delta=1e-6)
        before = path.read_bytes()
        with pytest.raises(DataError, match="it is the ledger"):
            randomize(source, ledger, force=True)
        assert path.read_bytes() == before
        path.unlink()


def test_seeded_reports_are_not_recorded(source, ledger):
    with pytest.raises(ValueError, match="reports from a seed have no guarantee"):
        randomize(source, ledger, seed=1)
    assert ledger.times == 0


@pytest.mark.heavy
def test_an_adaptive_one_counts_divergences_of_one_order(path):
    ledger = Ledger.create(path, epsilon=0.5, delta=1e-6, bound="blanket", adaptive=True)
    allowed, order = ledger.budget.filter.allowed, ledger.budget.order
    assert Ledger(path).budget.order == order > 1
    assert ledger.left_epsilon() == pytest.approx(allowed)
    one = ShuffleAccountant(WEEKLY, N, bound="blanket")
    times = ledger.fitting(WEEKLY, N)
    assert (
        0
        < times
        < Ledger.create(path.with_name("plan"), epsilon=0.5, delta=1e-6).fitting(WEEKLY, N)
    )
    ledger.add(WEEKLY, N, times)
    assert ledger.spent_divergence() == renyi_divergence(one.rounds(times), order) <= allowed
    assert ledger.left_epsilon() <= allowed - ledger.spent_divergence()
    before = path.read_bytes()
    with pytest.raises(BudgetExceededError, match=r"Rényi divergence = .* is allowed"):
        ledger.add(WEEKLY, N)
    assert path.read_bytes() == before
    assert not ledger.is_exceeded
    ledger.add(WEEKLY, N, beyond=True)
    assert ledger.is_exceeded
    assert ledger.left_epsilon() == 0
    with pytest.raises(ValueError, match="needs epsilon and delta"):
        Ledger.create(path.with_name("none"), epsilon=0, delta=1e-6, adaptive=True)
    assert not path.with_name("none").exists()


def test_only_adaptive_ones_count_divergences(ledger):
    assert ledger.budget.filter is None
    with pytest.raises(ValueError, match="was not created with adaptive=True"):
        ledger.spent_divergence()


class _Doubled(KRR):
    """It is written as k-RR and states the law of twice its level."""

    @property
    def ratio(self) -> Decimal:
        return super().ratio ** 2


class _Derived(MatrixRandomizer):
    """It may state another law."""


@pytest.mark.parametrize(
    "mechanism",
    [
        _Doubled(k=3, epsilon0=1.0),
        subsample(_Doubled(k=3, epsilon0=1.0), 0.5),
        joint("krr(k=2, epsilon0=1)", _Derived([[0.75, 0.25], [0.25, 0.75]])),
    ],
)
def test_a_text_that_means_another_law_is_not_recorded(ledger, mechanism):
    before = ledger.path.read_text()
    for ask in (ledger.add, ledger.check, ledger.fitting):
        with pytest.raises(ValueError, match="mechanism must be what its text says, got one whose"):
            ask(mechanism, 1000)
    assert ledger.path.read_text() == before
