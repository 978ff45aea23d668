"""Studies: their attributes, their text, and what is wrong with bad ones."""

from __future__ import annotations

import json
import math

import pytest

from shuffledp.deployment.study import Attribute, Study

TOML = """
n = 250_000
epsilon = 0.5
delta = 1e-8
crosses = [["region", "member"]]

[[attributes]]
name = "region"
kind = "categories"
labels = ["north", "south", 3]
missing = "category"
weight = 2

[[attributes]]
name = "member"
kind = "yes/no"

[[attributes]]
name = "age"
kind = "number"
low = 18
high = 98
missing = "leave out"

[[attributes]]
name = "score"
kind = "categories"
size = 50
ordered = true
"""


@pytest.fixture
def study(tmp_path):
    (tmp_path / "study.toml").write_text(TOML)
    return Study.load(tmp_path / "study.toml")


def test_toml(study):
    assert (study.n, study.epsilon, study.delta) == (250_000, 0.5, 1e-8)
    assert study.crosses == (("region", "member"),)
    assert study["region"] == Attribute.categories(
        "region", ["north", "south", "3"], missing="category", weight=2.0
    )
    assert study["region"].values == ("north", "south", "3", "(missing)")
    assert study["member"].values == ("no", "yes")
    assert study["age"] == Attribute.number("age", 18, 98, missing="leave out")
    assert study["age"].values == ()
    assert study["score"].labels == tuple(map(str, range(50)))
    assert study["score"].ordered


def test_a_byte_order_mark_and_windows_lines(study, tmp_path):
    path = tmp_path / "windows.toml"
    path.write_bytes(b"\xef\xbb\xbf" + TOML.replace("\n", "\r\n").encode())
    assert Study.load(path) == study


def test_json_and_dict_are_read_back(study, tmp_path):
    path = tmp_path / "study.json"
    path.write_text(json.dumps(study.to_dict()))
    assert Study.load(path) == study == Study.from_dict(study.to_dict())


def test_unknown_names(study):
    with pytest.raises(KeyError, match=r"no attribute 'regoin' in this study.*region"):
        study["regoin"]


BASE = {"n": 1000, "epsilon": 1.0, "delta": 1e-6}
AGE = {"name": "age", "kind": "number", "low": 0, "high": 9}
ROOM = {"name": "room", "kind": "categories", "labels": ["a", "b"]}

