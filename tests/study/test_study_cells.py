"""Cells of files and frames become integers, or one clear message."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

from shuffledp.deployment.files import DataError
from shuffledp.deployment.study import Attribute, Study
from shuffledp.deployment.study.encoding import Encoding
from shuffledp.deployment.study.frames import chunks
from shuffledp.mechanisms.sampling import Bits

ROOM = Attribute.categories("room", ["a", "b", 3], missing="category")
MEMBER = Attribute.yes_no("member", missing="leave out")
AGE = Attribute.number("age", -10, 30, missing="category")


def encode(attribute, cells, points=0, seed=1):
    bits = Bits(np.random.default_rng(seed))
    return Encoding(attribute, points).encode(cells, bits, 5, "people").tolist()


MISSING = [None, "", " ", math.nan, np.float64("nan"), pd.NA, pd.NaT]


def test_labels():
    assert encode(ROOM, ["b", "a", "3", 3, 3.0, "3.0", "3.00", np.int64(3), np.float32(3)]) == [
        1, 0, *[2] * 7,
    ]  # fmt: skip
    assert encode(ROOM, np.array([3, 3], dtype=np.int8)) == [2, 2]
    assert encode(ROOM, MISSING) == [3] * len(MISSING)


def test_yes_and_no():
    cells = [True, False, "yes", "No", "TRUE", "false", 1, 0, 1.0, "0", np.True_, " yes"]
    assert encode(MEMBER, cells) == [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1]
    assert encode(MEMBER, MISSING) == [2] * len(MISSING)


@pytest.mark.parametrize("cell", ["c", "A", 4, 3.5, True, [1], "nan"])
def test_what_is_no_label(cell):
    message = r"people, row 6, column 'room': .* is not one of 'a', 'b', '3'"
    with pytest.raises(DataError, match=message):
        encode(ROOM, ["a", cell])


def test_many_labels_are_not_all_listed():
    many = Attribute.categories("x", range(50))
    with pytest.raises(DataError, match="'50' is not one of '0', '1', '2', '3', '4' and 45 others"):
        encode(many, ["50"])


@pytest.mark.parametrize("missing", MISSING, ids=repr)
@pytest.mark.parametrize(
    ("attribute", "points", "good"),
    [(Attribute.yes_no("x"), 0, True), (Attribute.number("x", 0, 1), 5, 0.5)],
    ids=["yes/no", "number"],
)
def test_missing_can_be_an_error(attribute, points, good, missing):
    with pytest.raises(DataError, match=r"people, row 6, column 'x': the answer is missing"):
        encode(attribute, [good, missing], points)


def test_grid_points_stay():
    cells = [-10, "0", 10.0, 20, "3e1", None]
    for seed in range(5):
        assert encode(AGE, cells, points=5, seed=seed) == [0, 1, 2, 3, 4, 5]
    assert encode(AGE, np.array([-10.0, math.nan, 30.0]), points=5) == [0, 5, 4]
    assert encode(AGE, np.array([-10, 30]), points=2) == [0, 1]


@pytest.mark.parametrize("value", [-9.9, 7.3, 29.999])
def test_rounding_is_unbiased(value):
    codes = np.array(encode(AGE, np.full(40_000, value), points=4))
    place = (value + 10) / 40 * 3
    assert set(codes.tolist()) <= {math.floor(place), math.floor(place) + 1}
    part = place % 1
    assert abs(codes.mean() - place) < 4.5 * math.sqrt(part * (1 - part) / 40_000) + 1e-9


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (30.001, "30.001 is not between -10.0 and 30.0"),
        (-math.inf, "-inf is not between"),
        ("old", "'old' is not a number"),
        ("1_0", "'1_0' is not a number"),
        ("nan", "'nan' is not a number"),
        (True, "True is not a number"),
        ([1], r"\[1\] is not a number"),
        (10**400, "is not a number"),
    ],
)
def test_what_is_no_number(cell, message):
    with pytest.raises(DataError, match=rf"people, row 6, column 'age': .*{message}"):
        encode(AGE, [1, cell], points=5)
    if isinstance(cell, float):
        with pytest.raises(DataError, match=message):
            encode(AGE, np.array([1.0, cell]), points=5)


FRAME = {
    "room": ["a", "b", None, "a"],
    "member": [True, None, False, True],
    "age": [1.0, 2.5, None, 30.0],
    "level": [1, 2, 2, 1],
}


def pandas_frame():
    frame = pd.DataFrame(FRAME)
    frame["room"] = frame["room"].astype("category")
    frame["member"] = frame["member"].astype("boolean")
    frame["level"] = frame["level"].astype("Int64")
    return frame


def test_frames_are_read_in_chunks():
    for frame in (pandas_frame(), pandas_frame().iloc[::-1].iloc[::-1], pl.DataFrame(FRAME)):
        pieces = list(chunks(frame, ["level", "room", "member"], 3))
        assert [len(piece[0]) for piece in pieces] == [3, 1]
        first = pieces[0]
        assert encode(Attribute.categories("level", [1, 2]), first[0]) == [0, 1, 1]
        assert encode(ROOM, first[1]) == [0, 1, 3]
        assert encode(MEMBER, first[2]) == [1, 2, 0]


def test_a_frame_with_a_strange_index():
    frame = pandas_frame()
    frame.index = [7, 7, 0, 1]
    assert [list(piece[0]) for piece in chunks(frame, ["level"], 2)] == [[1, 2], [2, 1]]


class ByLabel(list):
    """A column as pandas 2 has it with an index of floats: plain slices go by labels."""

    @property
    def iloc(self):
        return ByPlace(self)

    def __getitem__(self, rows):
        raise AssertionError("rows would be there twice")


class ByPlace:
    def __init__(self, column):
        self.column = column

    def __getitem__(self, rows):
        return pd.Series(list(self.column)[rows])


def test_rows_are_counted_whatever_their_labels_are():
    class Frame(dict):
        columns = ("x",)

        def __len__(self):
            return 3

    pieces = list(chunks(Frame(x=ByLabel([5, 6, 7])), ["x"], 2))
    assert [list(piece[0]) for piece in pieces] == [[5, 6], [7]]
    frame = pd.DataFrame({"x": range(5)}, index=[0.5, 0.0, 1.0, 3.0, 2.0])
    assert [list(piece[0]) for piece in chunks(frame, ["x"], 3)] == [[0, 1, 2], [3, 4]]


def test_titles_that_are_no_texts():
    frame = pd.DataFrame({3: [True, False], "b": [1, 2]})
    assert next(chunks(frame, ["3"], 5)) == [[True, False]]
    study = Study.from_frame(frame, columns=["3"], **TARGET)
    assert study.attributes == (Attribute.yes_no("3", missing="category"),)


def test_bad_frames():
    with pytest.raises(ValueError, match=r"no column 'rom'.*room"):
        list(chunks(pandas_frame(), ["rom"], 3))
    with pytest.raises(TypeError, match="frame of pandas or polars, got list"):
        list(chunks([1], ["rom"], 3))
    twice = pd.DataFrame([[1, 2]], columns=["x", "x"])
    with pytest.raises(ValueError, match="two columns called 'x'"):
        list(chunks(twice, ["x"], 3))


TARGET = {"epsilon": 1.0, "delta": 1e-6}


def test_domains_are_not_read_from_data_silently():
    for frame in (pandas_frame(), pl.DataFrame(FRAME)):
        for column in ("room", "age", "level"):
            with pytest.raises(ValueError, match=f"column '{column}'.*domain_from_data=True"):
                Study.from_frame(frame, columns=[column], **TARGET)
        study = Study.from_frame(frame, columns=["member"], **TARGET)
        assert study.attributes == (Attribute.yes_no("member", missing="category"),)
        assert study.n == 4
        given = Study.from_frame(frame, columns=[], attributes=[ROOM], **TARGET)
        assert given.attributes == (ROOM,)
    declared = pl.DataFrame({"x": pl.Series(["b"], dtype=pl.Enum(["b", "a"]))})
    assert Study.from_frame(declared, **TARGET)["x"].labels == ("b", "a")


def test_domains_from_data_with_consent():
    for frame in (pandas_frame(), pl.DataFrame(FRAME)):
        study = Study.from_frame(frame, domain_from_data=True, attributes=[AGE], **TARGET)
        assert [attribute.name for attribute in study.attributes] == list(FRAME)
        assert study["room"].values == ("a", "b", "(missing)")
        assert study["member"].kind == "yes/no"
        assert study["age"] == AGE
        assert study["level"] == Attribute.categories("level", [1, 2], ordered=True)
        alone = Study.from_frame(frame, domain_from_data=True, columns=["age"], **TARGET)
        assert alone["age"] == Attribute.number("age", 1.0, 30.0, missing="category")


def test_answers_of_several_types():
    frame = pd.DataFrame({"x": [True, 1, 0]}, dtype=object)
    proposed = Study.from_frame(frame, domain_from_data=True, **TARGET)["x"]
    assert encode(proposed, frame["x"].to_list()) == [2, 1, 0]


def test_bad_proposals():
    with pytest.raises(ValueError, match="the frame has no column 'rom'"):
        Study.from_frame(pandas_frame(), columns=["rom"], **TARGET)
    with pytest.raises(TypeError, match="frame of pandas or polars, got dict"):
        Study.from_frame({"x": [1]}, **TARGET)
    with pytest.raises(TypeError, match="frame of pandas or polars, got LazyFrame"):
        Study.from_frame(pl.LazyFrame(FRAME), **TARGET)
    with pytest.raises(TypeError, match="columns must be a list of titles, got 'age'"):
        Study.from_frame(pandas_frame(), columns="age", **TARGET)
    with pytest.raises(TypeError, match="attributes must be several of the type Attribute, got"):
        Study.from_frame(pandas_frame(), attributes=["age"], **TARGET)
    with pytest.raises(ValueError, match="two attributes are called 'age'"):
        Study.from_frame(pandas_frame(), attributes=[AGE, AGE], **TARGET)
    twice = pd.DataFrame([[True, False]], columns=["x", "x"])
    with pytest.raises(ValueError, match=r"two columns called 'x'$"):
        Study.from_frame(twice, **TARGET)
    empty = pd.DataFrame({"x": [None, None]})
    with pytest.raises(ValueError, match="column 'x' has no answers"):
        Study.from_frame(empty, domain_from_data=True, **TARGET)
