"""A design runs: reports, sidecars and estimates, and nothing half written."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from designs import STRATEGIES, N, design, rows

from shuffledp import Rounds, ShuffleAccountant
from shuffledp.deployment.files import DataError, Guarantee
from shuffledp.deployment.files.sidecar import read_sidecar
from shuffledp.deployment.study import (
    StudyDesign,
    estimate_reports,
    estimate_study_files,
    randomize_file,
    randomize_frame,
)

FRAME = rows()
CERTIFIED = Guarantee(epsilon=2.0, delta=1e-6, lower_bound=1.9)


@pytest.fixture
def quick(monkeypatch):
    """Take a number for certified: what is tested is something else."""

    def certify(design, n):
        return CERTIFIED, (CERTIFIED,) * len(design.shuffles)

    monkeypatch.setattr("shuffledp.deployment.study.study_randomization._certify", certify)


def truth(frame, name):
    """Shares or mean of those who answered."""
    answers = frame[name].dropna()
    if name == "age":
        return [answers.mean()]
    return answers.value_counts(normalize=True).sort_index().tolist()


def check(estimate, frame):
    """All estimates are within five standard errors of the truth."""
    for name, own in estimate.answers.items():
        found = own.mean if name == "age" else own.shares
        wanted = truth(frame, name)
        assert np.abs(found.values - wanted).max() < 5 * found.standard_errors.min()
        missing = frame[name].isna().mean()
        if own.missing is None:
            assert missing == 0
        else:
            assert abs(own.missing.values[0] - missing) < 5 * own.missing.standard_errors[0]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.usefixtures("quick")
def test_frames_of_pandas_and_polars(strategy, monkeypatch):
    monkeypatch.setattr("shuffledp.deployment.files.chunk.CHUNK_ROWS", 300)
    made = design(strategy)
    for frame in (FRAME, pl.from_pandas(FRAME)):
        collected = randomize_frame(made, frame, np.random.default_rng(5))
        assert collected.n == N
        sizes = [round(N * one.share) for one in made.shuffles]
        assert [reports.size for reports in collected.reports] == sizes
        check(estimate_reports(collected), FRAME)
        assert collected.guarantee == CERTIFIED


@pytest.mark.usefixtures("quick")
def test_secure_bits_without_a_generator():
    first, second = (randomize_frame(design("joint report"), FRAME) for _ in range(2))
    assert (first.reports[0] != second.reports[0]).any()


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.usefixtures("quick")
def test_files(tmp_path, strategy, suffix):
    made = design(strategy)
    source = tmp_path / f"people.{suffix}"
    if suffix == "csv":
        FRAME.to_csv(source, index=False)
    else:
        FRAME.to_parquet(source)
    seen: list[int] = []
    files = randomize_file(
        made, source, tmp_path / f"reports.{suffix}", seed=11, on_rows=seen.append
    )
    assert seen == [N]
    names = [path.name for path in files]
    if len(made.shuffles) > 1:
        about = ["_".join(one.names) for one in made.shuffles]
        assert names == [f"reports-{name}.{suffix}" for name in about]
    else:
        assert names == [f"reports.{suffix}"]
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {source.name, *names, *(f"{name}.json" for name in names)}
    found = estimate_study_files(list(files))
    assert found.n == N
    check(found.estimate, FRAME)
    for path, sidecar in files.items():
        assert read_sidecar(path) == sidecar


@pytest.mark.parametrize("source", ["people", "people/*.*"], ids=["folder", "pattern"])
@pytest.mark.usefixtures("quick")
def test_several_files_are_one_table(tmp_path, source):
    folder = tmp_path / "people"
    folder.mkdir()
    FRAME.iloc[:700].to_csv(folder / "a.csv", index=False)
    FRAME.iloc[700:].to_parquet(folder / "b.parquet")
    made, out = design("separate shuffles"), tmp_path / "reports.csv"
    files = randomize_file(made, tmp_path / source, out, seed=1)
    found = estimate_study_files(list(files))
    assert found.n == N
    check(found.estimate, FRAME)
    randomize_file(made, tmp_path / source, out, force=True)
    with pytest.raises(DataError, match="it is the file that is read"):
        randomize_file(design("joint report"), tmp_path / source, folder / "a.csv", force=True)
    assert {path.name for path in folder.iterdir()} == {"a.csv", "b.parquet"}
    with pytest.raises(DataError, match="has no files that end in"):
        randomize_file(made, tmp_path / "people/*.txt", out, force=True)


@pytest.mark.parametrize(
    "strategy",
    [
        "one attribute per user",
        pytest.param("joint report", marks=pytest.mark.heavy),
        pytest.param("separate shuffles", marks=pytest.mark.heavy),
        pytest.param("one public attribute per user", marks=pytest.mark.heavy),
        pytest.param("joint and separate shuffles", marks=pytest.mark.heavy),
    ],
)
def test_guarantees_are_those_of_the_accountant(tmp_path, strategy):
    made = design(strategy)
    FRAME.to_csv(tmp_path / "people.csv", index=False)
    files = randomize_file(made, tmp_path / "people.csv", tmp_path / "reports.csv")
    accountants = []
    for one, sidecar in zip(made.shuffles, files.values(), strict=True):
        accountants.append(ShuffleAccountant(sidecar.randomizer(), n=sidecar.n))
        assert sidecar.randomizer() == one.mechanism
        assert sidecar.guarantee.epsilon == accountants[-1].get_epsilon(1e-6)
        assert not sidecar.seeded
    if strategy == "one public attribute per user":
        assert [a.n for a in accountants] == [800, 500, 300, 400]
        total = max(a.get_epsilon(1e-6) for a in accountants)
    elif len(accountants) > 1:
        total = Rounds([(accountant, 1) for accountant in accountants]).get_epsilon(1e-6)
    else:
        total = accountants[0].get_epsilon(1e-6)
    for sidecar in files.values():
        assert sidecar.plan["total"]["epsilon"] == total
    assert estimate_study_files(list(files)).guarantee == (total, 1e-6)
    assert randomize_frame(made, FRAME).guarantee.epsilon == total


@pytest.mark.usefixtures("quick")
def test_days_are_merged(tmp_path):
    made, paths = design("separate shuffles"), []
    for day, part in enumerate((FRAME.iloc[:1200], FRAME.iloc[1200:])):
        source = tmp_path / f"day{day}.csv"
        part.to_csv(source, index=False)
        paths += randomize_file(made, source, tmp_path / f"reports{day}.csv", seed=day)
    found = estimate_study_files(paths)
    assert found.n == N
    check(found.estimate, FRAME)
    assert found.guarantee[0] == max(read_sidecar(p).plan["total"]["epsilon"] for p in paths)
    some = estimate_study_files(paths[:1])
    assert list(some.estimate.answers) == ["region"]
    with pytest.raises(KeyError, match="no reports about an attribute 'age'"):
        some.estimate["age"]


@pytest.mark.usefixtures("quick")
def test_cross_tables_from_files(tmp_path):
    FRAME.to_csv(tmp_path / "people.csv", index=False)
    made = design("joint report")
    files = randomize_file(made, tmp_path / "people.csv", tmp_path / "reports.csv", seed=2)
    estimate = estimate_study_files(list(files)).estimate
    table = estimate.crosses["region", "member"]
    shown = FRAME.assign(region=FRAME["region"].fillna("(missing)"))
    counts = shown.value_counts(["region", "member"], normalize=True)
    wanted = [counts.get((a, b == "yes"), 0.0) for a, b in estimate.cells("region", "member")]
    assert estimate.cells("region", "member")[-1] == ("(missing)", "yes")
    assert (np.abs(table.values - wanted) < 5 * table.standard_errors).all()
    assert table.values.sum() == pytest.approx(1.0)
    titles = [section.column.name for section in estimate.sections()]
    assert titles[-2:] == ["region x member", "score x region"]


@pytest.mark.usefixtures("quick")
def test_subgroups_that_cannot_be():
    made = design("joint and separate shuffles")
    estimate = estimate_reports(randomize_frame(made, FRAME, np.random.default_rng(6)))
    south = estimate.among("region", score="2")
    assert south.values.sum() == pytest.approx(1.0)
    assert south.values.size == 3  # those among people who answered
    for given in ({"age": "30"}, {"member": "yes"}, {}, {"region": "south"}):
        with pytest.raises(KeyError, match="no cross table of region"):
            estimate.among("region", **given)
    with pytest.raises(ValueError, match="'score' has no value '6'"):
        estimate.among("region", score="6")
    few = FRAME.assign(score=1)
    estimate = estimate_reports(randomize_frame(made, few, np.random.default_rng(6)))
    with pytest.raises(ValueError, match=r"people with score = 5 is estimated as .* too little"):
        estimate.among("region", score="5")


@pytest.mark.usefixtures("quick")
def test_estimates_with_labels():
    estimate = estimate_reports(
        randomize_frame(design("separate shuffles"), FRAME, np.random.default_rng(4))
    )
    score = estimate["score"]
    middle = score.quantile(0.5)
    assert middle.label == "3" == str(int(FRAME["score"].median()))
    assert int(middle.lower) <= 3 <= int(middle.upper)
    assert score.quantile(0.999).upper == "5"
    assert abs(score.mean.values[0] - FRAME["score"].mean()) < 5 * score.mean.standard_errors[0]
    assert estimate["member"].mean is None
    top = estimate["region"].top(3)
    assert [place.label for place in top] == ["north", "south", "west"]
    assert 0 <= top[0].p_value < 1e-6
    assert top[2].p_value is None
    assert [place.label for place in score.top(5)][-2:] in (["1", "5"], ["5", "1"])
    assert score.top(5)[3].p_value > 1e-4
    frame = estimate.to_frame()
    assert isinstance(frame, pd.DataFrame)
    other = estimate.to_frame(library="polars")
    assert isinstance(other, pl.DataFrame)
    assert other.to_dicts() == frame.to_dict("records")
    with pytest.raises(ValueError, match="library must be 'pandas' or 'polars', got 'dask'"):
        estimate.to_frame(library="dask")
    row = frame[(frame.attribute == "region") & (frame.value == "south")].iloc[0]
    assert row.lower_all < row.lower < row.estimate < row.upper < row.upper_all
    with pytest.raises(ValueError, match="no ordered categories"):
        estimate["region"].quantile(0.5)
    with pytest.raises(ValueError, match="a number, which has no shares"):
        estimate["age"].top(1)


@pytest.mark.usefixtures("quick")
def test_nobody_answered():
    frame = FRAME.assign(region=None)
    estimate = estimate_reports(randomize_frame(design("one attribute per user"), frame))
    with pytest.raises(ValueError, match="share of answers about 'region' is estimated as"):
        _ = estimate["region"].shares


def test_bad_rows_leave_no_file(tmp_path):
    made, source = design("separate shuffles"), tmp_path / "people.csv"
    for change, message in (
        ({"region": "east"}, r"row 1, column 'region': 'east' is not one of"),
        ({"member": None}, r"row 1, column 'member': the answer is missing"),
        ({"age": 81}, r"row 1, column 'age': 81.0 is not between 20.0 and 80.0"),
    ):
        FRAME.assign(**change).to_csv(source, index=False)
        with pytest.raises(DataError, match=message):
            randomize_file(made, source, tmp_path / "reports.csv")
        with pytest.raises(DataError, match=message.replace("row 1", "the frame, row 1")):
            randomize_frame(made, FRAME.assign(**change))
    FRAME.drop(columns="age").to_csv(source, index=False)
    with pytest.raises(DataError, match="there is no column 'age'"):
        randomize_file(made, source, tmp_path / "reports.csv")
    FRAME.iloc[:0].to_csv(source, index=False)
    with pytest.raises(DataError, match="has no rows"):
        randomize_file(made, source, tmp_path / "reports.csv")
    with pytest.raises(DataError, match="has no rows"):
        randomize_frame(made, FRAME.iloc[:0])
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


def test_too_few_rows_leave_no_file(tmp_path):
    made = design("one attribute per user", epsilon=1.0)
    FRAME.iloc[:100].to_csv(tmp_path / "people.csv", index=False)
    with pytest.raises(
        DataError, match=r"with 100 rows .* above the target 1; it was made for 2,0"
    ):
        randomize_file(made, tmp_path / "people.csv", tmp_path / "reports.csv")
    with pytest.raises(DataError, match="with 100 rows"):
        randomize_frame(made, FRAME.iloc[:100])
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


@pytest.mark.usefixtures("quick")
def test_existing_files_and_the_input_stay(tmp_path):
    made, source = design("separate shuffles"), tmp_path / "people.csv"
    FRAME.to_csv(source, index=False)
    (tmp_path / "reports-score.csv").write_text("precious")
    with pytest.raises(DataError, match=r"reports-score.csv' exists already"):
        randomize_file(made, source, tmp_path / "reports.csv")
    with pytest.raises(DataError, match="it is the file that is read"):
        randomize_file(design("joint report"), source, source, force=True)
    with pytest.raises(DataError, match=r"must end in .csv or .parquet"):
        randomize_file(made, source, tmp_path / "reports.txt")
    assert {path.name for path in tmp_path.iterdir()} == {"people.csv", "reports-score.csv"}
    randomize_file(made, source, tmp_path / "reports.csv", force=True)
    assert len(list(tmp_path.iterdir())) == 9


@pytest.mark.usefixtures("quick")
def test_publishing_that_fails_half_way_leaves_nothing(tmp_path, monkeypatch):
    from shuffledp.deployment.files.draft import Draft

    made, source = design("separate shuffles"), tmp_path / "people.csv"
    FRAME.to_csv(source, index=False)
    publish, calls = Draft.publish, []

    def fails_third(self):
        calls.append(self)
        if len(calls) == 3:
            raise DataError("no room")
        publish(self)

    monkeypatch.setattr(Draft, "publish", fails_third)
    with pytest.raises(DataError, match="no room"):
        randomize_file(made, source, tmp_path / "reports.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


@pytest.mark.usefixtures("quick")
def test_files_that_do_not_belong_together(tmp_path):
    FRAME.to_csv(tmp_path / "people.csv", index=False)
    run = [
        list(randomize_file(design(strategy), tmp_path / "people.csv", tmp_path / f"{i}.csv"))
        for i, strategy in enumerate(STRATEGIES)
    ]
    with pytest.raises(DataError, match="is of another plan than"):
        estimate_study_files([*run[0], *run[1]])
    with pytest.raises(DataError, match="hold the same reports"):
        estimate_study_files([*run[0], *run[0]])


@pytest.mark.parametrize(
    "change",
    [
        {"total": None},
        {"total": {"epsilon": 1.0}},
        {"total": {"epsilon": "1", "delta": 1e-6, "lower_bound": 0.5}},
        {"total": {"epsilon": 1.0, "delta": -1, "lower_bound": 0.5}},
        {"shuffle": -1},
        {"shuffle": 4},
        {"design": []},
        {"users": True},
    ],
    ids=str,
)
@pytest.mark.usefixtures("quick")
def test_sidecars_that_contradict_themselves(tmp_path, change):
    FRAME.to_csv(tmp_path / "people.csv", index=False)
    made = design("separate shuffles")
    path, sidecar = next(
        iter(randomize_file(made, tmp_path / "people.csv", tmp_path / "r.csv").items())
    )
    forged = replace(sidecar, plan={**sidecar.plan, **change})
    path.with_name(f"{path.name}.json").write_text(forged.to_json())
    with pytest.raises(DataError, match=r"the sidecar of .* contradicts itself"):
        estimate_study_files([path])


def test_designs_are_read_back(tmp_path):
    for strategy in STRATEGIES:
        made = design(strategy)
        made.save(tmp_path / "plan.json")
        assert StudyDesign.load(tmp_path / "plan.json") == made
    content = json.loads((tmp_path / "plan.json").read_text())
    for change, message in (
        ({"strategy": "other"}, "its checksum is wrong"),
        ({"format": "shuffledp plan, 9"}, "its format is 'shuffledp plan, 9'"),
    ):
        (tmp_path / "bad.json").write_text(json.dumps(content | change))
        with pytest.raises(ValueError, match=f"is not a plan, or was changed: .*{message}"):
            StudyDesign.load(tmp_path / "bad.json")
    for text in ("[]", "{}", "nonsense", "{" * 10**5):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(ValueError, match="is not a plan"):
            StudyDesign.load(tmp_path / "bad.json")


def test_designs_that_contradict_themselves():
    good = design("separate shuffles").to_dict()

    def changed(place, **entry):
        shuffles = [dict(one) for one in good["shuffles"]]
        shuffles[place] |= entry
        return good | {"shuffles": shuffles}

    for content, message in (
        (good | {"format": "other"}, "its format is 'other'"),
        (good | {"shuffles": good["shuffles"][:3]}, "about every attribute once"),
        (changed(0, mechanism="krr(k=3, epsilon0=1)"), "does not fit attribute 'region' of 4 val"),
        (changed(1, mechanism="discrete_laplace(1, 2)"), "does not fit attribute 'member'"),
        (changed(3, mechanism="discrete_laplace(1, 2)"), "does not fit the number 'age'"),
        (changed(3, mechanism="krr(k=2, epsilon0=1)"), "does not fit the number 'age'"),
        (changed(0, mechanism="krr(k=3"), "krr"),
        (changed(1, mechanism="joint(krr(2, 1), krr(2, 1))"), "does not read 1 attributes"),
        ({k: v for k, v in good.items() if k != "study"}, "it has no 'study'"),
        (good | {"strategy": None}, "its strategy must be a text"),
        (good | {"predicted_errors": []}, "its predicted errors a table"),
        (good | {"guarantee": {"epsilon": "x"}}, "epsilon must be a real number"),
        (
            good | {"study": good["study"] | {"crosses": [["region", "member"]]}},
            "cross table of region, member needs one joint",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            StudyDesign.from_dict(content)


@pytest.mark.usefixtures("quick")
def test_names_that_look_alike_as_files(tmp_path):
    from shuffledp.deployment.study import Attribute, Shuffle, Study
    from shuffledp.mechanisms import parse

    names = ["a/b", "a b"]
    asked = Study(tuple(map(Attribute.yes_no, names)), 100, 300.0, 1e-6)
    mechanism = parse("krr(k=2, epsilon0=1)")
    made = StudyDesign(
        asked, "separate shuffles", tuple(Shuffle((name,), mechanism) for name in names), 2.0, {}
    )
    pd.DataFrame({name: ["yes", "no"] * 50 for name in names}).to_csv(
        tmp_path / "people.csv", index=False
    )
    files = randomize_file(made, tmp_path / "people.csv", tmp_path / "out.csv")
    assert [path.name for path in files] == ["out-1-a_b.csv", "out-2-a_b.csv"]
    assert math.isfinite(estimate_study_files(list(files)).guarantee[0])
