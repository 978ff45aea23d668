"""Reports are refused unless their sidecar matches them."""

from __future__ import annotations

import hashlib
import json
import re
import shutil

import pytest
from answers import answers, make_reports

from shuffledp.deployment.files import DataError, estimate_files, sidecar_path
from shuffledp.deployment.files.sidecar import read_sidecar

TEXT = "joint(krr(k=4, epsilon0=2.0), oue(epsilon0=2.0, domain_size=11))"


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    folder = tmp_path_factory.mktemp("originals")
    for suffix in (".csv", ".parquet"):
        make_reports(folder / f"reports{suffix}", TEXT, answers((4, 11)))
    return folder


@pytest.fixture(params=[".csv", ".parquet"])
def reports(request, originals, tmp_path):
    """A file of reports with its sidecar, to be changed."""
    out = tmp_path / f"reports{request.param}"
    for path in (out, sidecar_path(out)):
        shutil.copy(originals / path.name, path)
    return out


def refuse(path, message):
    with pytest.raises(DataError, match=re.escape(message)) as caught:
        estimate_files([path])
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def change(path, *, repair, **fields):
    """Change fields of a sidecar; a repaired one has a checksum that fits."""
    content = json.loads(path.read_text())
    content |= fields
    if repair:
        del content["checksum"]
        text = json.dumps(content, sort_keys=True)
        content["checksum"] = hashlib.sha256(text.encode()).hexdigest()
    path.write_text(json.dumps(content))


def test_it_reads_back(tmp_path):
    sidecar = make_reports(tmp_path / "reports.csv", TEXT, answers((4, 11)))
    assert read_sidecar(tmp_path / "reports.csv") == sidecar


CHANGES = {
    "mechanism": "krr(k=4, epsilon0=9.0)",
    "n": 301,
    "columns": [{"name": "other", "labels": None}],
    "guarantee": {"epsilon": 0.1, "delta": 0.0, "lower_bound": 0.0},
    "seeded": False,
    "warnings": [],
    "assumptions": [],
    "relation": {},
    "sha256": "0" * 64,
    "size": 1,
    "version": "9.9.9",
    "view": "sum",
    "checksum": "0" * 64,
}


@pytest.mark.parametrize("field", CHANGES)
def test_a_changed_field_is_noticed(reports, field):
    sidecar = sidecar_path(reports)
    assert CHANGES.keys() | {"format"} == json.loads(sidecar.read_text()).keys()
    change(sidecar, repair=False, **{field: CHANGES[field]})
    refuse(reports, "its checksum is wrong")


@pytest.mark.parametrize("field", [*CHANGES, "format"])
def test_a_missing_field_is_noticed(reports, field):
    sidecar = sidecar_path(reports)
    content = json.loads(sidecar.read_text())
    del content[field]
    sidecar.write_text(json.dumps(content))
    refuse(reports, "is not the sidecar of reports, or was changed")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"format": "shuffledp reports, 1"}, "its format is 'shuffledp reports, 1'"),
        ({"mechanism": "nosuch(1)"}, "contradicts itself"),
        ({"view": "sum"}, "its sidecar is that of a sum"),
        ({"view": "histogram"}, "view must be one of"),
        ({"mechanism": "krr(k=4, epsilon0=2)"}, "contradicts itself: columns must be as many"),
        ({"mechanism": 7}, "contradicts itself"),
        ({"n": 299}, "has 300 reports, but its sidecar says n = 299"),
        ({"n": "300"}, "has 300 reports, but its sidecar says n = '300'"),
        ({"columns": []}, "contradicts itself: columns must be as many"),
        ({"columns": 3}, "is not the sidecar of reports"),
        (
            {"columns": [{"name": "a", "labels": ["x"]}, {"name": "b", "labels": None}]},
            "contradicts itself: the labels of column 'a' must be as many",
        ),
        ({"guarantee": {}}, "is not the sidecar of reports"),
        ({"sha256": "0" * 64}, "was changed: its sidecar has another SHA-256"),
        ({"size": 1}, "was added to"),
        ({"size": 10**9}, "is cut off"),
    ],
    ids=str,
)
def test_a_sidecar_of_something_else(reports, fields, message):
    change(sidecar_path(reports), repair=True, **fields)
    refuse(reports, message)


@pytest.mark.parametrize(
    "mechanism",
    [
        "joint(krr(k=4, epsilon0=2.0), oue(epsilon0=2.0, domain_size=40))",
        "joint(laplace(epsilon0=1), gaussian(sigma=1))",
        "joint(krr(k=4, epsilon0=2.0), subset(epsilon0=2.0, domain_size=100))",
    ],
)
def test_reports_of_another_mechanism(reports, mechanism):
    change(sidecar_path(reports), repair=True, mechanism=mechanism)
    refuse(reports, "among rows 1 to 300 are some that are not reports of this mechanism")


def test_reports_outside_of_the_range_of_a_mechanism(reports):
    mechanism = "joint(krr(k=2, epsilon0=2.0), oue(epsilon0=2.0, domain_size=11))"
    change(sidecar_path(reports), repair=True, mechanism=mechanism)
    refuse(reports, "rows 1 to 300: ")


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '"x"', "{}", "[" * 10_000, "\udcff"])
def test_it_is_not_json(reports, content):
    sidecar_path(reports).write_bytes(content.encode(errors="surrogateescape"))
    refuse(reports, "is not the sidecar of reports, or was changed")


def test_it_is_missing(reports):
    sidecar_path(reports).unlink()
    refuse(reports, "has no sidecar")


def test_the_reports_are_missing(reports):
    reports.unlink()
    refuse(reports, "cannot read")


def test_a_file_that_is_cut_off(reports):
    reports.write_bytes(reports.read_bytes()[:-1])
    refuse(reports, "is cut off")


def test_a_file_with_one_more_report(reports):
    content = reports.read_bytes()
    reports.write_bytes(content + content.splitlines(keepends=True)[-1])
    refuse(reports, "was added to")


def test_a_changed_report(reports):
    content = bytearray(reports.read_bytes())
    content[len(content) // 2] ^= 1
    reports.write_bytes(content)
    refuse(reports, "was changed: its sidecar has another SHA-256")


@pytest.mark.parametrize(
    ("suffix", "content", "message"),
    [
        (".csv", b"report\n1\nx\n", "among rows 1 to 2 are some"),
        (".csv", b"report\n1\n256\n", "among rows 1 to 2 are some"),
        (".csv", b"report\n1\n3\n", "rows 1 to 2: "),
        (".csv", b"report\n1\n\n", "among rows 1 to 2 are some"),
        (".csv", b"reports\n1\n1\n", "must have the one title 'report'"),
        (".csv", b"report\n\xff\n", "is not a CSV file of reports"),
        (".csv", b"report\n1\n", "has 1 report, but its sidecar says n = 2"),
        (".csv", b"report\n", "has 0 reports, but its sidecar says n = 2"),
        (".parquet", b"PAR1", "is not a Parquet file, or damaged"),
    ],
    ids=str,
)
def test_files_that_fit_their_sidecar_but_hold_something_else(tmp_path, suffix, content, message):
    reports = tmp_path / f"reports{suffix}"
    make_reports(reports, "krr(k=3, epsilon0=2)", {"answer": [0, 1]})
    reports.write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    change(sidecar_path(reports), repair=True, sha256=digest, size=len(content))
    refuse(reports, message)