BAD = [
    ({**BASE, "attributes": []}, "1 to 64 attributes, got 0"),
    ({**BASE, "attributes": {}}, "attributes must be a list of tables"),
    ({**BASE}, "needs the field 'attributes'"),
    ({**BASE, "attributes": [AGE], "epsilom": 1}, "no field 'epsilom'.*epsilon"),
    ({**BASE, "attributes": [AGE, AGE]}, "two attributes are called 'age'"),
    ({**BASE, "attributes": [AGE], "epsilon": 0}, "epsilon must be above 0"),
    ({**BASE, "attributes": [AGE], "epsilon": math.inf}, "epsilon must be finite"),
    ({**BASE, "attributes": [AGE], "delta": 0}, "delta must be strictly between 0 and 1"),
    ({**BASE, "attributes": [AGE], "delta": 0.01}, "delta must be below 1/n"),
    ({**BASE, "attributes": [AGE], "n": 0}, "n must be an integer of at least 1"),
    ({**BASE, "attributes": [AGE], "n": "many"}, "n must be an integer"),
    ({**BASE, "attributes": [{**AGE, "kind": "integer"}]}, "kind must be one of 'categories'"),
    ({**BASE, "attributes": [{**AGE, "kind": ["number"]}]}, "kind must be one of"),
    ({**BASE, "attributes": [{**AGE, "labels": ["a"]}]}, "has no field 'labels'"),
    ({**BASE, "attributes": [{**AGE, "low": 9}]}, "low must be below high"),
    ({**BASE, "attributes": [{**AGE, "low": -1e308, "high": 1e308}]}, "their distance finite"),
    ({**BASE, "attributes": [{**AGE, "low": "0"}]}, "low must be a real number"),
    ({**BASE, "attributes": [{"name": "age", "kind": "number", "low": 1}]}, "needs low and high"),
    ({**BASE, "attributes": [{"kind": "yes/no"}]}, "needs the field 'name'"),
    ({**BASE, "attributes": [{"name": "", "kind": "yes/no"}]}, "must be a text, got ''"),
    ({**BASE, "attributes": [{"name": 3, "kind": "yes/no"}]}, "must be a text, got 3"),
    ({**BASE, "attributes": [{**ROOM, "missing": "drop"}]}, "missing must be one of 'category'"),
    ({**BASE, "attributes": [{**ROOM, "weight": 0}]}, "weight must be greater than 0"),
    ({**BASE, "attributes": [{**ROOM, "labels": ["a"]}]}, "labels must be 2 to 65536, got 1"),
    ({**BASE, "attributes": [{**ROOM, "labels": "ab"}]}, "labels must be several, got 'ab'"),
    ({**BASE, "attributes": [{**ROOM, "labels": {"a": 1, "b": 2}}]}, "labels must be several, got"),
    ({**BASE, "attributes": [{**ROOM, "labels": [["a"], ["b"]]}]}, "a label must be a text or a"),
    ({**BASE, "attributes": [{**ROOM, "labels": ["a", math.inf]}]}, "a text or a number, got inf"),
    ({**BASE, "attributes": [{**ROOM, "labels": ["a", None]}]}, "a text or a number, got None"),
    ({**BASE, "attributes": [{**ROOM, "labels": ["a", "a"]}]}, "the label 'a' is there twice"),
    ({**BASE, "attributes": [{**ROOM, "labels": [1, 1.0]}]}, "the label '1' is there twice"),
    ({**BASE, "attributes": [{**ROOM, "labels": ["a", " "]}]}, "no label may be empty"),
    (
        {**BASE, "attributes": [{**ROOM, "labels": ["a", "(missing)"], "missing": "category"}]},
        "stands for missing answers",
    ),
    ({**BASE, "attributes": [{**ROOM, "size": 3}]}, "either labels or size"),
    ({**BASE, "attributes": [{"name": "x", "kind": "categories", "size": 1}]}, "size must be"),
    ({**BASE, "attributes": [{**ROOM, "ordered": "yes"}]}, "ordered must be true or false"),
    ({**BASE, "attributes": [AGE], "crosses": [["age"]]}, "needs the names of two or more"),
    ({**BASE, "attributes": [AGE], "crosses": "age"}, "crosses must be a list of lists of names"),
    (
        {**BASE, "attributes": [ROOM], "crosses": [["room", "room"]]},
        "names of two or more attributes",
    ),
    ({**BASE, "attributes": [ROOM], "crosses": [["room", "rom"]]}, "no attribute 'rom'"),
    ({**BASE, "attributes": [ROOM, AGE], "crosses": [["room", "age"]]}, "'age' is a number"),
    (
        {
            **BASE,
            "attributes": [ROOM, {**ROOM, "name": "door"}],
            "crosses": [["room", "door"], ["door", "room"]],
        },
        "crosses must be of different attributes",
    ),
    ([], "must be a table of fields, got list"),
]


@pytest.mark.parametrize(("content", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_studies(tmp_path, content, message):
    path = tmp_path / "study.json"
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=f"is not a study: .*{message}") as caught:
        Study.load(path)
    assert "\n" not in str(caught.value)


def test_damaged_files(tmp_path):
    path = tmp_path / "study.toml"
    path.write_bytes(b"n = \xff")
    with pytest.raises(ValueError, match="is not a study"):
        Study.load(path)
    path.write_text("n = ")
    with pytest.raises(ValueError, match="is not a study"):
        Study.load(path)
    with pytest.raises(FileNotFoundError):
        Study.load(tmp_path / "other.toml")


def test_bad_attributes():
    with pytest.raises(ValueError, match="has no labels"):
        Attribute("x", "number", labels=("a", "b"), low=0, high=1)
    with pytest.raises(ValueError, match="only a number has low and high"):
        Attribute("x", "categories", labels=("a", "b"), low=0)
    with pytest.raises(ValueError, match="yes/no has no labels of its own"):
        Attribute("x", "yes/no", labels=("off", "on"))
    with pytest.raises(TypeError, match="attributes must be several of the type Attribute"):
        Study(("x",), n=10, epsilon=1, delta=1e-6)
    with pytest.raises(ValueError, match="names of two or more attributes, got 'ab'"):
        Study((Attribute.yes_no("a"), Attribute.yes_no("b")), 10, 1, 1e-6, crosses=("ab",))
